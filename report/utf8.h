// UTF-8 read strictly, and which characters are not to reach a terminal as they are.
#ifndef CPROF_REPORT_UTF8_H_
#define CPROF_REPORT_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cprof {

struct CodePoint {
  char32_t value = 0;
  size_t size = 0;  // bytes; 0: the first byte begins no valid UTF-8
};

constexpr bool IsUtf8Continuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

// The character at the front of text, which is not empty. No overlong forms, no surrogates, nothing
// above U+10FFFF.
CodePoint DecodeFirstCharacter(std::string_view text);

// Characters that could act on a terminal or show text as something else than it is.
constexpr bool IsHarmfulCharacter(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c || c == 0x180e ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe0fff);
}

}  // namespace cprof

#endif  // CPROF_REPORT_UTF8_H_
