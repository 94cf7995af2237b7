// Intervals around what was measured: over seeds, and for counts that are zero or nearly so.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_STATISTICS_H_
#define CPROF_TESTS_CAUSALITY_SCORE_STATISTICS_H_

#include <cstdint>
#include <vector>

namespace cprof::causality {

struct Interval {
  double low = 0, high = 0;
};

// 95 % by Student's t around the mean of independent runs; two values at least.
double Mean(const std::vector<double>& values);
Interval MeanInterval(const std::vector<double>& values);

// 95 % by Clopper and Pearson: `count` of `total`, each independent of the others. For a count of 0
// the upper end is the usual one-sided one, 1 - 0.05^(1/total): "at most three in total".
Interval ProportionInterval(uint64_t count, uint64_t total);

// Linear between the ranks; 0 for no values. Infinite values sort last.
double Quantile(std::vector<double> values, double share);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_STATISTICS_H_
