// The UTF-8 decoder of all text outputs.
#include "report/utf8.h"

namespace cprof {

CodePoint DecodeFirstCharacter(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return {first, 1};
  size_t size = 0;
  char32_t value = 0;
  char32_t least = 0;
  if ((first & 0xe0) == 0xc0) {
    size = 2, value = first & 0x1fU, least = 0x80;
  } else if ((first & 0xf0) == 0xe0) {
    size = 3, value = first & 0x0fU, least = 0x800;
  } else if ((first & 0xf8) == 0xf0) {
    size = 4, value = first & 0x07U, least = 0x10000;
  } else {
    return {};
  }
  if (text.size() < size) return {};
  for (size_t i = 1; i < size; ++i) {
    if (!IsUtf8Continuation(at(i))) return {};
    value = (value << 6) | (at(i) & 0x3fU);
  }
  if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, size};
}

}  // namespace cprof
