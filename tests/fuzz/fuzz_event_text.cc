// Any bytes as text of a recording: what is understood prints as text that means the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "report/event_text.h"

namespace {

bool Normalize(const std::string& text, std::string* printed) {
  const auto source = cprof::MakeStringSource(text);
  cprof::StringTable strings;
  const auto printer = cprof::MakeTextPrinter(strings, printed);
  return cprof::ReadTextRecording(*source, strings, *printer).has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string once, twice;
  if (!Normalize(std::string(reinterpret_cast<const char*>(data), size), &once)) return 0;
  if (!Normalize(once, &twice) || once != twice) std::abort();
  return 0;
}
