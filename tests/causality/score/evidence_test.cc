// Losses, capabilities, seeds and explanations: what a score rests on beside log and graph.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/causality/score/capability.h"
#include "tests/causality/score/explain.h"
#include "tests/causality/score/losses.h"
#include "tests/causality/score/score_cases.h"
#include "tests/causality/score/score_text.h"

namespace cprof::causality {
namespace {

using Sight = Capability::Sight;

// Three operations in one enter; they complete one after another in one round.
std::vector<OracleRecord> ThreeOperations() {
  std::vector<OracleRecord> truth;
  for (uint32_t i = 0; i < 3; ++i) {
    truth.push_back(Record(Truth::kSubmit, kTid, 1, i, 11 + i, 0, 1000, 2000));
    truth.push_back(Record(Truth::kComplete, kTid, 1, i, 11 + i, 0, 900, 5000));
  }
  return truth;
}

// lost: the completion that is not there, 3 for none.
Graph DrawThree(uint32_t lost) {
  GraphLines lines;
  for (uint32_t i = 0; i < 3; ++i) {
    lines.Node(7 + i, "io_request", 1100 + i, 3000 + i);
    lines.Edge("submit", 1, 7 + i, 1100 + i, 1);
    if (i != lost) lines.Edge("complete", 7 + i, 1, 3000 + i, 1);
  }
  return lines.Read();
}

TEST(Losses, LostCompletionDoesNotShiftItsNeighbours) {
  const Graph whole = DrawThree(3), lossy = DrawThree(0);
  const Scores blind = Score(ThreeOperations(), lossy);
  EXPECT_EQ(blind.truths.at("complete").undecided, 3u);
  ScoreOptions options;
  options.lossless = &whole;
  const Scores scores = Score(ThreeOperations(), lossy, options);
  EXPECT_EQ(scores.truths.at("complete").undecided, 0u);
  EXPECT_EQ(scores.truths.at("complete").found, 2u);
  EXPECT_EQ(scores.truths.at("complete").missing, 1u);
  EXPECT_EQ(scores.FalseJoins(), 0u);
}

TEST(Losses, JoinAcrossALossIsStillFalse) {
  const Graph whole = DrawThree(3);
  GraphLines lines;
  for (uint32_t i = 0; i < 3; ++i) {
    lines.Node(7 + i, "io_request", 1100 + i, 3000);
    lines.Edge("submit", 1, 7 + i, 1100 + i, 1);
  }
  lines.Edge("complete", 7, 1, 3001, 1);  // 3000 was lost, and its neighbour taken for it
  ScoreOptions options;
  options.lossless = &whole;
  EXPECT_EQ(Score(ThreeOperations(), lines.Read(), options).FalseJoins(), 1u);
}

TEST(Losses, RecallOfWhatWasKeptLeavesLostHalvesOut) {
  const Graph whole = DrawThree(3), lossy = DrawThree(0);
  Losses losses;
  losses.events.insert("0.3000");
  ScoreOptions options;
  options.lossless = &whole;
  options.losses = &losses;
  const TruthScore score = Score(ThreeOperations(), lossy, options).truths.at("complete");
  EXPECT_EQ(score.kept, 2u);
  EXPECT_EQ(score.kept_found, 2u);
}

constexpr char kScript[] =
    "!header session_id=1 t0_ns=0 cpus=4 target=1\n"
    "!stream id=0 name=edge.cpu0\n"
    "!stream id=2 name=recorder\n"
    "1.000000100 edge.cpu0.1 1/1@1 task sched:waking\n"
    "1.000000200 edge.cpu0.2 1/1@1 task sched:waking\n"
    "1.000000300 edge.cpu0.3 1/1@1 task sched:waking\n"
    "1.000000400 edge.cpu0.4 1/1@1 task sched:waking\n"
    "1.000000400 recorder.1 0/0@0 task recorder:thread\n";

TEST(Losses, AreFoundByComparingTwoScripts) {
  std::stringstream whole(kScript);
  std::stringstream kept(
      "1.000000100 edge.cpu0.1 1/1@1 task sched:waking\n"
      "1.000000400 edge.cpu0.4 1/1@1 task sched:waking\n");
  const auto losses = FindLosses(whole, kept);
  ASSERT_TRUE(losses.has_value());
  EXPECT_EQ(losses->count, 2u);
  EXPECT_EQ(losses->cpus, 4u);
  EXPECT_EQ(losses->events, (std::set<std::string>{"0.2", "0.3"}));
  EXPECT_DOUBLE_EQ(losses->lossy_ns, 300);
  EXPECT_TRUE(losses->spans.Hold(1000000250));
  EXPECT_FALSE(losses->spans.Hold(1000000450));
}

TEST(Losses, WholeRecordingMustHoldSomething) {
  std::stringstream whole("!header cpus=1\n"), kept("");
  EXPECT_FALSE(FindLosses(whole, kept).has_value());
}

TEST(Losses, BreakOfNoCpuSpeaksOfThemAll) {
  Losses losses;
  losses.cpus = 4;
  ScoreOptions options;
  options.losses = &losses;
  GraphLines one, all;
  one.Break("edge.cpu1", 100, 200, 5);
  one.Break("edge.cpu1", 150, 300, 5);  // overlaps: the time counts once
  EXPECT_DOUBLE_EQ(Score({}, one.Read(), options).break_cpu_ns, 200);
  all.Break("stream4294967295", 100, 300, 5);
  EXPECT_DOUBLE_EQ(Score({}, all.Read(), options).break_cpu_ns, 800);
}

TEST(Capability, TheMostSpecialRowCounts) {
  std::stringstream text(
      "ring * * yes seen\n"
      "ring * resume no cannot be   # said by nobody\n"
      "ring twins multishot no equal names\n"
      "disk * * no-adapter none yet\n"
      "disk * wake yes seen\n");
  const auto table = Capability::Read(text);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->Of("ring", "plain", "submit"), Sight::kYes);
  EXPECT_EQ(table->Of("ring", "plain", "resume"), Sight::kNo);
  EXPECT_EQ(table->Of("ring", "plain", "multishot"), Sight::kYes);
  EXPECT_EQ(table->Of("ring", "twins", "multishot"), Sight::kNo);
  EXPECT_TRUE(table->HasAdapter("ring", "plain"));
  EXPECT_EQ(table->Of("disk", "plain", "block"), Sight::kNoAdapter);
  EXPECT_EQ(table->Of("disk", "plain", "wake"), Sight::kYes);
  EXPECT_FALSE(table->HasAdapter("disk", "plain"));
  EXPECT_EQ(table->Of("unheard of", "plain", "wake"), Sight::kYes);  // nothing is excused
}

TEST(Capability, RowWithoutAReasonIsRefused) {
  for (const char* line : {"ring * * yes\n", "ring * * maybe why\n", "ring * colour yes why\n"}) {
    std::stringstream text(line);
    EXPECT_FALSE(Capability::Read(text).has_value()) << line;
  }
}

TEST(Capability, CommittedTableIsOne) {
  std::ifstream file(CPROF_CAPABILITY);
  const auto table = Capability::Read(file);
  ASSERT_TRUE(table.has_value()) << table.error().message;
  EXPECT_TRUE(table->HasAdapter("io_uring", "plain"));
  EXPECT_FALSE(table->HasAdapter("block", "plain"));
}

TEST(Capability, WhatNoHookSeesIsMissingButNotHeldAgainstRecall) {
  std::stringstream text("ring * complete no cannot be\nring * * yes seen\n");
  const auto table = Capability::Read(text);
  ScoreOptions options;
  options.capability = &*table;
  options.mechanism = "ring";
  const Graph whole = DrawThree(3);
  options.lossless = &whole;
  const TruthScore all = Score(ThreeOperations(), DrawThree(0), options).AllTruths();
  EXPECT_EQ(all.missing, 1u);
  EXPECT_EQ(all.visible, 3u);
  EXPECT_EQ(all.visible_found, 3u);
}

TEST(Explain, FalseJoinIsToldWithBothSides) {
  GraphLines lines;
  for (uint32_t i = 0; i < 3; ++i) {
    lines.Node(7 + i, "io_request", 1100 + i, 3000);
    lines.Edge("submit", 1, 7 + i, 1100 + i, 1);
    lines.Edge("complete", 9 - i, 1, 3000 + i, 1);  // the other way round
  }
  const Graph graph = lines.Read();
  const auto truth = ThreeOperations();
  const Scored scored = ScoreGraph(truth, graph, {});
  const std::string text = Explain(truth, graph, scored, Question::kFalseJoins, 1);
  EXPECT_EQ(
      text,
      "2 false joins\n"
      "complete edge, kernel observed: io_request 9 (tid 100) at 3000 (event 0.3000) to thread "
      "1 (tid 100) at 3000 (event 0.3000)\n"
      "  its node was submitted as another operation\n"
      "  truth: operation 11 completed for tid 100 in [900, 5000], number 0 of its round\n");
  const std::string missing = Explain(truth, graph, scored, Question::kMissing, 1);
  EXPECT_EQ(missing,
            "2 missing edges\n"
            "complete operation 11 completed for tid 100 in [900, 5000], number 0 of its round\n"
            "  the graph shows nothing for it\n");
}

TEST(Explain, WrongOwnerIsToldTheLongestFirst) {
  std::vector<OracleRecord> truth = {Record(Truth::kRequestBegin, kTid, 0, 0, 21, 0, 900, 950),
                                     Record(Truth::kWatched, kWorkerTid, 0, 0, 0, 0, 0, 9000)};
  truth[0].value = 5;
  GraphLines lines;
  lines.Node(3, "request", 920, 9000, 5);
  lines.Binding(2, 3, 2000, 2100);
  lines.Binding(2, 3, 3000, 4000);
  lines.Edge("wake", 1, 2, 8000, 1);
  const Graph graph = lines.Read();
  const Scored scored = ScoreGraph(truth, graph, {});
  EXPECT_EQ(Explain(truth, graph, scored, Question::kOwners, 1),
            "2 stretches with a wrong owner, the longest first\n"
            "thread 101 over [3000, 4000], 1000 ns\n"
            "  graph: request 21\n"
            "  truth: nobody's\n");
}

TEST(ScoreJson, HoldsPooledCountsAndTheSpreadOverSeeds) {
  const Scores good = Score(ThreeOperations(), DrawThree(3));
  Scores bad = good;
  bad.edges.at("observed").wrong = 3;
  bad.edges.at("observed").right = 3;
  const auto text = ScoresAsJson({good, bad}, {{"tool", "x"}}, R"({"bytes":12})");
  ASSERT_TRUE(text.has_value());
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json["labels"]["tool"], "x");
  EXPECT_EQ(json["runs"], 2);
  EXPECT_EQ(json["overhead"]["bytes"], 12);
  EXPECT_EQ(json["false_joins"]["observed"]["count"], 3);
  EXPECT_EQ(json["false_joins"]["observed"]["judged"], 12);
  EXPECT_DOUBLE_EQ(json["scores"]["precision_observed"]["value"].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(json["scores"]["precision_observed"]["mean"].get<double>(), 0.75);
  EXPECT_LT(json["scores"]["precision_observed"]["low"].get<double>(), 0.5);
  EXPECT_TRUE(json["scores"]["precision_inferred"]["value"].is_null());
}

TEST(ScoreJson, OverheadThatIsNoObjectIsRefused) {
  EXPECT_FALSE(ScoresAsJson({Scores()}, {}, "12").has_value());
  EXPECT_FALSE(ScoresAsJson({Scores()}, {}, "{").has_value());
}

}  // namespace
}  // namespace cprof::causality
