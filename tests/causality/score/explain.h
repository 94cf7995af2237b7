// Says in words why an edge is false, what is missing, and whose time went to whom.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_EXPLAIN_H_
#define CPROF_TESTS_CAUSALITY_SCORE_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/causality/score/score.h"

namespace cprof::causality {

enum class Question : uint8_t { kFalseJoins, kMissing, kOwners, kDuplicates };

// One paragraph for each of the first `count`: what the graph says, what the truth says. Times are
// ns since the first event of the graph, as in the graph itself.
std::string Explain(const std::vector<OracleRecord>& records, const Graph& graph,
                    const Scored& scored, Question question, uint64_t count);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_EXPLAIN_H_
