// Any bytes through the whole line into every renderer, as a file, as text, or as the payload of a
// chunk whose checksums are right: no crash, and the accounts hold.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/chunk.h"
#include "tests/unit/every_renderer.h"

namespace {

void Append(std::span<const uint8_t> bytes, std::string* out) {
  out->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

// Input: how to take it (0: as it is; else chunks), then the bytes. A chunk is: type, number of
// records, size of the payload (2 bytes), payload.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::span<const uint8_t> rest(data + 1, size - 1);
  std::string bytes;
  if (data[0] % 4 == 0) {
    Append(rest, &bytes);
  } else {
    Append(cprof::EncodePreamble(), &bytes);
    while (rest.size() >= 4) {
      cprof::ChunkHeader header;
      header.type = rest[0] % 16;
      header.records = rest[1];
      header.session = 1;
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
  const auto output = cprof::testing::RenderEverything(bytes);
  if (!output.read) return 0;
  const cprof::GraphSummary& summary = output.summary;
  if (summary.half_edges != summary.joined + summary.orphans) std::abort();
  if (summary.events != output.read->events + summary.samples) std::abort();
  return 0;
}
