// A stream's numbers come nearly in order: interrupts swap neighbours, losses leave holes. A hole
// is kept until a mark has passed the event behind it; what has not come by then does not come in
// time, and must be in a break.
#include "report/sequence_check.h"

#include <algorithm>
#include <utility>

namespace cprof {
namespace {

// More holes than this in one stream between two marks, and the oldest are given up: a number of
// theirs that comes after all is left out as repeated.
constexpr size_t kMaxHoles = 4096;

uint64_t AddUpTo(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }

}  // namespace

std::deque<SequenceCheck::Hole>::iterator SequenceCheck::FindHole(std::deque<Hole>& holes,
                                                                  uint64_t sequence) {
  const auto hole =
      std::upper_bound(holes.begin(), holes.end(), sequence,
                       [](uint64_t number, const Hole& other) { return number < other.to; });
  return hole != holes.end() && sequence >= hole->from ? hole : holes.end();
}

bool SequenceCheck::TakeFromHole(std::deque<Hole>& holes, uint64_t sequence) {
  const auto hole = FindHole(holes, sequence);
  if (hole == holes.end()) return false;
  if (sequence == hole->from) {
    if (++hole->from == hole->to) holes.erase(hole);
  } else if (sequence + 1 == hole->to) {
    --hole->to;
  } else {
    Hole first = *hole;
    first.to = sequence;
    hole->from = sequence + 1;
    holes.insert(hole, first);
  }
  return true;
}

bool SequenceCheck::AcceptOther(uint64_t sequence, uint64_t time_ns) {
  Stream& stream = *last_;
  const bool is_late = time_ns < final_ns_;
  if (sequence < stream.next) {
    if (is_late) {
      // It stays missing: joins over its time have been made without it.
      const bool awaited = FindHole(stream.holes, sequence) != stream.holes.end() ||
                           TakeFromHole(stream.given_up, sequence);
      ++(awaited ? late_ : repeated_);
      return false;
    }
    if (TakeFromHole(stream.holes, sequence) || TakeFromHole(stream.given_up, sequence)) {
      return true;
    }
    ++repeated_;
    return false;
  }
  const uint64_t behind = sequence == UINT64_MAX ? sequence : sequence + 1;
  const uint64_t hole_end = is_late ? behind : sequence;
  if (hole_end > stream.next) {
    stream.holes.push_back({stream.next, hole_end, std::min(stream.last_ns, time_ns),
                            std::max(stream.last_ns, time_ns)});
    if (stream.holes.size() > kMaxHoles) stream.holes.pop_front();
  }
  stream.next = behind;
  stream.last_ns = std::max(stream.last_ns, time_ns);
  if (is_late) ++late_;
  return !is_late;
}

void SequenceCheck::AddBreak(const Break& lost) {
  if (lost.total == 0 || lost.stream == kEveryStream) {
    uncounted_.push_back({lost.stream, lost.from_ns, std::max(lost.from_ns, lost.to_ns)});
    return;
  }
  Stream& stream = streams_[lost.stream];
  stream.told = AddUpTo(stream.told, lost.total);
}

bool SequenceCheck::IsExcused(StreamId id, const Hole& hole) const {
  return std::any_of(uncounted_.begin(), uncounted_.end(), [&](const Span& span) {
    return (span.stream == id || span.stream == kEveryStream) && span.from_ns <= hole.before_ns &&
           span.to_ns >= hole.after_ns;
  });
}

void SequenceCheck::TellMissing(StreamId id, Stream& stream, uint64_t final_ns,
                                uint64_t released_ns, std::vector<Break>* breaks) {
  Break lost;
  lost.from_ns = UINT64_MAX;
  while (!stream.holes.empty() && (stream.holes.front().before_ns < final_ns ||
                                   stream.holes.front().after_ns < released_ns)) {
    const Hole hole = stream.holes.front();
    stream.holes.pop_front();
    stream.given_up.push_back(hole);
    if (stream.given_up.size() > kMaxHoles) stream.given_up.pop_front();
    if (!stream.counted || IsExcused(id, hole)) continue;
    stream.missing = AddUpTo(stream.missing, hole.to - hole.from);
    lost.from_ns = std::min(lost.from_ns, hole.after_ns);
    lost.to_ns = std::max(lost.to_ns, hole.before_ns);
  }
  if (stream.missing <= stream.told || lost.from_ns == UINT64_MAX) return;
  lost.stream = id;
  lost.reason = BreakReason::kMissing;
  lost.total = stream.missing - stream.told;
  lost.signature = ~uint64_t{0};
  lost.detail = "numbers of the stream that no record and no break accounts for";
  stream.told = stream.missing;
  missing_ = AddUpTo(missing_, lost.total);
  ++missing_breaks_;
  breaks->push_back(std::move(lost));
}

void SequenceCheck::Mark(const RoundMark& mark, std::vector<Break>* breaks) {
  for (const RoundMark::Counter& counter : mark.counters) {
    Stream& stream = streams_[counter.stream];
    stream.counted = true;
    stream.attempted = std::max(stream.attempted, counter.attempted);
  }
  const uint64_t before_ns = final_ns_;
  final_ns_ = std::max(final_ns_, mark.final_ns);
  for (auto& [id, stream] : streams_) {
    if (!stream.holes.empty()) TellMissing(id, stream, final_ns_, before_ns, breaks);
  }
  std::erase_if(uncounted_, [before_ns](const Span& span) { return span.to_ns < before_ns; });
}

void SequenceCheck::Finish(std::vector<Break>* breaks) {
  for (auto& [id, stream] : streams_) {
    if (stream.counted && stream.attempted > stream.next) {
      stream.holes.push_back(
          {stream.next, stream.attempted, stream.last_ns, std::max(stream.last_ns, final_ns_)});
      stream.next = stream.attempted;
    }
    TellMissing(id, stream, UINT64_MAX, 0, breaks);
  }
}

std::vector<LossEntry> SequenceCheck::Losses() const {
  std::vector<LossEntry> losses;
  if (late_ > 0) {
    losses.push_back({"late_record", late_, late_, 0,
                      "they came behind a mark that said that nothing older follows, and were left "
                      "out as lost"});
  }
  if (missing_ > 0) {
    losses.push_back({"missing_record", missing_breaks_, missing_, 0,
                      "their numbers are missing, and nothing in the file says that they were "
                      "lost; breaks stand for them"});
  }
  if (repeated_ > 0) {
    losses.push_back({"repeated_record", repeated_, repeated_, 0,
                      "their numbers had come before, and they were left out"});
  }
  return losses;
}

}  // namespace cprof
