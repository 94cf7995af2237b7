// Scores of one or several runs in words, and as one JSON object.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_SCORE_TEXT_H_
#define CPROF_TESTS_CAUSALITY_SCORE_SCORE_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "format/result.h"
#include "tests/causality/score/score.h"

namespace cprof::causality {

// runs: at least one, of the same workload with other seeds.
std::string ScoresAsText(const std::vector<Scores>& runs);

// labels: mechanism, fault, tool, and what else the caller wants to find again. overhead: a JSON
// object of the runner's, handed on as it is; "" for none; refused where it is none.
Result<std::string> ScoresAsJson(const std::vector<Scores>& runs,
                                 const std::map<std::string, std::string>& labels,
                                 const std::string& overhead);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_SCORE_TEXT_H_
