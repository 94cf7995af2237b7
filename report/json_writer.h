// Streaming JSON: values appended to a string as they come, commas put where they belong.
#ifndef CPROF_REPORT_JSON_WRITER_H_
#define CPROF_REPORT_JSON_WRITER_H_

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "format/event.h"
#include "report/escape.h"
#include "report/number.h"

namespace cprof {

// The caller keeps Begin and End balanced; strings are escaped as AppendJsonString does.
class JsonWriter {
 public:
  explicit JsonWriter(std::string* out) : out_(out) {}

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }

  void Key(std::string_view name) {
    Separate();
    AppendJsonString(name, out_);
    *out_ += ':';
    separate_ = false;
  }

  void Text(std::string_view text) {
    Separate();
    AppendJsonString(text, out_);
  }
  void Number(std::unsigned_integral auto value) {
    Separate();
    AppendUnsigned(value, out_);
  }
  void Number(std::signed_integral auto value) {
    Separate();
    AppendSigned(value, out_);
  }
  void Bool(bool value) {
    Separate();
    *out_ += value ? "true" : "false";
  }
  void Null() {
    Separate();
    *out_ += "null";
  }
  // A probability as a decimal fraction of up to nine digits; anything else becomes 0.
  void Probability(double value) {
    Separate();
    const bool valid = value > 0 && value <= 1;
    const auto scaled = valid ? static_cast<uint64_t>(std::llround(value * 1e9)) : 0;
    AppendUnsigned(scaled / 1'000'000'000, out_);
    std::string digits = std::to_string(scaled % 1'000'000'000 + 1'000'000'000).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    *out_ += '.';
    *out_ += digits.empty() ? "0" : digits;
  }
  // What is already JSON text.
  void Raw(std::string_view json) {
    Separate();
    *out_ += json;
  }
  // "0x2a"
  void Hex(uint64_t value) {
    Separate();
    *out_ += '"';
    AppendHexNumber(value, out_);
    *out_ += '"';
  }
  void HexKey(const cprof::Key& key) {
    Separate();
    *out_ += '"';
    AppendKey(key, out_);
    *out_ += '"';
  }

  void Field(std::string_view name, std::string_view text) { Key(name), Text(text); }
  void Field(std::string_view name, const char* text) { Key(name), Text(text); }
  void Field(std::string_view name, std::same_as<bool> auto value) { Key(name), Bool(value); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) void Field(std::string_view name, T value) {
    Key(name), Number(value);
  }

 private:
  void Separate() {
    if (separate_) *out_ += ',';
    separate_ = true;
  }
  void Open(char c) {
    Separate();
    *out_ += c;
    separate_ = false;
  }
  void Close(char c) {
    *out_ += c;
    separate_ = true;
  }

  std::string* out_;
  bool separate_ = false;
};

}  // namespace cprof

#endif  // CPROF_REPORT_JSON_WRITER_H_
