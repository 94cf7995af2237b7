// Pass "order". Each stream has a queue that is put in order when a mark asks for it: nearly
// sorted, so by insertion. Then the queues are merged run by run: the stream with the oldest head
// gives all it has before the next stream's head, so a stream that is alone for a while is copied
// in one piece. Every event is moved once into its queue and once out of it.
//
// What a mark made final is released by the next one: only a record that comes later shows that the
// last ones of a stream are missing, and the break that stands for them must be there before a join
// over their time is made.
#include "report/order.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "report/sequence_check.h"

namespace cprof {
namespace {

// So many places each event may move on average before a queue is sorted from scratch.
constexpr size_t kShiftsPerEvent = 8;

uint64_t TimeOf(const Event& event) { return event.time_ns; }
uint64_t TimeOf(const StackSample& sample) { return sample.event.time_ns; }
uint64_t SequenceOf(const Event& event) { return event.sequence; }
uint64_t SequenceOf(const StackSample& sample) { return sample.event.sequence; }

template <typename Item>
bool IsBefore(const Item& a, const Item& b) {
  return TimeOf(a) != TimeOf(b) ? TimeOf(a) < TimeOf(b) : SequenceOf(a) < SequenceOf(b);
}

// What one stream still has to give.
template <typename Item>
class Queue {
 public:
  void Append(std::span<const Item> more) {
    const size_t old_size = items_.size();
    items_.insert(items_.end(), more.begin(), more.end());
    for (size_t i = std::max<size_t>(old_size, 1); sorted_ && i < items_.size(); ++i) {
      sorted_ = !IsBefore(items_[i], items_[i - 1]);
    }
  }

  // Sorts, and sets the end of what is before final_ns.
  void Cut(uint64_t final_ns) {
    if (!sorted_) Sort();
    sorted_ = true;
    next_ = 0;
    const auto end =
        std::lower_bound(items_.begin(), items_.end(), final_ns,
                         [](const Item& item, uint64_t time) { return TimeOf(item) < time; });
    end_ = static_cast<size_t>(end - items_.begin());
  }
  void CutAll() {
    Cut(~uint64_t{0});
    end_ = items_.size();
  }

  bool empty() const { return next_ == end_; }
  size_t size() const { return end_ - next_; }
  uint64_t head_ns() const { return TimeOf(items_[next_]); }
  uint64_t newest_ns() const { return items_.empty() ? 0 : TimeOf(items_.back()); }

  // Moves what is older than limit_ns (or as old, if ties are ours) to out; at least one item.
  void MoveRun(uint64_t limit_ns, bool wins_ties, std::vector<Item>* out) {
    size_t stop = next_ + 1;
    while (stop < end_ &&
           (TimeOf(items_[stop]) < limit_ns || (wins_ties && TimeOf(items_[stop]) == limit_ns))) {
      ++stop;
    }
    MoveTo(stop, out);
  }
  void MoveAll(std::vector<Item>* out) { MoveTo(end_, out); }

  // Forgets what was moved.
  void Compact() {
    items_.erase(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(end_));
    next_ = end_ = 0;
  }

 private:
  void MoveTo(size_t stop, std::vector<Item>* out) {
    const auto at = [this](size_t i) {
      return std::make_move_iterator(items_.begin() + static_cast<ptrdiff_t>(i));
    };
    out->insert(out->end(), at(next_), at(stop));
    next_ = stop;
  }

  void Sort() {
    size_t shifts_left = kShiftsPerEvent * items_.size();
    for (size_t i = 1; i < items_.size(); ++i) {
      if (!IsBefore(items_[i], items_[i - 1])) continue;
      size_t place = i - 1;
      while (place > 0 && IsBefore(items_[i], items_[place - 1])) --place;
      if (i - place > shifts_left) {
        std::stable_sort(items_.begin(), items_.end(), IsBefore<Item>);
        return;
      }
      shifts_left -= i - place;
      const auto begin = items_.begin();
      std::rotate(begin + static_cast<ptrdiff_t>(place), begin + static_cast<ptrdiff_t>(i),
                  begin + static_cast<ptrdiff_t>(i + 1));
    }
  }

  std::vector<Item> items_;
  bool sorted_ = true;
  size_t next_ = 0;  // between two cuts: the first not yet moved
  size_t end_ = 0;   // and the end of what may be moved
};

// All streams of one kind of item. A map, so that ties go by stream id.
template <typename Item>
class Merger {
 public:
  void Append(StreamId stream, std::span<const Item> more) {
    if (last_ == nullptr || last_stream_ != stream) {
      last_ = &queues_[stream];
      last_stream_ = stream;
    }
    last_->Append(more);
  }

  uint64_t newest_ns() const {
    uint64_t newest = 0;
    for (const auto& [stream, queue] : queues_) newest = std::max(newest, queue.newest_ns());
    return newest;
  }

