// Single values of the text of recordings: each function takes all of the text or says no.
#ifndef CPROF_REPORT_TEXT_VALUES_H_
#define CPROF_REPORT_TEXT_VALUES_H_

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "format/recording.h"
#include "report/event_fields.h"

namespace cprof {

// Decimal, or hexadecimal with 0x.
template <typename T>
bool ToNumber(std::string_view text, T* value) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  const auto result = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return !text.empty() && result.ec == std::errc() && result.ptr == text.data() + text.size();
}

// "12.000000345" (seconds), or "345ns".
bool ToTime(std::string_view text, uint64_t* time_ns);
// "TID/TGID@START"; TGID (then the same as TID) and START may be left out.
bool ToThread(std::string_view text, ThreadKey* thread);
// Up to 128 bits in hexadecimal, or a decimal number.
bool ToKey(std::string_view text, Key* key);
// Bytes as pairs of hexadecimal digits.
bool ToBytes(std::string_view text, std::string* bytes);
// "adapter:verb", or "verb:NUMBER".
bool ToVerb(std::string_view text, Verb* verb);
// The name of an application kind or an edge type, if style is one of these.
bool ToWord(std::string_view text, FieldStyle style, uint64_t* value);
// A name as StreamName gives it; the id is left alone.
bool ToStream(std::string_view name, StreamInfo* stream);

}  // namespace cprof

#endif  // CPROF_REPORT_TEXT_VALUES_H_
