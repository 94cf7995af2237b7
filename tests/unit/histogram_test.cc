// Quantiles are exact while few and within 1 % when many; the maximum is always exact.
#include "report/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cprof {
namespace {

TEST(Histogram, EmptyHasNoQuantiles) {
  const Histogram histogram;
  EXPECT_EQ(histogram.Quantile(99, 100), 0U);
  EXPECT_EQ(histogram.max(), 0U);
}

TEST(Histogram, FewValuesAreExact) {
  Histogram histogram;
  for (uint64_t i = 100; i >= 1; --i) histogram.Add(i * 1'000'003);
  EXPECT_EQ(histogram.Quantile(50, 100), 50U * 1'000'003);
  EXPECT_EQ(histogram.Quantile(99, 100), 99U * 1'000'003);
  EXPECT_EQ(histogram.max(), 100U * 1'000'003);
  EXPECT_EQ(histogram.sum(), uint64_t{5050} * 1'000'003);
}

TEST(Histogram, ManyValuesAreWithinOnePercent) {
  Histogram histogram;
  std::vector<uint64_t> values;
  uint64_t random = 88172645463325252ULL;
  for (int i = 0; i < 200'000; ++i) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    const uint64_t value = random >> (random % 60);
    values.push_back(value);
    histogram.Add(value);
  }
  std::sort(values.begin(), values.end());
  for (const uint32_t percent : {1U, 10U, 50U, 90U, 99U}) {
    const auto exact = static_cast<double>(values[values.size() * percent / 100 - 1]);
    const auto estimate = static_cast<double>(histogram.Quantile(percent, 100));
    EXPECT_NEAR(estimate, exact, exact * 0.01 + 0.5) << percent;
  }
  EXPECT_EQ(histogram.max(), values.back());
  EXPECT_LE(histogram.Quantile(100, 100), histogram.max());
}

TEST(Histogram, MergeIsTheSameAsAddingAll) {
  Histogram all, a, b;
  for (uint64_t i = 0; i < 2000; ++i) {
    all.Add(i * i);
    (i % 3 == 0 ? a : b).Add(i * i);
  }
  a.Merge(b);
  EXPECT_EQ(a.count(), all.count());
  EXPECT_EQ(a.sum(), all.sum());
  EXPECT_EQ(a.Quantile(99, 100), all.Quantile(99, 100));
}

TEST(Histogram, LargestValueFits) {
  Histogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.Add(~uint64_t{0});
  EXPECT_EQ(histogram.max(), ~uint64_t{0});
  EXPECT_GT(histogram.Quantile(50, 100), ~uint64_t{0} / 100 * 99);
}

}  // namespace
}  // namespace cprof
