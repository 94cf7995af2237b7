// Bounds hold what they say: against tables, and against samples whose true figure is known.
#include "report/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cprof {
namespace {

// Knuth's linear congruential generator; a test draws the same on every machine.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  // In [0, 1).
  double Next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) / 9007199254740992.0;
  }

 private:
  uint64_t state_;
};

TEST(Estimate, StudentBoundsAreThoseOfTheTables) {
  EXPECT_NEAR(StudentBound(0.05, 1), 12.706, 0.001);
  EXPECT_NEAR(StudentBound(0.05, 2), 4.303, 0.001);
  EXPECT_NEAR(StudentBound(0.05, 3), 3.182, 0.001);
  EXPECT_NEAR(StudentBound(0.05, 10), 2.228, 0.001);
  EXPECT_NEAR(StudentBound(0.001, 31), 3.633, 0.001);
  EXPECT_NEAR(NormalBound(0.05), 1.960, 0.001);
  EXPECT_NEAR(NormalBound(0.0001), 3.891, 0.001);
}

TEST(Estimate, BatchesKeepEverySumAndStayFew) {
  BatchRuler ruler;
  BatchSums sums;
  uint64_t expected = 0;
  for (uint64_t i = 1; i <= 1000; ++i) {
    size_t batch = 0;
    if (ruler.Next(&batch)) sums.Halve();
    sums.Add(batch, i);
    expected += i;
  }
  EXPECT_EQ(ruler.batch_items(), 16u);
  EXPECT_EQ(sums.sum, expected);
  EXPECT_EQ(sums.items, 1000u);
  ASSERT_EQ(sums.batches.size(), 63u);
  EXPECT_EQ(sums.batches[0], 136u);  // 1 .. 16
  EXPECT_EQ(sums.batches[1], 392u);  // 17 .. 32
}

TEST(Estimate, DifferenceIsAsFarAsItsParts) {
  const Estimate difference = Difference({10, 7, 11}, {30, 26, 35});
  EXPECT_DOUBLE_EQ(difference.value, 20);
  EXPECT_DOUBLE_EQ(difference.low, 20 - std::hypot(4, 1));
  EXPECT_DOUBLE_EQ(difference.high, 20 + std::hypot(5, 3));
}

// Half of what one wait is goes over to the next: neighbours are alike, as in a queue.
TEST(Estimate, MeanOfAlikeNeighboursIsWithinItsBounds) {
  int held = 0;
  constexpr int kSamples = 300;
  for (int sample = 0; sample < kSamples; ++sample) {
    Draw draw(static_cast<uint64_t>(sample));
    BatchRuler ruler;
    BatchSums sums;
    double last = 1;
    for (int i = 0; i < 4000; ++i) {
      last = 0.9 * last + 0.1 * -std::log(1 - draw.Next());
      size_t batch = 0;
      if (ruler.Next(&batch)) sums.Halve();
      sums.Add(batch, static_cast<uint64_t>(last * 1e6));
    }
    const Estimate mean = MeanOf(sums, ruler, 0.05, 0);
    held += mean.low <= 1e6 && 1e6 <= mean.high;
  }
  EXPECT_GE(held, kSamples * 90 / 100);
  EXPECT_LT(held, kSamples);
}

TEST(Estimate, QuantileOfAlikeNeighboursIsWithinItsBounds) {
  // Groups of ten values are one: a tenth of them is independent.
  const double median = std::log(2) * 1e6;
  int held = 0;
  constexpr int kSamples = 300;
  for (int sample = 0; sample < kSamples; ++sample) {
    Draw draw(static_cast<uint64_t>(sample) + 1000);
    Histogram values;
    ThinnedValues order;
    for (int group = 0; group < 300; ++group) {
      const auto value = static_cast<uint64_t>(-std::log(1 - draw.Next()) * 1e6);
      for (int i = 0; i < 10; ++i) {
        values.Add(value);
        order.Add(value);
      }
    }
    const Estimate estimate = QuantileOf(values, order, 500, 0.05);
    held += estimate.low <= median && median <= estimate.high;
  }
  EXPECT_GE(held, kSamples * 88 / 100);
  EXPECT_LT(held, kSamples);
}

TEST(Estimate, QuantileBeyondTheSampleHasNoBound) {
  Histogram values;
  ThinnedValues order;
  for (uint64_t i = 1; i <= 50; ++i) {
    values.Add(i);
    order.Add(i);
  }
  const Estimate p99 = QuantileOf(values, order, 990, 0.05);
  EXPECT_EQ(p99.value, 50);
  EXPECT_TRUE(std::isinf(p99.high));
  EXPECT_TRUE(std::isfinite(p99.low));
}

TEST(Estimate, NoneOfManyBoundsHowRareSomeAre) {
  BatchRuler ruler;
  const BatchSums none;
  size_t batch = 0;
  for (int i = 0; i < 100; ++i) (void)ruler.Next(&batch);
  const Estimate estimate = MeanOf(none, ruler, 0.05, 1000);
  EXPECT_EQ(estimate.low, 0);
  EXPECT_NEAR(estimate.high, 1000 * 3.689 / 100, 0.01);
}

// One burst hits many neighbours; it is one event, and none on the other side proves nothing.
TEST(Estimate, BurstIsOneEvent) {
  BatchRuler ruler;
  BatchSums burst, spread;
  for (int i = 0; i < 6400; ++i) {
    size_t batch = 0;
    if (ruler.Next(&batch)) {
      burst.Halve();
      spread.Halve();
    }
    burst.Add(batch, i / 64 == 8 ? 1000 : 0);
    spread.Add(batch, i % 100 == 0 ? 1000 : 0);
  }
  ASSERT_EQ(burst.sum, spread.sum);
  EXPECT_NEAR(EventOf(burst, ruler), 64'000, 3'000);
  EXPECT_NEAR(EventOf(spread, ruler), 1'000, 1'000);
  const BatchSums none;
  const auto bounds = [&](const BatchSums& sums) {
    return Difference(MeanOf(sums, ruler, 0.001, 0),
                      MeanOf(none, ruler, 0.001, EventOf(sums, ruler)));
  };
  EXPECT_GT(bounds(burst).high, 0);
  EXPECT_LT(bounds(spread).high, 0);
}

}  // namespace
}  // namespace cprof
