// What a sample says of a figure: its value, and between what bounds the true one lies.
#ifndef CPROF_REPORT_ESTIMATE_H_
#define CPROF_REPORT_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "report/histogram.h"

namespace cprof {

// A value with the interval that holds the true one with a confidence of 1 - alpha. Infinite
// bounds: the sample is too small to say.
struct Estimate {
  double value = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// b - a of two independent estimates of one confidence: each bound is as far from the difference as
// the distances of the two bounds that make it, squared and added (the method of variance estimates
// recovery, which holds for intervals that are not symmetric).
Estimate Difference(const Estimate& a, const Estimate& b);

// The value that a variable of Student's t distribution exceeds in size with probability alpha.
double StudentBound(double alpha, size_t degrees);
// The same of the normal distribution.
double NormalBound(double alpha);

// Requests that follow each other are alike (they wait in one queue), so their spread says too
// little about the mean. Sums over batches of consecutive items keep that: items go into up to
// kMaxBatches batches of one size; when there are more, each two become one.
class BatchRuler {
 public:
  static constexpr size_t kMaxBatches = 64;

  // Counts one more item and gives its batch. Where that is `true` the caller must Halve every
  // series of sums first.
  bool Next(size_t* batch);
  uint64_t count() const { return count_; }
  uint64_t batch_items() const { return batch_items_; }

 private:
  uint64_t count_ = 0;
  uint64_t batch_items_ = 1;
};

// One figure of every item, by batch; what is beyond the end is 0.
struct BatchSums {
  uint64_t sum = 0;
  uint64_t items = 0;  // that have more than nothing of it
  std::vector<uint64_t> batches;

  void Add(size_t batch, uint64_t value);
  void Halve();
};

// The mean of an item. Figures of requests are not below 0 and mostly skewed, so the bounds are as
// many times the mean as the error is a part of it: never below 0, further above than below.
// `event`: of a sample in which no item had any, how much one independent event would have brought
// (see EventOf); then the bound says how rare such events are at least.
Estimate MeanOf(const BatchSums& sums, const BatchRuler& ruler, double alpha, double event);
// The sum by the number of independent events that would give it this spread: of one burst the
// whole sum, however many items it hit.
double EventOf(const BatchSums& sums, const BatchRuler& ruler);

// Values in their order, all of the first and then every 2nd, 4th, ...: what shows whether
// neighbours are alike.
class ThinnedValues {
 public:
  static constexpr size_t kMaxValues = 8192;

  void Add(uint64_t value);
  // How many times fewer independent values there are than values, as far as being at most `bound`
  // goes; at least 1.
  double Alikeness(uint64_t bound) const;

 private:
  uint64_t seen_ = 0;
  uint64_t step_ = 1;
  std::vector<uint64_t> values_;
};

// The quantile numerator/1000 of all values, with bounds by rank.
Estimate QuantileOf(const Histogram& values, const ThinnedValues& order, uint32_t per_mille,
                    double alpha);

}  // namespace cprof

#endif  // CPROF_REPORT_ESTIMATE_H_
