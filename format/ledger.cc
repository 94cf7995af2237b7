// The words of the loss ledger.
#include "format/ledger.h"

namespace cprof {
namespace {

struct Words {
  const char* name;
  const char* advice;
};

Words WordsOf(LossKind loss) {
  switch (loss) {
    case LossKind::kDamagedPreamble:
      return {"damaged_preamble", "The first bytes of the file are damaged; nothing else is lost."};
    case LossKind::kUnreadableBytes:
      return {"unreadable_bytes",
              "Bytes that belong to no chunk were skipped; missing_chunk says what they cost."};
    case LossKind::kMissingChunk:
      return {"missing_chunk",
              "Chunks are gone or their headers are damaged; what they held is a break of every "
              "stream."};
    case LossKind::kDamagedChunk:
      return {"damaged_chunk",
              "The contents of these chunks are damaged; their records are in breaks."};
    case LossKind::kForeignChunk:
      return {"foreign_chunk", "Chunks of another recording were skipped."};
    case LossKind::kRepeatedChunk:
      return {"repeated_chunk", "Chunks that had been read before were skipped."};
    case LossKind::kUnknownChunk:
      return {
          "unknown_chunk",
          "The recording has chunks that this version of cprof does not know; a newer one may."};
    case LossKind::kTornTail:
      return {
          "torn_tail",
          "The recording ends without its footer: the recorder was killed or the disk was full."};
    case LossKind::kReadError: return {"read_error", "Reading failed before the end of the file."};
  }
  return {"unknown", ""};
}

}  // namespace

void Ledger::Add(LossKind loss, uint64_t count, uint64_t records, uint64_t bytes) {
  const Words words = WordsOf(loss);
  LossEntry& entry = entries_[words.name];
  entry.name = words.name;
  entry.advice = words.advice;
  entry.count += count;
  entry.records += records;
  entry.bytes += bytes;
}

std::vector<LossEntry> Ledger::Entries() const {
  std::vector<LossEntry> entries;
  for (const auto& [name, entry] : entries_) entries.push_back(entry);
  return entries;
}

}  // namespace cprof
