// The figures of the results table, each with a name that programs may rely on.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_METRICS_H_
#define CPROF_TESTS_CAUSALITY_SCORE_METRICS_H_

#include <optional>
#include <string>
#include <vector>

#include "tests/causality/score/score.h"

namespace cprof::causality {

// Without a value where there was nothing to measure: no edge of that confidence, no known loss.
struct Metric {
  std::string name;
  std::optional<double> value;
};

// Always the same names in the same order. All are shares or ratios, false joins per million apart.
std::vector<Metric> MetricsOf(const Scores& scores);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_METRICS_H_
