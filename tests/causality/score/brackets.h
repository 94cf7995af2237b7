// Stretches of time, asked which of them hold an instant.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_BRACKETS_H_
#define CPROF_TESTS_CAUSALITY_SCORE_BRACKETS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cprof::causality {

// [from, to], both ends included, each with a number of the caller's. They may overlap; looking up
// costs as many steps as stretches reach over the instant or are nested in one that does.
class Brackets {
 public:
  void Add(uint64_t from_ns, uint64_t to_ns, uint32_t id) {
    list_.push_back({from_ns, to_ns, to_ns, id});
    is_sorted_ = false;
  }

  // Calls visit(id) for each stretch that overlaps [from_ns, to_ns], the earliest end first.
  template <typename Visit>
  void Overlapping(uint64_t from_ns, uint64_t to_ns, Visit visit) const {
    Sort();
    auto after = std::upper_bound(
        list_.begin(), list_.end(), to_ns,
        [](uint64_t time_ns, const Stretch& stretch) { return time_ns < stretch.from_ns; });
    std::vector<const Stretch*> found;
    while (after != list_.begin()) {
      --after;
      if (after->latest_to_ns < from_ns) break;
      if (after->to_ns >= from_ns) found.push_back(&*after);
    }
    std::sort(found.begin(), found.end(), [](const Stretch* left, const Stretch* right) {
      return left->to_ns != right->to_ns ? left->to_ns < right->to_ns : left->id < right->id;
    });
    for (const Stretch* stretch : found) visit(stretch->id);
  }

  bool Hold(uint64_t time_ns) const { return Overlap(time_ns, time_ns); }
  bool Overlap(uint64_t from_ns, uint64_t to_ns) const {
    bool any = false;
    Overlapping(from_ns, to_ns, [&any](uint32_t) { any = true; });
    return any;
  }
  bool empty() const { return list_.empty(); }

 private:
  struct Stretch {
    uint64_t from_ns, to_ns;
    uint64_t latest_to_ns;  // of this one and all before it
    uint32_t id;
  };

  void Sort() const {
    if (is_sorted_) return;
    std::sort(list_.begin(), list_.end(), [](const Stretch& left, const Stretch& right) {
      return left.from_ns != right.from_ns ? left.from_ns < right.from_ns : left.id < right.id;
    });
    uint64_t latest_to_ns = 0;
    for (Stretch& stretch : list_) {
      latest_to_ns = std::max(latest_to_ns, stretch.to_ns);
      stretch.latest_to_ns = latest_to_ns;
    }
    is_sorted_ = true;
  }

  mutable std::vector<Stretch> list_;
  mutable bool is_sorted_ = true;
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_BRACKETS_H_