  // Fills out with what is before final_ns, or with everything.
  void Take(uint64_t final_ns, bool all, std::vector<Item>* out) {
    out->clear();
    heap_.clear();
    size_t total = 0;
    for (auto& [stream, queue] : queues_) {
      all ? queue.CutAll() : queue.Cut(final_ns);
      total += queue.size();
      if (!queue.empty()) heap_.push_back({queue.head_ns(), stream, &queue});
    }
    out->reserve(total);
    std::make_heap(heap_.begin(), heap_.end(), IsLater);
    while (heap_.size() > 1) {
      std::pop_heap(heap_.begin(), heap_.end(), IsLater);
      Head& head = heap_.back();
      const Head& next = heap_.front();
      head.queue->MoveRun(next.time_ns, head.stream < next.stream, out);
      if (head.queue->empty()) {
        heap_.pop_back();
        continue;
      }
      head.time_ns = head.queue->head_ns();
      std::push_heap(heap_.begin(), heap_.end(), IsLater);
    }
    if (!heap_.empty()) heap_.front().queue->MoveAll(out);
    for (auto& [stream, queue] : queues_) queue.Compact();
  }

 private:
  struct Head {
    uint64_t time_ns;
    StreamId stream;
    Queue<Item>* queue;
  };
  static bool IsLater(const Head& a, const Head& b) {
    return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.stream > b.stream;
  }

  std::map<StreamId, Queue<Item>> queues_;
  Queue<Item>* last_ = nullptr;
  StreamId last_stream_ = 0;
  std::vector<Head> heap_;
};

}  // namespace

struct Orderer::State {
  // Hands on what the sequence check accepts: nearly always all of it, in one piece.
  template <typename Item>
  void Append(StreamId stream, std::span<const Item> items, Merger<Item>* merger,
              std::vector<Item>* accepted) {
    size_t taken = 0;
    while (taken < items.size() &&
           check.Accept(stream, SequenceOf(items[taken]), TimeOf(items[taken]))) {
      ++taken;
    }
    if (taken == items.size()) {
      merger->Append(stream, items);
      return;
    }
    accepted->assign(items.begin(), items.begin() + static_cast<ptrdiff_t>(taken));
    for (const Item& item : items.subspan(taken + 1)) {
      if (check.Accept(stream, SequenceOf(item), TimeOf(item))) accepted->push_back(item);
    }
    merger->Append(stream, *accepted);
  }

  Merger<Event> events;
  Merger<StackSample> samples;
  std::vector<Break> breaks;
  SequenceCheck check;
  std::vector<Event> accepted_events;
  std::vector<StackSample> accepted_samples;
  uint64_t marked_ns = 0;  // as of the newest mark
  uint64_t final_ns = 0;   // of what was released: the mark before it
};

Orderer::Orderer() : state_(std::make_unique<State>()) {}
Orderer::~Orderer() = default;

void Orderer::AddStream(const StreamInfo&) {}

void Orderer::AddEvents(StreamId stream, std::span<const Event> events) {
  state_->Append(stream, events, &state_->events, &state_->accepted_events);
}

void Orderer::AddSamples(StreamId stream, std::span<const StackSample> samples) {
  state_->Append(stream, samples, &state_->samples, &state_->accepted_samples);
}

void Orderer::AddBreak(const Break& lost) {
  state_->check.AddBreak(lost);
  state_->breaks.push_back(lost);
}

std::vector<LossEntry> Orderer::Losses() const { return state_->check.Losses(); }

void Orderer::Mark(const RoundMark& mark, Batch* batch) {
  state_->check.Mark(mark, &state_->breaks);
  state_->final_ns =
      std::exchange(state_->marked_ns, std::max(state_->marked_ns, mark.final_ns));
  batch->final_ns = state_->final_ns;
  batch->last = false;
  state_->events.Take(state_->final_ns, false, &batch->events);
  state_->samples.Take(state_->final_ns, false, &batch->samples);
  const auto stays =
      std::stable_partition(state_->breaks.begin(), state_->breaks.end(),
                            [this](const Break& lost) { return lost.from_ns < state_->final_ns; });
  batch->breaks.assign(std::make_move_iterator(state_->breaks.begin()),
                       std::make_move_iterator(stays));
  state_->breaks.erase(state_->breaks.begin(), stays);
}

void Orderer::Finish(Batch* batch) {
  state_->check.Finish(&state_->breaks);
  state_->final_ns = std::max(
      {state_->marked_ns, state_->events.newest_ns() + 1, state_->samples.newest_ns() + 1});
  batch->final_ns = state_->final_ns;
  batch->last = true;
  state_->events.Take(0, true, &batch->events);
  state_->samples.Take(0, true, &batch->samples);
  batch->breaks = std::move(state_->breaks);
  state_->breaks.clear();
}

}  // namespace cprof
