// Errors of what requests are said to have spent: wall time by state, CPU time, waits for
// resources.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_WALL_ERROR_H_
#define CPROF_TESTS_CAUSALITY_SCORE_WALL_ERROR_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tests/causality/score/lives.h"
#include "tests/causality/score/match.h"
#include "tests/causality/score/score.h"

namespace cprof::causality {

struct RequestTruth {
  const std::vector<OracleRecord>& records;
  const Graph& graph;
  const Lives& lives;
  const std::unordered_map<uint64_t, uint64_t>& request_of_node;
  Window window{0, UINT64_MAX};  // what lies outside, whole or in part, is not asked for
};

// Wall: per request, the sum over states of what the report is off by, over the true wall time. The
// truth gives each state a least and a most; what lies between is no error, and neither is anything
// in time that it leaves open. Time in a wrong state counts twice, where it is and where it should
// be; time that is said to be unknown counts once. A request that the graph does not know is off
// by 1.
void ScoreRequests(const RequestTruth& truth, Scores* scores);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_WALL_ERROR_H_
