// What was truly lost: told by comparing a whole recording with what is left of it.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_LOSSES_H_
#define CPROF_TESTS_CAUSALITY_SCORE_LOSSES_H_

#include <cstdint>
#include <istream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "format/result.h"
#include "tests/causality/score/brackets.h"

namespace cprof::causality {

struct Losses {
  std::set<std::string> events;  // "stream.sequence", as the graph writes it
  uint64_t count = 0;
  // Stretches of each stream in which nothing was kept, from the last event before to the first one
  // after; summed up, and all streams together.
  double lossy_ns = 0;
  Brackets spans;
  uint32_t cpus = 1;
};

// Both are what `cprof script` prints of a recording. Streams of which nothing can be lost in a
// ring, the recorder's own, are left out.
Result<Losses> FindLosses(std::istream& whole, std::istream& kept);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_LOSSES_H_
