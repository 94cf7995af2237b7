// The stacks of open bindings of one thread over time.
#ifndef CPROF_REPORT_STACK_HISTORY_H_
#define CPROF_REPORT_STACK_HISTORY_H_

#include <cstdint>
#include <span>

#include "report/graph.h"
#include "report/near_search.h"
#include "report/sliding_vector.h"

namespace cprof {

struct StackEntry {
  NodeId node = 0;
  Confidence confidence = Confidence::kObserved;
  bool is_request = false;  // then it lives as long as it is bound
};

// Points in time, each with the stack that holds until the next one. The stacks lie one behind the
// other in one list, as they come and go in the same order as their points.
class StackHistory {
 public:
  struct Point {
    uint64_t from_ns = 0;
    uint64_t first = 0;  // of its entries, counted from the first there ever was
    uint32_t count = 0;
  };

  bool empty() const { return points_.empty(); }
  size_t size() const { return points_.size(); }
  const Point& operator[](size_t index) const { return points_[index]; }
  const Point& front() const { return points_.front(); }
  const Point& back() const { return points_.back(); }

  // Outermost first. Valid until the next change.
  std::span<const StackEntry> StackOf(const Point& point) const {
    return {entries_.begin() + (point.first - popped_), point.count};
  }
  // The last point that begins before time_ns; null where there is none.
  const Point* Before(uint64_t time_ns) const {
    if (points_.empty()) return nullptr;
    if (points_.back().from_ns < time_ns) return &points_.back();
    near_ = SearchNear(points_.size(), near_,
                       [&](size_t index) { return points_[index].from_ns < time_ns; });
    return near_ == 0 ? nullptr : &points_[near_ - 1];
  }

  // From from_ns on; not before the last point, which is replaced where it begins then.
  void Set(uint64_t from_ns, std::span<const StackEntry> stack) {
    if (!points_.empty() && points_.back().from_ns == from_ns) {
      for (; points_.back().count > 0; --points_.back().count) entries_.pop_back();
      points_.back().first = popped_ + entries_.size();
    } else {
      points_.push_back({from_ns, popped_ + entries_.size(), 0});
    }
    for (const StackEntry& entry : stack) entries_.push_back(entry);
    points_.back().count = static_cast<uint32_t>(stack.size());
  }
  void PopFront() {
    const uint32_t count = points_.front().count;
    points_.pop_front();
    entries_.pop_front(count);
    popped_ += count;
    if (near_ > 0) --near_;
  }
  void Clear() {
    points_.clear();
    entries_.clear();
    popped_ = 0;
    near_ = 0;
  }

 private:
  SlidingVector<Point> points_;  // by from_ns
  SlidingVector<StackEntry> entries_;
  uint64_t popped_ = 0;      // entries so far
  mutable size_t near_ = 0;  // where the last search ended: the next one is mostly near
};

}  // namespace cprof

#endif  // CPROF_REPORT_STACK_HISTORY_H_
