// Reads a recording, whole, torn or damaged, and says exactly what is missing.
#ifndef CPROF_FORMAT_READER_H_
#define CPROF_FORMAT_READER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/recording.h"
#include "format/result.h"

namespace cprof {

// Where bytes come from. Read fills up to buffer.size() bytes; 0 means the end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual Result<size_t> Read(std::span<uint8_t> buffer) = 0;
};
std::unique_ptr<ByteSource> MakeFdSource(int fd, std::string name);
std::unique_ptr<ByteSource> MakeStringSource(std::string bytes);

// The recording-wide table of strings, bounded; filled while reading.
class StringTable {
 public:
  StringTable();
  std::string_view Get(StringId id) const {
    return id < texts_.size() ? std::string_view(texts_[id]) : std::string_view("[bad name]");
  }
  // Text beyond 4096 bytes is cut off. Beyond 2^20 texts gives the id of "[too many names]".
  StringId Intern(std::string_view text);
  size_t size() const { return texts_.size(); }

 private:
  void Grow();

  std::vector<std::string> texts_;
  std::vector<StringId> slots_;  // hash index into texts_; 0 is a free slot
};

// Called in file order. Ids are recording-wide. Spans are valid during the call only.
class RecordingVisitor {
 public:
  virtual ~RecordingVisitor() = default;
  virtual void OnHeader(const SessionHeader&) {}
  virtual void OnStream(const StreamInfo&) {}
  virtual void OnEvents(StreamId, std::span<const Event>) {}
  virtual void OnSamples(StreamId, std::span<const StackSample>) {}
  // Also for damaged chunks (reason kDamagedChunk) and for a file that ends too early (kTornTail).
  virtual void OnBreak(const Break&) {}
  virtual void OnMark(const RoundMark&) {}
  virtual void OnMappings(std::span<const Mapping>) {}
  virtual void OnKernelSymbols(std::span<const KernelSymbol>) {}
  virtual void OnFooter(const Footer&) {}
};

// One line of the loss ledger: what reading found wrong.
struct LossEntry {
  std::string name;      // stable identifier, e.g. "damaged_chunk", "torn_tail", "foreign_chunk"
  uint64_t count = 0;    // how often
  uint64_t records = 0;  // records lost, where the chunk header said
  uint64_t bytes = 0;    // bytes skipped; for torn_tail: bytes that the last chunk lacks, at least
  std::string advice;    // a sentence for people
};

struct ReadSummary {
  bool clean_end = false;         // a footer was read
  std::vector<LossEntry> losses;  // sorted by name
  uint64_t bytes = 0;
  uint64_t events = 0;
};

// Whether the first bytes of a file (16, or all of a shorter one) are text, not a recording.
bool LooksLikeText(std::span<const uint8_t> first_bytes);

// Reads everything from source. Fails only where there is nothing to read: not a cprof file, a
// newer incompatible format, an I/O error at the first byte. `strings` outlives the visitor's use
// of ids.
Result<ReadSummary> ReadRecording(ByteSource& source, StringTable& strings,
                                  RecordingVisitor& visitor);

}  // namespace cprof

#endif  // CPROF_FORMAT_READER_H_
