// Quantiles of many values in bounded memory: exact while few, within 0.4 % when many.
#ifndef CPROF_REPORT_HISTOGRAM_H_
#define CPROF_REPORT_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cprof {

// Up to kExactCount values are kept as they are; then they move into buckets, 128 to an octave, so
// that a bucket's middle is at most 1/256 away from any value in it. Count, sum and max stay exact.
class Histogram {
 public:
  static constexpr size_t kExactCount = 512;

  void Add(uint64_t value);
  void Merge(const Histogram& other);

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  uint64_t max() const { return max_; }
  // The smallest value that at least numerator/denominator of all values do not exceed (the nearest
  // rank); 0 where there are none.
  uint64_t Quantile(uint32_t numerator, uint32_t denominator) const;

 private:
  static constexpr int kSubBits = 7;
  static constexpr uint64_t kSubCount = uint64_t{1} << kSubBits;

  void AddToBuckets(uint64_t value, uint64_t times);
  void SpillExact();

  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
  std::vector<uint64_t> exact_;
  // By octave, up to the largest in use; the unused below it are empty.
  std::vector<std::vector<uint64_t>> octaves_;
  bool spilled_ = false;
};

}  // namespace cprof

#endif  // CPROF_REPORT_HISTOGRAM_H_
