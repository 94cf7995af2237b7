// Quoting of text.
#include "report/text_quote.h"

#include <cstdint>

namespace cprof {
namespace {

// Bytes of the well-formed UTF-8 character at the front of text, its code point in *point; 0 where
// there is none.
size_t TakeCharacter(std::string_view text, uint32_t* point) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  size_t size = 1;
  *point = byte(0);
  if (byte(0) >= 0x80) {
    if (byte(0) < 0xc2 || byte(0) > 0xf4) return 0;
    size = byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    *point = byte(0) & (0xffU >> (size + 1));
  }
  if (size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    *point = *point << 6 | (byte(i) & 0x3fU);
  }
  // Longer than needed, surrogates, or beyond Unicode.
  if ((size == 3 && *point < 0x800) || (size == 4 && *point < 0x10000) || *point > 0x10ffff ||
      (*point >= 0xd800 && *point < 0xe000)) {
    return 0;
  }
  return size;
}

bool IsHarmless(uint32_t point) {
  const bool control = point < 0x20 || (point >= 0x7f && point < 0xa0);
  const bool direction = point == 0x061c || point == 0x200e || point == 0x200f ||
                         (point >= 0x202a && point <= 0x202e) ||
                         (point >= 0x2066 && point <= 0x2069);
  const bool line = point == 0x2028 || point == 0x2029 || point == 0xfeff;
  return !control && !direction && !line;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void AppendEscaped(std::string_view text, std::string* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  while (!text.empty()) {
    uint32_t point = 0;
    const size_t size = TakeCharacter(text, &point);
    if (size > 0 && IsHarmless(point)) {
      if (point == '"' || point == '\\') *out += '\\';
      *out += text.substr(0, size);
      text.remove_prefix(size);
      continue;
    }
    const auto byte = static_cast<uint8_t>(text[0]);
    *out += "\\x";
    *out += kDigits[byte >> 4];
    *out += kDigits[byte & 15];
    text.remove_prefix(1);
  }
}

void AppendQuoted(std::string_view text, std::string* out) {
  *out += '"';
  AppendEscaped(text, out);
  *out += '"';
}

std::optional<std::string> TakeQuoted(std::string_view* rest) {
  if (rest->empty() || rest->front() != '"') return std::nullopt;
  std::string text;
  for (size_t i = 1; i < rest->size(); ++i) {
    const char c = (*rest)[i];
    if (c == '"') {
      rest->remove_prefix(i + 1);
      return text;
    }
    if (c != '\\') {
      text += c;
      continue;
    }
    if (++i >= rest->size()) return std::nullopt;
    if ((*rest)[i] == '"' || (*rest)[i] == '\\') {
      text += (*rest)[i];
      continue;
    }
    if ((*rest)[i] != 'x' || i + 2 >= rest->size()) return std::nullopt;
    const int high = HexDigit((*rest)[i + 1]);
    const int low = HexDigit((*rest)[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return std::nullopt;
}

}  // namespace cprof
