// How the numbers of an event look in text: which part of which field has which name and style.
#ifndef CPROF_REPORT_EVENT_FIELDS_H_
#define CPROF_REPORT_EVENT_FIELDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "format/verb.h"

namespace cprof {

enum class FieldStyle : uint8_t { kHex, kDecimal, kSigned, kAppKind, kEdgeType };

// Some bits of arg or arg2.
struct FieldPart {
  std::string_view name;
  unsigned shift;
  unsigned bits;
  FieldStyle style;
};

// The parts of a field of adapters.def; their bits cover all 64. A field that is not packed has one
// part, with its own name.
struct FieldLayout {
  std::string_view field;
  FieldPart parts[3];
  size_t part_count;
  std::span<const FieldPart> all() const { return {parts, part_count}; }
};
FieldLayout LayoutOf(std::string_view field);

inline constexpr std::string_view kLevelNames[] = {"task", "softirq", "hardirq", "nmi", "unknown"};
inline constexpr std::string_view kAppKindNames[] = {"none", "request", "task", "resource", "io"};

void AppendDecimal(uint64_t value, std::string* out);
void AppendHex(uint64_t value, std::string* out);  // with 0x

}  // namespace cprof

#endif  // CPROF_REPORT_EVENT_FIELDS_H_
