// Greedy search for cycles, then a cut by duration.
#include "report/path_fold.h"

#include <algorithm>

namespace cprof {
namespace {

size_t TimesOfCycle(const std::vector<FoldStep>& steps, size_t begin, size_t cycle) {
  size_t same = 0;
  while (begin + cycle + same < steps.size() &&
         steps[begin + same].form == steps[begin + cycle + same].form) {
    ++same;
  }
  return same / cycle + 1;
}

// Linear: a search that finds no cycle has looked at most kMinTimes * kMaxCycle steps ahead, and
// the steps of one that was found are done with.
std::vector<FoldedStep> FoldCycles(const std::vector<FoldStep>& steps) {
  std::vector<FoldedStep> folded;
  for (size_t i = 0; i < steps.size();) {
    size_t best_cycle = 1;
    size_t best_times = 1;
    for (size_t cycle = 1; cycle <= kMaxCycle; ++cycle) {
      const size_t times = TimesOfCycle(steps, i, cycle);
      if (times >= kMinTimes && times * cycle > best_times * best_cycle) {
        best_cycle = cycle;
        best_times = times;
      }
    }
    for (size_t place = 0; place < best_cycle; ++place) {
      FoldedStep row{i + place, 0, best_times, best_cycle, place, 1};
      for (size_t n = 0; n < best_times; ++n)
        row.took_ns += steps[i + n * best_cycle + place].took_ns;
      folded.push_back(row);
    }
    i += best_cycle * best_times;
  }
  return folded;
}

size_t StepsIn(const FoldedStep& row) { return row.times * row.summed; }

}  // namespace

std::vector<FoldedStep> FoldPath(const std::vector<FoldStep>& steps, size_t limit) {
  std::vector<FoldedStep> rows = FoldCycles(steps);
  if (rows.size() <= limit) return rows;
  // A cycle is kept or summed up as a whole, by the time of all its rows.
  struct Group {
    uint64_t took_ns = 0;
    size_t first = 0;
  };
  std::vector<Group> groups;
  for (size_t i = 0; i < rows.size(); i += rows[i].cycle) {
    groups.push_back({0, i});
    for (size_t k = 0; k < rows[i].cycle; ++k) groups.back().took_ns += rows[i + k].took_ns;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.took_ns > b.took_ns; });
  std::vector<bool> keep(rows.size());
  // A run of short steps takes a row for itself, hence the half.
  size_t left = limit / 2;
  for (const Group& group : groups) {
    const size_t cycle = rows[group.first].cycle;
    if (cycle > left) break;
    left -= cycle;
    for (size_t k = 0; k < cycle; ++k) keep[group.first + k] = true;
  }
  std::vector<FoldedStep> kept;
  bool run = false;  // the last row kept sums up
  for (size_t i = 0; i < rows.size(); ++i) {
    if (keep[i]) {
      kept.push_back(rows[i]);
      run = false;
      continue;
    }
    const size_t count = StepsIn(rows[i]);
    if (run) {
      kept.back().took_ns += rows[i].took_ns;
      kept.back().summed += count;
    } else {
      kept.push_back({rows[i].first, rows[i].took_ns, 1, 1, 0, count});
      run = true;
    }
  }
  return kept;
}

}  // namespace cprof
