// The drain thread: sweeps over all sources, writes a round mark after each, chooses its own pace.
#ifndef CPROF_RECORD_DRAIN_H_
#define CPROF_RECORD_DRAIN_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "record/mappings.h"
#include "record/source.h"
#include "record/symbol_copy.h"
#include "record/write_queue.h"

namespace cprof {

// Events that the recorder itself states, as a stream of their own: what existed at arming, and
// when the gate opened and closed. Add comes from the control thread.
class RecorderSource : public EventSource {
 public:
  explicit RecorderSource(StreamAllocator& streams);
  // Fills in time, stream and sequence.
  void Add(Event event);

  bool Sweep(BlockSink& sink) override;
  void AppendCounters(std::vector<RoundMark::Counter>* counters) override;
  double Fill() const override { return 0; }

 private:
  StreamInfo info_{.kind = StreamKind::kRecorder};
  std::mutex mutex_;
  std::vector<Event> events_;   // guarded by mutex_
  uint64_t next_sequence_ = 0;  // guarded by mutex_
  bool announced_ = false;
};

// Losses for people: how many events of which verb, on which stream, why.
struct LossTotal {
  uint64_t total = 0;
  std::map<Verb, uint64_t> verbs;
};
using LossTotals = std::map<std::pair<StreamId, BreakReason>, LossTotal>;

// Passes blocks on to the queue, and looks at them on the way: new images and samples for the
// mappings and symbols, losses for the summary.
class WatchingSink : public BlockSink {
 public:
  // wake_fd is an eventfd, written when mappings should be read at once.
  WatchingSink(WriteQueue* queue, MappingWatch* mappings, SymbolCopy* symbols, int wake_fd)
      : queue_(queue), mappings_(mappings), symbols_(symbols), wake_fd_(wake_fd) {}
  void Put(DrainedBlock block) override;
  StringId Intern(std::string_view text) override { return queue_->Intern(text); }

  uint64_t events() const { return events_; }
  uint64_t lost() const { return lost_; }
  // After the drain thread has ended.
  const LossTotals& losses() const { return losses_; }
  const std::map<StreamId, StreamInfo>& streams() const { return streams_; }

 private:
  WriteQueue* const queue_;
  MappingWatch* const mappings_;
  SymbolCopy* const symbols_;
  const int wake_fd_;
  std::atomic<uint64_t> events_ = 0;
  std::atomic<uint64_t> lost_ = 0;
  LossTotals losses_;
  std::map<StreamId, StreamInfo> streams_;
};

class DrainThread {
 public:
  // All outlive it.
  DrainThread(std::vector<EventSource*> sources, WatchingSink* sink, WriteQueue* queue);
  ~DrainThread();

  void Start();
  // After everything that fills the rings was detached: sweeps until nothing is left and ends.
  // done_fd() gets readable then.
  void Finish();
  void Join();
  int done_fd() const { return done_fd_; }
  // After Join: the last sweep's time and every stream's counters.
  const RoundMark& last_mark() const { return last_mark_; }

 private:
  void Run();
  // Returns the fullest ring's fill.
  double SweepOnce();

  const std::vector<EventSource*> sources_;
  WatchingSink* const sink_;
  WriteQueue* const queue_;
  const int done_fd_;
  std::mutex mutex_;
  std::condition_variable finish_;
  bool finishing_ = false;  // guarded by mutex_
  bool complete_ = false;
  RoundMark last_mark_;
  std::thread thread_;
};

}  // namespace cprof

#endif  // CPROF_RECORD_DRAIN_H_
