// Errors of walls and costs are what they are said to be, and widths pay for coverage.
#include "tests/causality/score/wall_error.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/causality/score/metrics.h"
#include "tests/causality/score/score_cases.h"
#include "tests/causality/score/statistics.h"

namespace cprof::causality {
namespace {

OracleRecord StateRecord(WallState state, uint64_t from, uint64_t to) {
  OracleRecord record = Record(Truth::kState, kTid, 0, 0, 0, 21, from - 10, to + 10);
  record.kind = static_cast<uint32_t>(state);
  record.inner_from_ns = kT0Ns + from + 10;
  record.inner_to_ns = kT0Ns + to - 10;
  return record;
}

OracleRecord CostRecord(CostKind kind, uint64_t value, uint64_t least = 0, uint64_t most = 0) {
  OracleRecord record = Record(Truth::kCost, kTid, 0, 0, 0, 21, 1000, 11000);
  record.kind = static_cast<uint32_t>(kind);
  record.value = value;
  record.inner_from_ns = least;
  record.inner_to_ns = most;
  return record;
}

// Request 21 over [1000, 11000]: it runs to 5000, then waits for a disk to 9000, then runs again.
std::vector<OracleRecord> OneRequest() {
  std::vector<OracleRecord> truth = {Record(Truth::kRequestBegin, kTid, 0, 0, 21, 0, 1000, 1000),
                                     Record(Truth::kRequestEnd, kTid, 0, 0, 21, 0, 11000, 11000),
                                     StateRecord(WallState::kRunning, 1000, 5000),
                                     StateRecord(WallState::kIo, 5000, 9000),
                                     StateRecord(WallState::kRunning, 9000, 11000),
                                     CostRecord(CostKind::kCpuNs, 6000)};
  truth[0].value = truth[1].value = 5;
  return truth;
}

struct Span {
  const char* state;
  uint64_t from, to;
};

Scores ScoreSpans(const std::vector<Span>& spans,
                  const std::vector<OracleRecord>& truth = OneRequest()) {
  GraphLines lines;
  lines.Node(3, "request", 1000, 11000, 5);
  for (const Span& span : spans) lines.State(3, span.state, span.from, span.to);
  return Score(truth, lines.Read());
}

double WallError(const std::vector<Span>& spans,
                 const std::vector<OracleRecord>& truth = OneRequest()) {
  const Scores scores = ScoreSpans(spans, truth);
  EXPECT_EQ(scores.wall.errors.size(), 1u);
  return scores.wall.errors.empty() ? -1 : scores.wall.errors[0];
}

TEST(WallError, TrueWallHasNone) {
  EXPECT_DOUBLE_EQ(
      WallError({{"running", 1000, 5000}, {"io", 5000, 9000}, {"running", 9000, 11000}}), 0);
}

TEST(WallError, RequestsThatBeganOrEndedOutsideTheRecordingAreNotAskedFor) {
  const auto asked = [](uint64_t from, uint64_t to) {
    GraphLines lines;
    lines.Node(3, "request", 1000, 11000, 5);
    const Graph graph = lines.Read();
    const std::vector<OracleRecord> truth = OneRequest();
    const Lives lives(truth, Truth::kRequestBegin, Truth::kRequestEnd);
    Scores scores;
    ScoreRequests({truth, graph, lives, {}, {kT0Ns + from, kT0Ns + to}}, &scores);
    return scores.wall.unreported;
  };
  EXPECT_EQ(asked(1000, 11000), 1u);
  EXPECT_EQ(asked(1001, 11000), 0u);
  EXPECT_EQ(asked(1000, 10999), 0u);
}

TEST(WallError, WrongStateCountsWhereItIsAndWhereItShouldBe) {
  // 1000 of 10000 ns on the wrong side; the clocks leave 20 or 40 ns open at each state.
  const double error =
      WallError({{"running", 1000, 4000}, {"io", 4000, 9000}, {"running", 9000, 11000}});
  EXPECT_NEAR(error, 0.2, 0.01);
}

TEST(WallError, UnknownCountsOnce) {
  const double error =
      WallError({{"running", 1000, 5000}, {"unknown", 5000, 9000}, {"running", 9000, 11000}});
  EXPECT_NEAR(error, 0.4, 0.01);
}

// It waited for the disk and then for a CPU, nobody knows how long for which.
TEST(WallError, UnknownIsNoneOfTheStatesThatItCanHaveBeen) {
  auto truth = OneRequest();
  truth[3].inner_from_ns = truth[3].inner_to_ns = 0;
  truth.push_back(truth[3]);
  truth.back().kind = static_cast<uint32_t>(WallState::kRunnable);
  const Span first = {"running", 1000, 5000}, last = {"running", 9000, 11000};
  EXPECT_DOUBLE_EQ(WallError({first, {"io", 5000, 7000}, {"runnable", 7000, 9000}, last}, truth),
                   0);
  EXPECT_NEAR(WallError({first, {"unknown", 5000, 9000}, last}, truth), 0.4, 0.01);
  EXPECT_NEAR(ScoreSpans({first, last}, truth).wall_open.at(0), 0.4, 0.01);
}

TEST(WallError, StatesOfOneNameInTheTruthMayHaveTwoInTheReport) {
  auto truth = OneRequest();
  truth[3].kind = static_cast<uint32_t>(WallState::kQueued);
  EXPECT_DOUBLE_EQ(WallError({{"running", 1000, 5000},
                              {"queued", 5000, 6000},
                              {"runtime_queued", 6000, 9000},
                              {"running", 9000, 11000}},
                             truth),
                   0);
}

TEST(WallError, RunnableIsPartOfRunningWhereTheTruthCannotTell) {
  EXPECT_DOUBLE_EQ(WallError({{"running", 1000, 3000},
                              {"runnable", 3000, 5000},
                              {"io", 5000, 9000},
                              {"running", 9000, 11000}}),
                   0);
}

TEST(WallError, RunnableIsBoundedWhereTheTruthKnowsHowLongItWas) {
  auto truth = OneRequest();
  truth.push_back(CostRecord(CostKind::kRunDelayNs, 500));
  // Of the disk's time 500 ns went to waiting for a CPU: right.
  EXPECT_DOUBLE_EQ(WallError({{"running", 1000, 5000},
                              {"io", 5000, 8500},
                              {"runnable", 8500, 9000},
                              {"running", 9000, 11000}},
                             truth),
                   0);
  // 2000 ns is what cannot be: 1500 too many, and 1500 missing elsewhere.
  EXPECT_NEAR(WallError({{"running", 1000, 5000},
                         {"io", 5000, 7000},
                         {"runnable", 7000, 9000},
                         {"running", 9000, 11000}},
                        truth),
              0.3, 0.01);
}

TEST(WallError, TimeThatTheTruthLeavesOpenMayBeAnything) {
  auto truth = OneRequest();
  truth.erase(truth.begin() + 4);  // the last 2000 ns, less what the clocks leave open
  const double error =
      WallError({{"running", 1000, 5000}, {"io", 5000, 9000}, {"timer", 9000, 11000}}, truth);
  EXPECT_NEAR(error, 0, 0.01);
}

TEST(WallError, RequestThatIsNotReportedIsWhollyOff) {
  GraphLines lines;
  lines.Edge("wake", 1, 2, 500, 1);
  lines.Edge("wake", 1, 2, 45000, 2);
  const Scores scores = Score(OneRequest(), lines.Read());
  ASSERT_EQ(scores.wall.errors.size(), 1u);
  EXPECT_DOUBLE_EQ(scores.wall.errors[0], 1);
  EXPECT_EQ(scores.wall.unreported, 1u);
  EXPECT_EQ(scores.cpu.unreported, 1u);
}

Scores ScoreCost(uint64_t value, const char* low, const char* high,
                 const std::vector<OracleRecord>& truth = OneRequest()) {
  GraphLines lines;
  lines.Node(3, "request", 1000, 11000, 5);
  lines.Cost(3, "cpu_ns", value, low, high);
  return Score(truth, lines.Read());
}

TEST(CostError, IsRelativeToTheTruth) {
  const Scores scores = ScoreCost(6600, "5000", "7000");
  EXPECT_DOUBLE_EQ(scores.cpu.errors.at(0), 0.1);
  EXPECT_EQ(scores.cpu.covering, 1u);
  EXPECT_DOUBLE_EQ(scores.cpu.widths.at(0), 2000.0 / 6000);
}

TEST(CostError, BoundsOfTheTruthAreNotHeldAgainstAnyone) {
  auto truth = OneRequest();
  truth.back() = CostRecord(CostKind::kCpuNs, 6000, 5800, 6200);
  const Scores scores = ScoreCost(6100, "6150", "6400", truth);
  EXPECT_DOUBLE_EQ(scores.cpu.errors.at(0), 0);
  EXPECT_EQ(scores.cpu.covering, 1u);
}

TEST(CostError, IntervalBesideTheTruthDoesNotCover) {
  const Scores scores = ScoreCost(6600, "6500", "7000");
  EXPECT_EQ(scores.cpu.intervals, 1u);
  EXPECT_EQ(scores.cpu.covering, 0u);
}

TEST(CostError, WaitForAResourceIsItsCostOrElseItsState) {
  auto truth = OneRequest();
  truth.push_back(CostRecord(CostKind::kResourceNs, 1000));
  GraphLines by_state, by_cost;
  by_state.Node(3, "request", 1000, 11000, 5);
  by_state.State(3, "lock", 5000, 5900);
  EXPECT_DOUBLE_EQ(Score(truth, by_state.Read()).resource.errors.at(0), 0.1);
  by_cost.Node(3, "request", 1000, 11000, 5);
  by_cost.Cost(3, "resource_wait_ns", 1200, "1200", "1200");
  EXPECT_DOUBLE_EQ(Score(truth, by_cost.Read()).resource.errors.at(0), 0.2);
}

TEST(Statistics, NoneInAMillionIsAtMostThree) {
  const Interval interval = ProportionInterval(0, 1000000);
  EXPECT_DOUBLE_EQ(interval.low, 0);
  EXPECT_NEAR(interval.high * 1e6, 3, 0.01);
}

TEST(Statistics, ProportionsHaveTheTextbooksBounds) {
  // Clopper and Pearson's own example: 3 of 10.
  const Interval interval = ProportionInterval(3, 10);
  EXPECT_NEAR(interval.low, 0.0667, 0.0001);
  EXPECT_NEAR(interval.high, 0.6525, 0.0001);
  EXPECT_DOUBLE_EQ(ProportionInterval(10, 10).high, 1);
  EXPECT_DOUBLE_EQ(ProportionInterval(0, 0).high, 1);  // nothing seen, nothing known
}

TEST(Statistics, MeansHaveStudentsInterval) {
  const Interval interval = MeanInterval({1, 2, 3});
  EXPECT_NEAR(interval.low, 2 - 4.303 / std::sqrt(3), 0.001);
  EXPECT_NEAR(interval.high, 2 + 4.303 / std::sqrt(3), 0.001);
}

TEST(Statistics, QuantilesLieBetweenTheirRanks) {
  EXPECT_DOUBLE_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(Quantile({1, 2}, 0.5), 1.5);
  EXPECT_TRUE(std::isinf(Quantile({1, INFINITY, INFINITY}, 0.5)));
}

}  // namespace
}  // namespace cprof::causality
