// Holds each stream to its sequence numbers: every number stands for one event, which is in the
// file once, in time, or in a break. What came twice or too late is left out; what is missing
// without a break makes one.
#ifndef CPROF_REPORT_SEQUENCE_CHECK_H_
#define CPROF_REPORT_SEQUENCE_CHECK_H_

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "format/reader.h"

namespace cprof {

class SequenceCheck {
 public:
  // Takes note of an event or sample, in file order. False: it is not to be applied.
  bool Accept(StreamId stream, uint64_t sequence, uint64_t time_ns) {
    if (last_ == nullptr || last_stream_ != stream) {
      last_ = &streams_[stream];
      last_stream_ = stream;
    }
    if (sequence != last_->next || time_ns < final_ns_) return AcceptOther(sequence, time_ns);
    ++last_->next;
    last_->last_ns = time_ns;
    return true;
  }
  void AddBreak(const Break& lost);
  // Nothing older than mark.final_ns follows. Appends breaks for what is missing before it, and
  // for what may be missing before the mark before it, of the streams whose counters the mark has:
  // their numbers count from 0.
  void Mark(const RoundMark& mark, std::vector<Break>* breaks);
  // The end of the recording: what the last counters say was attempted must be there too.
  void Finish(std::vector<Break>* breaks);
  // repeated_record, late_record, missing_record; none that did not occur.
  std::vector<LossEntry> Losses() const;

 private:
  // Numbers that have not come: [from, to), seen to be left out between two times.
  struct Hole {
    uint64_t from = 0;
    uint64_t to = 0;
    uint64_t after_ns = 0;
    uint64_t before_ns = 0;
  };
  struct Stream {
    uint64_t next = 0;  // one more than the highest number seen
    uint64_t last_ns = 0;
    std::deque<Hole> holes;     // by number
    std::deque<Hole> given_up;  // holes that a mark has passed
    uint64_t missing = 0;       // numbers that were given up
    uint64_t told = 0;          // by breaks with a count
    uint64_t attempted = 0;     // as of the last mark
    bool counted = false;
  };
  struct Span {
    StreamId stream = 0;
    uint64_t from_ns = 0;
    uint64_t to_ns = 0;
  };

  bool AcceptOther(uint64_t sequence, uint64_t time_ns);
  static std::deque<Hole>::iterator FindHole(std::deque<Hole>& holes, uint64_t sequence);
  // Whether the number was in a hole; from now on it is not.
  static bool TakeFromHole(std::deque<Hole>& holes, uint64_t sequence);
  bool IsExcused(StreamId id, const Hole& hole) const;
  // Of the holes that end before final_ns or begin before released_ns.
  void TellMissing(StreamId id, Stream& stream, uint64_t final_ns, uint64_t released_ns,
                   std::vector<Break>* breaks);

  std::map<StreamId, Stream> streams_;
  Stream* last_ = nullptr;
  StreamId last_stream_ = 0;
  std::vector<Span> uncounted_;  // breaks that could not count
  uint64_t final_ns_ = 0;
  uint64_t repeated_ = 0;
  uint64_t late_ = 0;
  uint64_t missing_ = 0;
  uint64_t missing_breaks_ = 0;
};

}  // namespace cprof

#endif  // CPROF_REPORT_SEQUENCE_CHECK_H_
