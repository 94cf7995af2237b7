// The writer thread: encodes, compresses and appends what the drain thread hands over.
#ifndef CPROF_RECORD_WRITE_QUEUE_H_
#define CPROF_RECORD_WRITE_QUEUE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "format/reader.h"
#include "format/writer.h"
#include "record/source.h"

namespace cprof {

// A bounded queue with one thread behind it that owns the Writer. While the queue is full, Put
// blocks: the sweeping stops, the rings fill, and the kernel counts what it drops.
//
// The first refusal of the output is kept, makes failure_fd() readable, and ends the writing of
// data: from then on Put never blocks, and what comes is counted in breaks (kWriterStalled). After
// a reached size limit these breaks and the footer still find their place in the file.
class WriteQueue : public BlockSink {
 public:
  explicit WriteQueue(std::unique_ptr<Writer> writer);
  ~WriteQueue() override;

  void Put(DrainedBlock block) override;
  StringId Intern(std::string_view text) override;
  // All that is older than mark.final_ns was put before.
  void PutMark(RoundMark mark);
  void PutMappings(std::vector<Mapping> mappings);
  void PutKernelSymbols(std::vector<KernelSymbol> symbols);
  // The last thing: writes out everything, then the footer. The thread ends; done_fd() gets
  // readable.
  void PutFooter(Footer footer);
  // Drops what waits in the queue, counted in breaks; the footer is still written.
  void Abort();
  // Waits for the end after PutFooter.
  void Join();

  int failure_fd() const { return failure_fd_; }
  int done_fd() const { return done_fd_; }
  std::optional<Error> failure();

  uint64_t events_written() const { return events_written_; }
  uint64_t bytes_written() const { return bytes_written_; }
  // After Join: what was put and not written, one break a stream.
  const std::map<StreamId, Break>& unwritten() const { return unwritten_; }

 private:
  using Item = std::variant<DrainedBlock, RoundMark, std::vector<Mapping>,
                            std::vector<KernelSymbol>, Footer>;
  struct Pending {
    std::vector<Event> events;
    std::vector<StackSample> samples;
  };

  void Push(Item item, size_t size_bytes);
  void Run();
  void Handle(DrainedBlock& block);
  void Handle(RoundMark& mark);
  void Handle(std::vector<Mapping>& mappings);
  void Handle(std::vector<KernelSymbol>& symbols);
  void Handle(Footer& footer);
  void Flush(StreamId stream, Pending* pending);
  void FlushAll();
  void Translate(Event* event);
  StringId Translate(StringId id);
  void Refuse(const Result<void>& result);
  void CountUnwritten(StreamId stream, const Event& event);
  void WriteUnwritten();

  const std::unique_ptr<Writer> writer_;
  const int failure_fd_;
  const int done_fd_;

  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable not_full_;
  std::deque<std::pair<Item, size_t>> items_;  // guarded by mutex_
  size_t waiting_bytes_ = 0;                   // guarded by mutex_
  std::optional<Error> failure_;               // guarded by mutex_
  std::atomic<bool> refusing_ = false;

  std::mutex strings_mutex_;
  StringTable strings_;  // guarded by strings_mutex_

  // Of the writer thread:
  std::map<StreamId, Pending> pending_;
  std::vector<StringId> translated_;
  size_t pending_count_ = 0;
  uint64_t last_flush_ns_ = 0;
  uint64_t last_mark_ns_ = 0;
  std::map<StreamId, Break> unwritten_;
  std::map<StreamId, std::map<Verb, uint64_t>> unwritten_verbs_;

  std::atomic<uint64_t> events_written_ = 0;
  std::atomic<uint64_t> bytes_written_ = 0;
  std::thread thread_;
};

}  // namespace cprof

#endif  // CPROF_RECORD_WRITE_QUEUE_H_
