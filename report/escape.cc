// Escapes of the output formats, all on one UTF-8 decoder.
#include "report/escape.h"

#include <cstdint>

#include "report/utf8.h"

namespace cprof {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

constexpr bool IsPlainAscii(char c) { return c >= 0x20 && c < 0x7f && c != '\\'; }

void AppendBytesEscaped(std::string_view bytes, std::string* out) {
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    *out += "\\x";
    *out += kHexDigits[byte >> 4];
    *out += kHexDigits[byte & 15];
  }
}

void AppendUnicodeEscape(uint32_t unit, std::string* out) {
  *out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) *out += kHexDigits[(unit >> shift) & 15];
}

// Calls emit(piece) with harmless pieces and their replacements.
template <typename Emit>
void ForEachPrintablePiece(std::string_view text, Emit emit) {
  std::string escaped;
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && IsPlainAscii(text[plain])) ++plain;
    if (plain > 0) {
      emit(text.substr(0, plain));
      text.remove_prefix(plain);
      continue;
    }
    const CodePoint point = DecodeFirstCharacter(text);
    const size_t size = point.size == 0 ? 1 : point.size;
    if (point.size == 0 || IsHarmfulCharacter(point.value) || point.value == '\\') {
      escaped.clear();
      AppendBytesEscaped(text.substr(0, size), &escaped);
      emit(std::string_view(escaped));
    } else {
      emit(text.substr(0, size));
    }
    text.remove_prefix(size);
  }
}

}  // namespace

void AppendPrintable(std::string_view text, std::string* out) {
  ForEachPrintablePiece(text, [out](std::string_view piece) { *out += piece; });
}

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && IsPlainAscii(text[plain]) && text[plain] != '"') ++plain;
    *out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const CodePoint point = DecodeFirstCharacter(text);
    if (point.size == 0) {
      *out += "\\ufffd";
    } else if (point.value == '"' || point.value == '\\') {
      *out += '\\';
      *out += static_cast<char>(point.value);
    } else if (!IsHarmfulCharacter(point.value)) {
      *out += text.substr(0, point.size);
    } else if (point.value >= 0x10000) {
      const uint32_t offset = static_cast<uint32_t>(point.value) - 0x10000;
      AppendUnicodeEscape(0xd800 + (offset >> 10), out);
      AppendUnicodeEscape(0xdc00 + (offset & 0x3ff), out);
    } else {
      AppendUnicodeEscape(static_cast<uint32_t>(point.value), out);
    }
    text.remove_prefix(point.size == 0 ? 1 : point.size);
  }
  *out += '"';
}

void AppendXmlOfPrintable(std::string_view printable, std::string* out) {
  for (const char c : printable) {
    switch (c) {
      case '&': *out += "&amp;"; break;
      case '<': *out += "&lt;"; break;
      case '>': *out += "&gt;"; break;
      case '"': *out += "&quot;"; break;
      case '\'': *out += "&#39;"; break;
      default: *out += c;
    }
  }
}

void AppendXml(std::string_view text, std::string* out) {
  ForEachPrintablePiece(text, [out](std::string_view piece) { AppendXmlOfPrintable(piece, out); });
}

void AppendCsvField(std::string_view text, std::string* out) {
  std::string printable;
  AppendPrintable(text, &printable);
  if (printable.find_first_of(",\" ") == std::string::npos) {
    *out += printable;
    return;
  }
  *out += '"';
  for (const char c : printable) {
    if (c == '"') *out += '"';
    *out += c;
  }
  *out += '"';
}

void AppendDotString(std::string_view text, std::string* out) {
  *out += '"';
  ForEachPrintablePiece(text, [out](std::string_view piece) {
    for (const char c : piece) {
      // A backslash begins an escape sequence in labels; two stand for one.
      if (c == '"' || c == '\\') *out += '\\';
      *out += c;
    }
  });
  *out += '"';
}

void AppendFoldedFrame(std::string_view text, std::string* out) {
  ForEachPrintablePiece(text, [out](std::string_view piece) {
    for (const char c : piece) {
      if (c == ';') {
        *out += "\\x3b";
      } else {
        *out += c;
      }
    }
  });
}

std::string CutPrintable(std::string text, size_t max_width) {
  if (PrintableWidth(text) <= max_width) return text;
  size_t bytes = 0;
  for (size_t width = 0; bytes < text.size(); ++bytes) {
    const bool starts = (static_cast<uint8_t>(text[bytes]) & 0xc0) != 0x80;
    if (starts && width++ == max_width - 3) break;
  }
  text.resize(bytes);
  return text + "...";
}

size_t PrintableWidth(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += IsUtf8Continuation(static_cast<uint8_t>(c)) ? 0 : 1;
  return width;
}

}  // namespace cprof
