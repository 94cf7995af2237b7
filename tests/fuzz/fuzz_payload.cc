// Any bytes as the payload of a chunk whose checksums are right, so that decoding is reached: the
// records are delivered, or the chunk is told as damaged.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "format/chunk.h"
#include "format/reader.h"

namespace {

class Counter : public cprof::RecordingVisitor {
 public:
  void OnEvents(cprof::StreamId, std::span<const cprof::Event> more) override {
    records += more.size();
  }
  void OnSamples(cprof::StreamId, std::span<const cprof::StackSample> more) override {
    records += more.size();
  }
  uint64_t records = 0;
};

void Append(std::span<const uint8_t> bytes, std::string* out) {
  out->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

// Input: chunk type, number of records (in ones, in sixteens), payload. Of more records, each of
// which may take no bytes, a second would see few.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const std::span<const uint8_t> payload(data + 3, size - 3);
  cprof::ChunkHeader header;
  header.type = data[0] % 16;
  header.records = static_cast<uint32_t>(data[1] + 16 * data[2]);
  header.stream = 0;
  header.session = 1;
  header.stored_size = header.raw_size = static_cast<uint32_t>(payload.size());
  header.payload_checksum = cprof::PayloadChecksum(payload);
  std::string bytes;
  Append(cprof::EncodePreamble(), &bytes);
  Append(cprof::EncodeChunkHeader(header), &bytes);
  Append(payload, &bytes);

  const auto source = cprof::MakeStringSource(bytes);
  cprof::StringTable strings;
  Counter counter;
  const auto summary = cprof::ReadRecording(*source, strings, counter);
  if (!summary) std::abort();
  uint64_t lost = 0;
  for (const auto& loss : summary->losses) lost += loss.records;
  const bool counted =
      header.Has(cprof::ChunkType::kEvents) || header.Has(cprof::ChunkType::kSamples);
  if (counted && counter.records + lost != header.records) std::abort();
  return 0;
}
