// Pass "order": many streams, each nearly sorted, into one time order, in bounded memory.
#ifndef CPROF_REPORT_ORDER_H_
#define CPROF_REPORT_ORDER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "format/reader.h"
#include "format/recording.h"

namespace cprof {

// Everything that happened before final_ns and after the previous batch's final_ns.
struct Batch {
  uint64_t final_ns = 0;
  bool last = false;                 // nothing follows; open things are open at the end
  std::vector<Event> events;         // by time, then stream, then sequence
  std::vector<StackSample> samples;  // likewise
  std::vector<Break> breaks;         // that ended before final_ns or begin before it
};

// Takes what a Reader tells, gives batches. A mark makes everything before it final, and the next
// mark releases it: until then a number that is missing can still be noticed. Each number of a
// stream is given once at most; what came twice or too late is left out, what is missing without a
// break gets one (see sequence_check.h).
class Orderer {
 public:
  Orderer();
  ~Orderer();
  void AddStream(const StreamInfo& stream);
  void AddEvents(StreamId stream, std::span<const Event> events);
  void AddSamples(StreamId stream, std::span<const StackSample> samples);
  void AddBreak(const Break& lost);
  // Fills *batch (contents replaced, capacity kept) with what the mark before this one made final.
  void Mark(const RoundMark& mark, Batch* batch);
  // The end of the recording: all that is left.
  void Finish(Batch* batch);
  // What was left out or missing so far, for the loss ledger; sorted by name.
  std::vector<LossEntry> Losses() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_ORDER_H_
