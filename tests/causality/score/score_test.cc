// The scorer gives known cases their known scores, and is not taken in by profilers that lie.
#include "tests/causality/score/score.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/causality/score/score_cases.h"

namespace cprof::causality {
namespace {

// Two operations in one enter of [1000, 2000]; they complete in the other order before 5000.
std::vector<OracleRecord> TwoOperations() {
  return {Record(Truth::kSubmit, kTid, 1, 0, 11, 0, 1000, 2000),
          Record(Truth::kSubmit, kTid, 1, 1, 12, 0, 1000, 2000),
          Record(Truth::kComplete, kTid, 1, 0, 12, 0, 900, 5000),
          Record(Truth::kComplete, kTid, 1, 1, 11, 0, 900, 5000)};
}

void SubmitTwo(GraphLines* graph) {
  graph->Node(7, "io_request", 1100, 3100);
  graph->Node(8, "io_request", 1200, 3000);
  graph->Edge("submit", 1, 7, 1100, 1);
  graph->Edge("submit", 1, 8, 1200, 1);
}

TEST(Score, TrueGraphIsRight) {
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("complete", 8, 1, 3000, 1);
  lines.Edge("complete", 7, 1, 3100, 1);
  const Scores scores = Score(TwoOperations(), lines.Read());
  EXPECT_EQ(scores.edges.at("observed").right, 4u);
  EXPECT_EQ(scores.FalseJoins(), 0u);
  EXPECT_EQ(scores.AllTruths().inside, 4u);
  EXPECT_DOUBLE_EQ(scores.Recall(), 1.0);
  EXPECT_DOUBLE_EQ(scores.Precision("observed"), 1.0);
  EXPECT_EQ(scores.accounts_off, 0u);
}

TEST(Score, SwappedCompletionsAreTwoFalseJoins) {
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("complete", 7, 1, 3000, 1);
  lines.Edge("complete", 8, 1, 3100, 1, "reconstructed");
  const Scores scores = Score(TwoOperations(), lines.Read());
  EXPECT_EQ(scores.edges.at("observed").wrong, 1u);
  EXPECT_EQ(scores.edges.at("reconstructed").wrong, 1u);
  EXPECT_EQ(scores.FalseJoins(), 2u);
  EXPECT_DOUBLE_EQ(scores.Recall(), 0.5);
  EXPECT_EQ(scores.AllTruths().missing, 2u);
  EXPECT_EQ(scores.AllTruths().with_orphan, 0u);
}

TEST(Score, OrphansAreMissingButNotFalse) {
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("complete", 8, 1, 3000, 1);
  lines.Orphan("complete", "take_up", 0, 3100, 1, "ambiguous");
  const Scores scores = Score(TwoOperations(), lines.Read());
  EXPECT_EQ(scores.FalseJoins(), 0u);
  EXPECT_EQ(scores.AllTruths().missing, 1u);
  EXPECT_EQ(scores.AllTruths().with_orphan, 1u);
  EXPECT_EQ(scores.orphans_by_reason.at("ambiguous"), 1u);
  EXPECT_EQ(scores.unexplained, 0u);
  EXPECT_DOUBLE_EQ(scores.Recall(), 0.75);
}

TEST(Score, SubmitWithAnEdgeAndAnOrphanIsRight) {
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("complete", 8, 1, 3000, 1);
  lines.Orphan("complete", "take_up", 0, 3100, 1, "in_coverage_break");
  lines.Orphan("submit", "hand_out", 7, 1100, 1, "in_coverage_break");
  EXPECT_EQ(Score(TwoOperations(), lines.Read()).FalseJoins(), 0u);
}

TEST(Score, UnexplainedOrphanIsCounted) {
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("complete", 8, 1, 3000, 1);
  lines.Orphan("complete", "take_up", 0, 3100, 1, "unexplained");
  EXPECT_EQ(Score(TwoOperations(), lines.Read()).unexplained, 1u);
}

TEST(Score, MergedLivesAreFalse) {
  GraphLines lines;
  lines.Node(7, "io_request", 1100, 3100);
  lines.Edge("submit", 1, 7, 1100, 1);
  lines.Edge("submit", 1, 7, 1200, 1);
  lines.Edge("complete", 7, 1, 3000, 1);
  lines.Edge("complete", 7, 1, 3100, 1);
  const Scores scores = Score(TwoOperations(), lines.Read());
  EXPECT_EQ(scores.edges.at("observed").wrong, 2u);
  EXPECT_EQ(scores.edges.at("observed").right, 2u);
}

TEST(Score, InventedEdgesAreFalse) {
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("complete", 8, 1, 3000, 1);
  lines.Edge("complete", 7, 1, 3100, 1);
  lines.Node(9, "io_request", 1300, 3200);
  lines.Edge("submit", 1, 9, 1300, 1);    // a third where two were submitted
  lines.Edge("complete", 9, 1, 6000, 1);  // outside every round
  const Scores scores = Score(TwoOperations(), lines.Read());
  EXPECT_EQ(scores.FalseJoins(), 2u);
}

TEST(Score, BatchWithALostHalfIsUndecidedNotWrong) {
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("complete", 7, 1, 3100, 1);  // the other completion was lost
  const Scores scores = Score(TwoOperations(), lines.Read());
  EXPECT_EQ(scores.FalseJoins(), 0u);
  EXPECT_EQ(scores.edges.at("observed").undecided, 1u);
  EXPECT_EQ(scores.AllTruths().undecided, 2u);
}

TEST(Score, UnreportedBatchIsMissingInSilence) {
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("wake", 1, 2, 9000, 1);
  const Scores scores = Score(TwoOperations(), lines.Read());
  EXPECT_EQ(scores.AllTruths().missing, 2u);
  EXPECT_EQ(scores.AllTruths().with_orphan, 0u);
  EXPECT_EQ(scores.outside_domain.at("wake"), 1u);
}

TEST(Score, RingsHelperCountsForTheRingsOwner) {
  auto truth = TwoOperations();
  OracleRecord helper = Record(Truth::kHelper, kWorkerTid, 0, 0, 0, 0, 0, 0);
  helper.value = kTid;
  truth.push_back(helper);
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("complete", 8, 2, 3000, 2);
  lines.Edge("complete", 7, 1, 3100, 1);
  EXPECT_EQ(Score(truth, lines.Read()).edges.at("observed").right, 4u);
}

TEST(Score, CompletionOfASilentOperationIsFalse) {
  std::vector<OracleRecord> truth = {Record(Truth::kSubmit, kTid, 1, 0, 11, 0, 1000, 2000),
                                     Record(Truth::kSubmit, kTid, 1, 1, 12, 0, 1000, 2000),
                                     Record(Truth::kComplete, kTid, 1, 0, 12, 0, 900, 5000)};
  truth[0].kind = kExpectSilence;
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("complete", 7, 1, 3000, 1);
  const Scores scores = Score(truth, lines.Read());
  EXPECT_EQ(scores.FalseJoins(), 1u);
  EXPECT_EQ(scores.silent_operations, 1u);
}

TEST(Score, BatchesOutsideTheRecordingAreNotMissing) {
  auto truth = TwoOperations();
  truth.push_back(Record(Truth::kSubmit, kTid, 2, 0, 13, 0, 8000, 9000));
  GraphLines lines;
  SubmitTwo(&lines);
  lines.Edge("complete", 8, 1, 3000, 1);
  lines.Edge("complete", 7, 1, 3100, 1);
  const Scores scores = Score(truth, lines.Read());
  EXPECT_EQ(scores.AllTruths().outside, 1u);
  EXPECT_EQ(scores.AllTruths().missing, 0u);
}

// Requests 21 and 22 use the same handle 5, one after the other. Worker 101 works for 21 over
// (10100..19900) and for 22 over (30100..39900); clocks were read 100 ns around.
std::vector<OracleRecord> TwoRequests() {
  std::vector<OracleRecord> truth = {Record(Truth::kRequestBegin, kTid, 0, 0, 21, 0, 9000, 9100),
                                     Record(Truth::kRequestEnd, kTid, 0, 0, 21, 0, 20000, 20100),
                                     Record(Truth::kRequestBegin, kTid, 0, 0, 22, 0, 29000, 29100),
                                     Record(Truth::kRequestEnd, kTid, 0, 0, 22, 0, 40000, 40100),
                                     Record(Truth::kTaskBegin, kTid, 0, 0, 31, 21, 9200, 9300),
                                     Record(Truth::kTaskBegin, kTid, 0, 0, 32, 22, 29200, 29300),
                                     Record(Truth::kHandOver, kTid, 1, 0, 31, 21, 9400, 9500),
                                     Record(Truth::kHandOver, kTid, 2, 0, 32, 22, 29400, 29500),
                                     Record(Truth::kWork, kWorkerTid, 0, 0, 0, 21, 10000, 20000),
                                     Record(Truth::kWork, kWorkerTid, 0, 0, 0, 22, 30000, 40000),
                                     Record(Truth::kWatched, kWorkerTid, 0, 0, 0, 0, 0, 50000)};
  for (OracleRecord& record : truth) {
    if (record.truth != Truth::kHandOver) record.value = 5;
    if (record.truth != Truth::kWork) continue;
    record.inner_from_ns = record.before_ns + 100;
    record.inner_to_ns = record.after_ns - 100;
  }
  return truth;
}

void DrawTwoRequests(GraphLines* lines) {
  lines->Node(3, "request", 9050, 20050, 5);
  lines->Node(4, "request", 29050, 40050, 5);
  lines->Node(5, "runtime_task", 9250, 20000, 5);
  lines->Node(6, "runtime_task", 29250, 40000, 5);
  lines->Edge("queue", 3, 5, 9450, 1, "observed", "application");
  lines->Edge("wake", 1, 2, 45000, 1);
}

TEST(Score, TrueOwnersAreRight) {
  GraphLines lines;
  DrawTwoRequests(&lines);
  lines.Edge("queue", 4, 6, 29450, 1, "observed", "application");
  lines.Binding(2, 5, 10050, 19950);
  lines.Owner(5, "3", 9250, 20000);
  lines.Binding(2, 4, 30050, 39950);
  const Scores scores = Score(TwoRequests(), lines.Read());
  EXPECT_EQ(scores.edges.at("observed").right, 2u);
  EXPECT_EQ(scores.threads.right_ns, 2 * 9800u);
  EXPECT_EQ(scores.threads.wrong_ns, 0u);
  EXPECT_EQ(scores.threads.unknown_ns, 0u);
}

TEST(Score, GuessedOwnerIsWrongForItsWholeTime) {
  GraphLines lines;
  DrawTwoRequests(&lines);
  lines.Binding(2, 3, 10050, 19950);
  lines.Binding(2, 3, 30050, 39950);  // the worker is said to go on with the first request
  const Scores scores = Score(TwoRequests(), lines.Read());
  EXPECT_EQ(scores.threads.right_ns, 9800u);
  EXPECT_EQ(scores.threads.wrong_ns, 9800u);
}

TEST(Score, WakersOwnerLeaksOverTheGap) {
  GraphLines lines;
  DrawTwoRequests(&lines);
  lines.Owner(2, "3", 10100, 30100);  // kept until the next wake
  const Scores scores = Score(TwoRequests(), lines.Read());
  EXPECT_EQ(scores.threads.right_ns, 9800u);
  EXPECT_EQ(scores.threads.wrong_ns, 10000u);  // the idle time between 20000 and 30000
  EXPECT_EQ(scores.threads.unknown_ns, 9800u);
}

TEST(Score, UnknownOwnerIsUnknownNotWrong) {
  GraphLines lines;
  DrawTwoRequests(&lines);
  const Scores scores = Score(TwoRequests(), lines.Read());
  EXPECT_EQ(scores.threads.attributed_ns, 0u);
  EXPECT_EQ(scores.threads.unknown_ns, 2 * 9800u);
}

TEST(Score, InnermostBindingCounts) {
  GraphLines lines;
  DrawTwoRequests(&lines);
  lines.Binding(2, 4, 10000, 20000);  // an outer binding of the wrong request
  lines.Binding(2, 3, 10050, 19950);
  const Scores scores = Score(TwoRequests(), lines.Read());
  EXPECT_EQ(scores.threads.right_ns, 9800u);
  EXPECT_EQ(scores.threads.wrong_ns, 0u);
}

TEST(Score, UnknownInnermostBindingHidesTheOuterOne) {
  GraphLines lines;
  DrawTwoRequests(&lines);
  lines.Binding(2, 4, 10000, 20000);  // of the wrong request
  lines.Binding(2, 0, 10050, 19950, "unknown");
  const Scores scores = Score(TwoRequests(), lines.Read());
  EXPECT_EQ(scores.threads.wrong_ns, 0u);
  EXPECT_EQ(scores.threads.unknown_ns, 2 * 9800u);
}

TEST(Score, HandOverToAnEarlierLifeOfTheHandleIsFalse) {
  GraphLines lines;
  DrawTwoRequests(&lines);
  lines.Edge("queue", 4, 5, 29450, 1, "observed", "application");
  const Scores scores = Score(TwoRequests(), lines.Read());
  EXPECT_EQ(scores.FalseJoins(), 1u);
  EXPECT_EQ(scores.edges.at("observed").right, 1u);
}

TEST(Score, NamingTheOwnerOfAnotherOperationIsFalse) {
  auto truth = TwoRequests();
  truth.push_back(Record(Truth::kSubmit, kTid, 9, 0, 51, 21, 10000, 10400));
  truth.push_back(Record(Truth::kSubmit, kTid, 9, 1, 52, 22, 10000, 10400));
  GraphLines lines;
  DrawTwoRequests(&lines);
  lines.Node(9, "io_request", 10200, 11200);
  lines.Node(10, "io_request", 10300, 11200);
  lines.Edge("submit", 1, 9, 10200, 1);
  lines.Edge("submit", 1, 10, 10300, 1);
  lines.Edge("submit", 3, 9, 9900, 1, "observed", "application");
  lines.Edge("submit", 3, 10, 9950, 1, "observed", "application");
  const Scores scores = Score(truth, lines.Read());
  EXPECT_EQ(scores.FalseJoins(), 1u);
  EXPECT_EQ(scores.edges.at("observed").right, 4u);
}

TEST(Score, OwnerOfAnOperationIsCheckedOverItsLife) {
  auto truth = TwoRequests();
  truth.push_back(Record(Truth::kSubmit, kTid, 9, 0, 51, 21, 10000, 10400));
  truth.push_back(Record(Truth::kComplete, kTid, 9, 0, 51, 0, 9900, 12000));
  GraphLines lines;
  DrawTwoRequests(&lines);
  lines.Node(9, "io_request", 10200, 11200);
  lines.Edge("submit", 1, 9, 10200, 1);
  lines.Edge("complete", 9, 1, 11200, 1);
  lines.Owner(9, "3", 10200, 10600);
  lines.Owner(9, "4", 10600, 10700);
  const Scores scores = Score(truth, lines.Read());
  EXPECT_EQ(scores.operations_owner.right_ns, 400u);
  EXPECT_EQ(scores.operations_owner.wrong_ns, 100u);
  EXPECT_EQ(scores.operations_owner.unknown_ns, 500u);
}

TEST(Score, WallIsHeldAgainstTheWorkloadsOwnClock) {
  GraphLines lines;
  lines.Node(3, "request", 9050, 20050, 5);
  lines.State(3, "running", 9050, 12050);
  lines.State(3, "unknown", 12050, 20050);
  lines.Node(4, "request", 29050, 38000, 5);  // ends 2 us early, and its states leave a hole
  lines.State(4, "running", 29050, 30000);
  lines.Edge("wake", 1, 2, 500, 2);
  lines.Edge("wake", 1, 2, 45000, 1);
  const Scores scores = Score(TwoRequests(), lines.Read());
  EXPECT_EQ(scores.requests, 2u);
  EXPECT_EQ(scores.requests_matched, 2u);
  EXPECT_EQ(scores.requests_off, 1u);
  EXPECT_EQ(scores.states_not_adding, 1u);
}

TEST(GraphText, BrokenLineIsRefusedWithItsNumber) {
  std::stringstream text("{\"t\":\"header\",\"t0_ns\":\"1\"}\n{\"t\":\"edge\",\n");
  const auto graph = ReadGraphText(text);
  ASSERT_FALSE(graph.has_value());
  EXPECT_NE(graph.error().message.find("line 2"), std::string::npos);
}

TEST(GraphText, LineBeforeTheHeaderIsRefused) {
  std::stringstream text("{\"t\":\"owner\",\"node\":1,\"requests\":[]}\n");
  EXPECT_FALSE(ReadGraphText(text).has_value());
}

}  // namespace
}  // namespace cprof::causality
