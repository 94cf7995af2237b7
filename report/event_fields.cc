// Layouts of packed fields, as format/event.h describes them.
#include "report/event_fields.h"

#include <algorithm>
#include <charconv>

namespace cprof {
namespace {

using enum FieldStyle;

constexpr FieldLayout kPacked[] = {
    {"op", {{"op", 0, 8, kDecimal}, {"sqe_flags", 8, 24, kHex}, {"fd", 32, 32, kDecimal}}, 3},
    {"result", {{"result", 0, 32, kSigned}, {"cqe_flags", 32, 32, kHex}}, 2},
    {"queue", {{"head", 0, 32, kDecimal}, {"tail", 32, 32, kDecimal}}, 2},
    {"stack", {{"user_frames", 0, 16, kDecimal}, {"kernel_frames", 16, 48, kDecimal}}, 2},
    {"edge",
     {{"from_kind", 0, 8, kAppKind}, {"to_kind", 8, 8, kAppKind}, {"edge", 16, 48, kEdgeType}},
     3},
    {"kind", {{"kind", 0, 64, kAppKind}}, 1},
};

constexpr std::string_view kHexFields[] = {"user_data", "mask",        "events", "clone_flags",
                                           "address",   "setup_flags", "arg",    "arg2"};

}  // namespace

FieldLayout LayoutOf(std::string_view field) {
  for (const FieldLayout& layout : kPacked) {
    if (layout.field == field) return layout;
  }
  const bool hex = std::ranges::find(kHexFields, field) != std::end(kHexFields);
  return {field, {{field, 0, 64, hex ? kHex : kDecimal}}, 1};
}

void AppendDecimal(uint64_t value, std::string* out) {
  char digits[20];
  const auto result = std::to_chars(digits, digits + sizeof digits, value);
  out->append(digits, result.ptr);
}

void AppendHex(uint64_t value, std::string* out) {
  char digits[16];
  const auto result = std::to_chars(digits, digits + sizeof digits, value, 16);
  *out += "0x";
  out->append(digits, result.ptr);
}

}  // namespace cprof
