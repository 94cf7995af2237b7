// Hand-overs from thread to thread are right only where both ends agree with the truth.
#include "tests/causality/score/hand_over.h"

#include <gtest/gtest.h>

#include "tests/causality/score/score.h"
#include "tests/causality/score/score_cases.h"

namespace cprof::causality {
namespace {

constexpr uint64_t kInterruptNode = 30;

// tid handed over in [given, given + 100], `value` took up in [taken, taken + 500].
OracleRecord EdgeRecord(EdgeKind kind, uint32_t tid, uint32_t value, uint64_t given,
                        uint64_t taken) {
  OracleRecord record = Record(Truth::kEdge, tid, 0, 0, 0, 0, given, taken + 500);
  record.kind = static_cast<uint32_t>(kind);
  record.value = value;
  record.inner_from_ns = kT0Ns + given + 100;
  record.inner_to_ns = kT0Ns + taken;
  return record;
}

// Worker 101 waits over [900, 1500] and [2900, 3500]; thread 100 wakes it at 1000 and a clock at
// 3000. All of its waits between 500 and 6000 are known.
std::vector<OracleRecord> TwoWakes() {
  return {EdgeRecord(EdgeKind::kWake, kTid, kWorkerTid, 1000, 1000),
          EdgeRecord(EdgeKind::kWake, 0, kWorkerTid, 3000, 3000),
          Record(Truth::kWaits, kWorkerTid, 0, 0, 0, 0, 500, 6000)};
}

Scores ScoreWakes(GraphLines* lines, std::vector<OracleRecord> truth = TwoWakes()) {
  lines->Thread(3, 102);
  lines->Node(kInterruptNode, "interrupt", 0, 0);
  return Score(truth, lines->Read());
}

TEST(HandOver, TrueWakesAreRight) {
  GraphLines lines;
  lines.Between("wake", 1, 1050, 2, 1100, 1, 2);
  lines.Between("wake", kInterruptNode, 3050, 2, 3100, 0, 2);
  const Scores scores = ScoreWakes(&lines);
  EXPECT_EQ(scores.edges_by_type.at("wake").right, 2u);
  EXPECT_EQ(scores.truths.at("wake").found, 2u);
  EXPECT_EQ(scores.FalseJoins(), 0u);
  EXPECT_DOUBLE_EQ(scores.Recall(), 1.0);
}

TEST(HandOver, WakeByAnotherThreadIsFalse) {
  GraphLines lines;
  lines.Between("wake", 3, 1050, 2, 1100, 3, 2);
  const Scores scores = ScoreWakes(&lines);
  EXPECT_EQ(scores.FalseJoins(), 1u);
  EXPECT_EQ(scores.truths.at("wake").missing, 1u);
  EXPECT_EQ(scores.truths.at("wake").outside, 1u);  // the second is after all that the graph has
}

TEST(HandOver, InterruptedThreadIsNoWaker) {
  GraphLines lines;
  lines.Between("wake", 1, 3050, 2, 3100, 1, 2);  // the clock did it while thread 100 ran
  EXPECT_EQ(ScoreWakes(&lines).FalseJoins(), 1u);
}

TEST(HandOver, WakeAtAnotherTimeIsFalse) {
  GraphLines lines;
  lines.Between("wake", 1, 700, 2, 1100, 1, 2);
  EXPECT_EQ(ScoreWakes(&lines).FalseJoins(), 1u);
}

TEST(HandOver, WakeWhereNobodyWaitedIsFalse) {
  GraphLines lines;
  lines.Between("wake", 1, 5000, 2, 5100, 1, 2);
  EXPECT_EQ(ScoreWakes(&lines).FalseJoins(), 1u);
}

TEST(HandOver, WakeOutsideTheKnownWaitsIsNotJudged) {
  GraphLines lines;
  lines.Between("wake", 1, 8000, 2, 8100, 1, 2);
  const Scores scores = ScoreWakes(&lines);
  EXPECT_EQ(scores.FalseJoins(), 0u);
  EXPECT_EQ(scores.outside_domain.at("wake"), 1u);
}

TEST(HandOver, SecondWakeOfOneWaitIsADuplicateAndNoFalseJoin) {
  GraphLines lines;
  lines.Between("wake", 1, 1050, 2, 1100, 1, 2);
  lines.Between("wake", 1, 1060, 2, 1110, 1, 2);
  const Scores scores = ScoreWakes(&lines);
  EXPECT_EQ(scores.edges.at("observed").right, 1u);
  EXPECT_EQ(scores.edges.at("observed").duplicate, 1u);
  EXPECT_EQ(scores.FalseJoins(), 0u);
  EXPECT_DOUBLE_EQ(scores.Precision("observed"), 0.5);
}

// The program knows who sent, the kernel which interrupt woke: true, but not the edge.
TEST(HandOver, InterruptBetweenTwoThreadsIsNeitherFoundNorFalse) {
  GraphLines lines;
  lines.Between("wake", kInterruptNode, 1050, 2, 1100, 0, 2);
  lines.Between("wake", kInterruptNode, 3050, 2, 3100, 0, 2);
  const Scores scores = ScoreWakes(&lines);
  EXPECT_EQ(scores.FalseJoins(), 0u);
  EXPECT_EQ(scores.edges.at("observed").foreign, 1u);
  EXPECT_EQ(scores.truths.at("wake").missing, 1u);
  EXPECT_EQ(scores.truths.at("wake").shown, 1u);
}

TEST(HandOver, OneCallThatWakesManyIsOneEdgeEach) {
  std::vector<OracleRecord> truth = {EdgeRecord(EdgeKind::kWake, kTid, kWorkerTid, 1000, 900),
                                     EdgeRecord(EdgeKind::kWake, kTid, 102, 1000, 900),
                                     Record(Truth::kWaits, kWorkerTid, 0, 0, 0, 0, 500, 6000),
                                     Record(Truth::kWaits, 102, 0, 0, 0, 0, 500, 6000)};
  GraphLines lines;
  lines.Between("wake", 1, 1050, 2, 1100, 1, 2);
  lines.Between("wake", 1, 1050, 3, 1110, 1, 3);
  const Scores scores = ScoreWakes(&lines, truth);
  EXPECT_EQ(scores.edges_by_type.at("wake").right, 2u);
}

TEST(HandOver, OrphanedWakeIsMissingAndShown) {
  GraphLines lines;
  lines.Between("wake", kInterruptNode, 3050, 2, 3100, 0, 2);
  lines.Orphan("wake", "hand_out", 2, 1050, 1, "ambiguous");
  const Scores scores = ScoreWakes(&lines);
  EXPECT_EQ(scores.truths.at("wake").missing, 1u);
  EXPECT_EQ(scores.truths.at("wake").with_orphan, 1u);
}

TEST(HandOver, OrphanOfAnotherTimeShowsNothing) {
  GraphLines lines;
  lines.Between("wake", kInterruptNode, 3050, 2, 3100, 0, 2);
  lines.Orphan("wake", "hand_out", 2, 4000, 1, "ambiguous");
  EXPECT_EQ(ScoreWakes(&lines).truths.at("wake").shown, 0u);
}

TEST(HandOver, ThreadHasOneParent) {
  const std::vector<OracleRecord> truth = {
      EdgeRecord(EdgeKind::kSpawn, kTid, kWorkerTid, 1000, 1000)};
  GraphLines right, wrong, unknown;
  right.Between("spawn", 1, 1050, 2, 1050, 1, 1);
  EXPECT_EQ(ScoreWakes(&right, truth).edges_by_type.at("spawn").right, 1u);
  wrong.Between("spawn", 3, 1050, 2, 1050, 3, 3);
  EXPECT_EQ(ScoreWakes(&wrong, truth).FalseJoins(), 1u);
  unknown.Between("spawn", 1, 1050, 3, 1050, 1, 1);  // of a thread that the log does not mention
  EXPECT_EQ(ScoreWakes(&unknown, truth).edges_by_type.at("spawn").foreign, 1u);
}

TEST(HandOver, TimerThatRanOutBelongsToWhoArmedIt) {
  const std::vector<OracleRecord> truth = {
      EdgeRecord(EdgeKind::kTimer, kTid, kWorkerTid, 1000, 5000)};
  GraphLines right, wrong;
  right.Node(9, "timer", 1050, 5100);
  right.Edge("submit", 1, 9, 1050, 1);  // armed: says nothing of what became of it
  right.Between("complete", 9, 1050, 2, 5100, 1, 2);
  const Scores scores = ScoreWakes(&right, truth);
  EXPECT_EQ(scores.truths.at("timer").found, 1u);
  EXPECT_EQ(scores.FalseJoins(), 0u);
  wrong.Node(9, "timer", 1050, 5100);
  wrong.Between("complete", 9, 1050, 2, 5100, 3, 2);  // taken for one that thread 102 armed
  EXPECT_EQ(ScoreWakes(&wrong, truth).FalseJoins(), 1u);
}

TEST(HandOver, WorkItemOfAWorkerNobodyKnowsIsComparedByTime) {
  const std::vector<OracleRecord> truth = {EdgeRecord(EdgeKind::kWorkItem, kTid, 0, 1000, 1000)};
  GraphLines right, late;
  right.Node(9, "work_item", 1050, 1200);
  right.Between("queue", 1, 1050, 9, 1200, 1, 3);
  EXPECT_EQ(ScoreWakes(&right, truth).truths.at("work_item").found, 1u);
  late.Node(9, "work_item", 1050, 9000);
  late.Between("queue", 1, 1050, 9, 9000, 1, 3);
  EXPECT_EQ(ScoreWakes(&late, truth).FalseJoins(), 1u);
}

TEST(HandOver, ItemsOfOnePushAreTakenUpOneByOne) {
  std::vector<OracleRecord> truth;
  for (uint32_t i = 0; i < 3; ++i) {
    truth.push_back(
        EdgeRecord(EdgeKind::kQueue, kTid, i == 1 ? 102 : kWorkerTid, 1000, 2000 + 1000 * i));
    truth.back().batch = 1;
    truth.back().sequence = i;
  }
  GraphLines lines;
  lines.Between("queue", 1, 1010, 2, 2100, 1, 2);
  lines.Between("queue", 1, 1020, 2, 3100, 1, 2);  // thread 102 took this one
  lines.Between("queue", 1, 1030, 2, 4100, 1, 2);
  const Scores scores = ScoreWakes(&lines, truth);
  EXPECT_EQ(scores.truths.at("queue").found, 2u);
  EXPECT_EQ(scores.FalseJoins(), 1u);
}

// The push is told by the program, the take-up by who enters the task.
TEST(HandOver, QueueIsFoundWhereTheTakerEntersTheTask) {
  std::vector<OracleRecord> truth = {Record(Truth::kRequestBegin, kTid, 0, 0, 21, 0, 900, 950),
                                     Record(Truth::kTaskBegin, kTid, 0, 0, 31, 21, 960, 990),
                                     Record(Truth::kHandOver, kTid, 1, 0, 31, 21, 1000, 1100),
                                     EdgeRecord(EdgeKind::kQueue, kTid, kWorkerTid, 1000, 2000)};
  truth[0].value = truth[1].value = 5;
  truth[3].operation = 31;
  for (const uint64_t taker : {uint64_t{2}, uint64_t{3}}) {
    GraphLines lines;
    lines.Node(13, "request", 920, 9000, 5);
    lines.Node(14, "runtime_task", 970, 9000, 5);
    lines.Edge("queue", 13, 14, 1050, 1, "observed", "application");
    lines.Binding(taker, 14, 2600, 3000);
    lines.Binding(2, 14, 3100, 3200);  // once more, whoever was first
    const Scores scores = ScoreWakes(&lines, truth);
    EXPECT_EQ(scores.truths.at("hand_over").found, 1u);
    EXPECT_EQ(scores.truths.at("queue").found, taker == 2 ? 1u : 0u);
    EXPECT_EQ(scores.FalseJoins(), 0u);
  }
}

TEST(HandOver, ResumeOfAnotherOperationIsFalse) {
  std::vector<OracleRecord> truth = {Record(Truth::kSubmit, kTid, 1, 0, 11, 0, 1000, 1100),
                                     Record(Truth::kSubmit, kTid, 2, 0, 12, 0, 1200, 1300),
                                     EdgeRecord(EdgeKind::kResume, kTid, kTid, 1000, 2000)};
  truth.back().operation = 11;
  for (const uint64_t resumed : {uint64_t{7}, uint64_t{8}}) {
    GraphLines lines;
    lines.Node(7, "io_request", 1050, 2000);
    lines.Node(8, "io_request", 1250, 2000);
    lines.Edge("submit", 1, 7, 1050, 1);
    lines.Edge("submit", 1, 8, 1250, 1);
    lines.Between("resume", resumed, 2000, 1, 2100, 0, 1, "reconstructed");
    const Scores scores = ScoreWakes(&lines, truth);
    EXPECT_EQ(scores.FalseJoins(), resumed == 7 ? 0u : 1u);
    EXPECT_EQ(scores.truths.at("resume").found, resumed == 7 ? 1u : 0u);
  }
}

TEST(HandOver, ResourceIsGotByTheRequestThatGotIt) {
  std::vector<OracleRecord> truth = {Record(Truth::kRequestBegin, kTid, 0, 0, 21, 0, 900, 950),
                                     Record(Truth::kRequestBegin, kTid, 0, 0, 22, 0, 960, 990),
                                     EdgeRecord(EdgeKind::kAcquire, kTid, 0, 1000, 2000)};
  truth[0].value = 5;
  truth[1].value = 6;
  truth[2].owner = 21;
  for (const uint64_t request : {uint64_t{3}, uint64_t{4}}) {
    GraphLines lines;
    lines.Node(13, "request", 920, 9000, 5);
    lines.Node(14, "request", 970, 9000, 6);
    lines.Node(15, "resource", 0, 9000, 1);
    lines.Edge("acquire", 15, 10 + request, 2100, 1, "observed", "application");
    const Scores scores = ScoreWakes(&lines, truth);
    EXPECT_EQ(scores.truths.at("acquire").found, request == 3 ? 1u : 0u);
    EXPECT_EQ(scores.FalseJoins(), request == 3 ? 0u : 1u);
  }
}

TEST(HandOver, SilentThreadHasNoEdges) {
  const std::vector<OracleRecord> truth = {Record(Truth::kDomain, kWorkerTid, 0, 0, 0, 0, 0, 9000)};
  GraphLines lines;
  lines.Node(7, "io_request", 1100, 3100);
  lines.Node(9, "timer", 1050, 5100);
  lines.Between("wake", 1, 1000, 2, 1100, 1, 2);
  lines.Edge("submit", 2, 7, 1100, 2);
  lines.Between("complete", 9, 1050, 2, 5100, 1, 2);
  lines.Between("wake", 1, 1000, 3, 1100, 1, 3);  // of others
  const Scores scores = ScoreWakes(&lines, truth);
  EXPECT_EQ(scores.FalseJoins(), 3u);
  EXPECT_EQ(scores.outside_domain.at("wake"), 1u);
}

}  // namespace
}  // namespace cprof::causality
