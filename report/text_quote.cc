// Quoting of text.
#include "report/text_quote.h"

#include <cstdint>

#include "report/utf8.h"

namespace cprof {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void AppendEscaped(std::string_view text, std::string* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  while (!text.empty()) {
    const CodePoint point = DecodeFirstCharacter(text);
    if (point.size > 0 && !IsHarmfulCharacter(point.value)) {
      if (point.value == '"' || point.value == '\\') *out += '\\';
      *out += text.substr(0, point.size);
      text.remove_prefix(point.size);
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
