// Any bytes through the whole line into a renderer or all, as a file, as text, or as the payloads
// of chunks whose checksums are right: no crash, and the accounts hold.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "format/chunk.h"
#include "tests/unit/every_renderer.h"

namespace {

void Append(std::span<const uint8_t> bytes, std::string* out) {
  out->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// What is written is not looked at.
class Nowhere : public cprof::ByteSink {
 public:
  cprof::Result<void> Write(std::span<const uint8_t>) override { return {}; }
};

}  // namespace

// Input: how to take it (2 bits, 0: as it is; else chunks), which renderer (4 bits, all set: none),
// whether flames are lines and whether reports tell the session (1 bit each), then the bytes. One
// renderer an execution, since they know nothing of each other, and all of them together take many
// times as long. A chunk is: type, number of records, size of the payload (2 bytes), payload; what
// its header says of its place among the others is right.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::span<const uint8_t> rest(data + 1, size - 1);
  std::string bytes;
  if (data[0] % 4 == 0) {
    Append(rest, &bytes);
  } else {
    Append(cprof::EncodePreamble(), &bytes);
    uint64_t number = 0, prior_records = 0;
    while (rest.size() >= 4) {
      cprof::ChunkHeader header;
      header.type = rest[0] % 16;
      header.records = rest[1];
      header.session = 1;
      header.stream = 0;
      header.number = number++;
      header.prior_records = prior_records;
      if (header.Has(cprof::ChunkType::kEvents) || header.Has(cprof::ChunkType::kSamples)) {
        prior_records += header.records;
      }
      const size_t wanted = rest[2] | static_cast<size_t>(rest[3]) << 8;
      rest = rest.subspan(4);
      const auto payload = rest.first(std::min(wanted, rest.size()));
      rest = rest.subspan(payload.size());
      header.stored_size = header.raw_size = static_cast<uint32_t>(payload.size());
      header.payload_checksum = cprof::PayloadChecksum(payload);
      Append(cprof::EncodeChunkHeader(header), &bytes);
      Append(payload, &bytes);
      bytes.resize((bytes.size() + cprof::kChunkAlignment - 1) & ~(cprof::kChunkAlignment - 1));
    }
  }
  static_assert(cprof::testing::kRendererCount == 15);
  Nowhere nowhere;
  const auto output =
      cprof::testing::RenderEverything(std::move(bytes), {.one = data[0] / 4 % 16 + size_t{1},
                                                          .folded = data[0] / 64 % 2 != 0,
                                                          .session = data[0] / 128 != 0,
                                                          .sink = &nowhere});
  if (!output.read) return 0;
  const cprof::GraphSummary& summary = output.summary;
  if (summary.half_edges != summary.joined + summary.orphans) std::abort();
  // Records that came twice or too late are left out, events as well as samples.
  uint64_t left_out = 0;
  for (const auto& loss : output.read->losses) {
    if (loss.name == "repeated_record" || loss.name == "late_record") left_out += loss.records;
  }
  const uint64_t read = output.read->events + summary.samples;
  if (summary.events > read || summary.events + left_out < read) std::abort();
  return 0;
}
