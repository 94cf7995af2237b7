// Shortens a long causal path for people: repeated cycles of steps become one, and the shortest of
// many steps are summed up.
#ifndef CPROF_REPORT_PATH_FOLD_H_
#define CPROF_REPORT_PATH_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cprof {

struct FoldStep {
  uint32_t form = 0;  // steps of one form look the same but for their times
  uint64_t took_ns = 0;
};

// One row of a folded path.
struct FoldedStep {
  size_t first = 0;      // index of the step that it begins with
  uint64_t took_ns = 0;  // of all steps that it stands for
  size_t times = 1;      // how often the cycle occurs that this row is a step of
  size_t cycle = 1;      // rows of that cycle
  size_t place = 0;      // of this row in its cycle
  size_t summed = 1;     // more: so many steps, of any form, one after the other
};

// Cycles of up to kMaxCycle steps that occur at least kMinTimes times in a row become one. Of what
// is left beyond `limit` rows the shortest are summed up, so that there are about `limit` in all
// (each run of short ones is a row). The order stays that of time.
inline constexpr size_t kMaxCycle = 8;
inline constexpr size_t kMinTimes = 3;
std::vector<FoldedStep> FoldPath(const std::vector<FoldStep>& steps, size_t limit);

}  // namespace cprof

#endif  // CPROF_REPORT_PATH_FOLD_H_
