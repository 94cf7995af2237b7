// The bounded table of texts.
#include <functional>
#include <string_view>

#include "format/chunk.h"
#include "format/reader.h"

namespace cprof {
namespace {

constexpr size_t kFirstSlots = 64;
constexpr std::string_view kTooMany = "[too many names]";

}  // namespace

StringTable::StringTable() : texts_{std::string()}, slots_(kFirstSlots) {}

void StringTable::Grow() {
  slots_.assign(slots_.size() * 2, 0);
  const size_t mask = slots_.size() - 1;
  for (StringId id = 1; id < texts_.size(); ++id) {
    size_t slot = std::hash<std::string_view>{}(texts_[id]) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = id;
  }
}

StringId StringTable::Intern(std::string_view text) {
  if (text.empty()) return 0;
  text = text.substr(0, kMaxStringBytes);
  const size_t mask = slots_.size() - 1;
  size_t slot = std::hash<std::string_view>{}(text)&mask;
  while (slots_[slot] != 0) {
    if (texts_[slots_[slot]] == text) return slots_[slot];
    slot = (slot + 1) & mask;
  }
  // The last place is kept for the name that says so.
  if (texts_.size() + 1 >= kMaxStrings && text != kTooMany) return Intern(kTooMany);
  const auto id = static_cast<StringId>(texts_.size());
  texts_.emplace_back(text);
  slots_[slot] = id;
  if (texts_.size() * 2 > slots_.size()) Grow();
  return id;
}

}  // namespace cprof
