// Any bytes as a recording: reading ends, without a crash, and the ledger names each loss once.
// Most mutations are given right checksums again, since otherwise little but checksums would be
// tried.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <span>
#include <string>

#include "format/chunk.h"
#include "format/reader.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

// Offsets in the header of a chunk; see cprof-format(5).
constexpr size_t kStoredSizeOffset = 40, kPayloadChecksumOffset = 88, kHeaderChecksumOffset = 96;

void Put(uint64_t value, uint8_t* at) { std::memcpy(at, &value, sizeof(value)); }

// Gives every place that begins like a chunk the checksums that it should have.
void RepairChecksums(std::span<uint8_t> bytes) {
  for (size_t at = 0; at + cprof::kChunkHeaderSize <= bytes.size(); at += cprof::kChunkAlignment) {
    const auto chunk = bytes.subspan(at);
    if (!std::equal(cprof::kChunkMagic.begin(), cprof::kChunkMagic.end(), chunk.begin())) continue;
    uint32_t stored_size = 0;
    std::memcpy(&stored_size, chunk.data() + kStoredSizeOffset, sizeof(stored_size));
    const auto payload = chunk.subspan(cprof::kChunkHeaderSize);
    Put(cprof::PayloadChecksum(payload.first(std::min<size_t>(stored_size, payload.size()))),
        chunk.data() + kPayloadChecksumOffset);
    Put(cprof::PayloadChecksum(chunk.first(kHeaderChecksumOffset)),
        chunk.data() + kHeaderChecksumOffset);
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  const size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (std::minstd_rand(seed)() % 8 != 0) RepairChecksums({data, mutated});
  return mutated;
}

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
