// Any bytes as a recording: reading ends, without a crash, and the ledger names each loss once.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "format/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto source =
      cprof::MakeStringSource(std::string(reinterpret_cast<const char*>(data), size));
  cprof::StringTable strings;
  cprof::RecordingVisitor visitor;
  const auto summary = cprof::ReadRecording(*source, strings, visitor);
  if (!summary) return 0;
  if (summary->bytes != size) std::abort();
  std::set<std::string> names;
  for (const auto& loss : summary->losses) {
    if (!names.insert(loss.name).second) std::abort();
  }
  return 0;
}
