// Folding of long paths: cycles, what is summed up, and that nothing is lost.
#include "report/path_fold.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace cprof {
namespace {

// Steps of 10 ns each, a form for each letter.
std::vector<FoldStep> Steps(const std::string& forms) {
  std::vector<FoldStep> steps;
  for (const char form : forms) steps.push_back({static_cast<uint32_t>(form), 10});
  return steps;
}

uint64_t TotalNs(const std::vector<FoldedStep>& rows) {
  return std::accumulate(rows.begin(), rows.end(), uint64_t{0},
                         [](uint64_t sum, const FoldedStep& row) { return sum + row.took_ns; });
}

size_t StepCount(const std::vector<FoldedStep>& rows) {
  return std::accumulate(
      rows.begin(), rows.end(), size_t{0},
      [](size_t sum, const FoldedStep& row) { return sum + row.times * row.summed; });
}

TEST(PathFold, CycleThatComesThreeTimesIsOne) {
  const std::vector<FoldedStep> rows = FoldPath(Steps("xabcabcabcy"), 60);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[1].times, 3u);
  EXPECT_EQ(rows[1].cycle, 3u);
  EXPECT_EQ(rows[1].took_ns, 30u);
  EXPECT_EQ(rows[1].first, 1u);
  EXPECT_EQ(rows[3].place, 2u);
  EXPECT_EQ(rows[3].first, 3u);
  EXPECT_EQ(rows[4].first, 10u);
  EXPECT_EQ(rows[4].times, 1u);
}

TEST(PathFold, CycleThatComesTwiceStaysAsItIs) {
  EXPECT_EQ(FoldPath(Steps("abab"), 60).size(), 4u);
}

TEST(PathFold, ShorterCycleIsTakenWhereBothFit) {
  const std::vector<FoldedStep> rows = FoldPath(Steps("abababababab"), 60);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].times, 6u);
}

TEST(PathFold, ShortestOfManyAreSummedUpAndNothingIsLost) {
  std::vector<FoldStep> steps;
  for (uint32_t i = 0; i < 1000; ++i) steps.push_back({i, i % 100 == 50 ? 1'000'000u : i % 7 + 1});
  const uint64_t total_ns =
      std::accumulate(steps.begin(), steps.end(), uint64_t{0},
                      [](uint64_t sum, const FoldStep& step) { return sum + step.took_ns; });
  const std::vector<FoldedStep> rows = FoldPath(steps, 60);
  EXPECT_LE(rows.size(), 61u);
  EXPECT_EQ(TotalNs(rows), total_ns);
  EXPECT_EQ(StepCount(rows), 1000u);
  size_t long_ones = 0;
  size_t last = 0;
  for (const FoldedStep& row : rows) {
    EXPECT_GE(row.first, last);
    last = row.first;
    if (row.summed == 1 && row.took_ns == 1'000'000) ++long_ones;
  }
  EXPECT_EQ(long_ones, 10u);
}

TEST(PathFold, EqualStepsAreNotAllSummedUp) {
  std::vector<FoldStep> steps;
  for (uint32_t i = 0; i < 200; ++i) steps.push_back({i, 10});
  EXPECT_EQ(FoldPath(steps, 60).size(), 31u);
}

TEST(PathFold, EmptyPathHasNoRows) { EXPECT_TRUE(FoldPath({}, 60).empty()); }

}  // namespace
}  // namespace cprof
