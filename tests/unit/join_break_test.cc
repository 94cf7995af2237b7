// What a break does to joins: touched ones are kept only where user_data can confirm them.
#include <gtest/gtest.h>

#include "tests/adapters/event_builder.h"

namespace cprof {
namespace {

constexpr std::pair<Verb, uint64_t> kOneSubmit{verbs::kIoUringSubmit, 1};
constexpr std::pair<Verb, uint64_t> kOneComplete{verbs::kIoUringComplete, 1};

// `births` requests with user_data of their own, one after the other, on object 0x10; returns when.
uint64_t AddHistory(JoinRun* run, uint64_t births, bool unique = true) {
  run->Create(100);
  uint64_t time_ns = 1000;
  for (uint64_t i = 0; i < births; ++i) {
    const uint64_t user_data = unique ? 0x1000 + i : 0x1000 + i % 48;
    run->Submit(time_ns += 10, 0x10, user_data);
    run->Complete(time_ns += 10, 0x10, user_data);
  }
  return time_ns;
}

// One request over a break that lost a completion and a submit of its object.
void AddTouched(JoinRun* run, uint64_t time_ns, uint64_t user_data, uint64_t lost = 1) {
  run->Submit(time_ns + 100, 0x10, user_data);
  run->Lose(time_ns + 200, time_ns + 300, {0x10, 0x77},
            {{verbs::kIoUringSubmit, lost}, {verbs::kIoUringComplete, lost}});
  run->Complete(time_ns + 400, 0x10, user_data);
}

TEST(JoinBreak, TouchedJoinIsReconstructedWhereUserDataIsUnique) {
  JoinRun run;
  AddTouched(&run, AddHistory(&run, 80), 0x9999);
  run.Run();
  ASSERT_EQ(run.CountEdges(EdgeType::kComplete, Confidence::kReconstructed), 1u);
  const Edge& edge = run.graph.edges.back();
  EXPECT_STREQ(edge.rule, "user-data-unique");
  EXPECT_EQ(edge.breaks, std::vector<BreakId>{1});
  EXPECT_EQ(run.graph.summary.orphans, 0u);
}

TEST(JoinBreak, TouchedJoinIsRefusedWhereUserDataRepeats) {
  JoinRun run;
  AddTouched(&run, AddHistory(&run, 80, false), 0x9999);
  run.Run();
  EXPECT_EQ(run.CountEdges(EdgeType::kComplete, Confidence::kReconstructed), 0u);
  EXPECT_EQ(run.CountOrphans(OrphanReason::kInCoverageBreak), 2u);
}

TEST(JoinBreak, TouchedJoinIsRefusedBeforeUserDataHasShownItself) {
  JoinRun run;
  AddTouched(&run, AddHistory(&run, 40), 0x9999);
  run.Run();
  EXPECT_EQ(run.CountOrphans(OrphanReason::kInCoverageBreak), 2u);
}

TEST(JoinBreak, TouchedJoinIsRefusedWhereMoreWasLostThanSeen) {
  JoinRun run;
  AddTouched(&run, AddHistory(&run, 80), 0x9999, 30);
  run.Run();
  EXPECT_EQ(run.CountOrphans(OrphanReason::kInCoverageBreak), 2u);
}

TEST(JoinBreak, TouchedJoinIsRefusedWhereUserDataDisagrees) {
  JoinRun run;
  const uint64_t time_ns = AddHistory(&run, 80);
  run.Submit(time_ns + 100, 0x10, 0x9998);
  run.Lose(time_ns + 200, time_ns + 300, {0x10, 0x77}, {kOneSubmit, kOneComplete});
  run.Complete(time_ns + 400, 0x10, 0x9999);
  run.Run();
  EXPECT_EQ(run.CountEdges(EdgeType::kComplete, Confidence::kReconstructed), 0u);
  EXPECT_EQ(run.CountOrphans(OrphanReason::kInCoverageBreak), 2u);
}

TEST(JoinBreak, JoinStaysObservedWhereOneOfBirthAndEndCannotBeLost) {
  for (const auto& lost : {kOneSubmit, kOneComplete}) {
    JoinRun run;
    run.Create(100);
    run.Submit(200, 0x10, 1);
    run.Lose(300, 400, {0x10, 0x77}, {lost});
    run.Complete(500, 0x10, 1);
    run.Run();
    EXPECT_EQ(run.CountEdges(EdgeType::kComplete, Confidence::kObserved), 1u);
  }
}

TEST(JoinBreak, JoinStaysObservedOutsideTheBreakAndWithAnotherBit) {
  JoinRun run;
  run.Create(100);
  run.Lose(300, 400, {0x20, 0x77}, {kOneSubmit, kOneComplete});
  run.Submit(200, 0x10, 1);
  run.Complete(500, 0x10, 1);
  run.Submit(510, 0x20, 1);
  run.Complete(520, 0x20, 1);
  run.Run();
  EXPECT_EQ(run.CountEdges(EdgeType::kComplete, Confidence::kObserved), 2u);
  EXPECT_EQ(run.graph.summary.orphans, 0u);
}

TEST(JoinBreak, BirthAndEndLostInTwoBreaksTouchTogether) {
  JoinRun run;
  run.Create(100);
  run.Submit(200, 0x10, 1);
  run.Lose(300, 310, {0x10, 0x77}, {kOneComplete}, 0);
  run.Lose(320, 330, {0x10, 0x77}, {kOneSubmit}, 1);
  run.Complete(500, 0x10, 1);
  run.Run();
  EXPECT_EQ(run.CountOrphans(OrphanReason::kInCoverageBreak), 2u);
  ASSERT_FALSE(run.graph.orphans.empty());
  EXPECT_NE(run.graph.orphans[0].proof.find("break 1, break 2"), std::string::npos);
}

TEST(JoinBreak, LostOverflowIsAnEndOfAnyRequestOfItsRing) {
  JoinRun run;
  run.Create(100);
  run.Submit(200, 0x10, 1);
  run.Lose(300, 310, {0, 0x77}, {{verbs::kIoUringOverflow, 1}}, 0);
  run.Lose(320, 330, {0x10, 0x88}, {kOneSubmit}, 1);
  run.Complete(500, 0x10, 1);
  run.Run();
  EXPECT_EQ(run.CountOrphans(OrphanReason::kInCoverageBreak), 2u);
}

TEST(JoinBreak, DamagedChunkMayHaveLostAnything) {
  JoinRun run;
  run.Create(100);
  run.Submit(200, 0x10, 1);
  run.Lose(300, 310, {}, {});
  run.Complete(500, 0x10, 1);
  run.Run();
  // Without a signature no key can be among the lost; the all-ones one of a damaged chunk is next.
  EXPECT_EQ(run.CountEdges(EdgeType::kComplete, Confidence::kObserved), 1u);

  JoinRun damaged;
  damaged.Create(100);
  damaged.Submit(200, 0x10, 1);
  std::vector<uint64_t> all_keys;
  for (uint64_t key = 0; key < 4096; ++key) all_keys.push_back(key);
  damaged.Lose(300, 310, all_keys, {});
  damaged.Complete(500, 0x10, 1);
  damaged.Run();
  EXPECT_EQ(damaged.CountOrphans(OrphanReason::kInCoverageBreak), 2u);
}

// A multishot that is armed again and again with the same user_data, as servers do.
TEST(JoinBreak, MultishotThatMayHaveBeenArmedAnewIsNotJoined) {
  for (const bool end_lost : {true, false}) {
    JoinRun run;
    run.Create(100);
    run.Submit(200, 0x10, 5, 27);
    if (end_lost) {
      run.Lose(300, 400, {0x10, 0x77}, {kOneSubmit, kOneComplete});
    } else {
      run.Lose(300, 400, {0x20, 0x77}, {kOneSubmit});
    }
    run.Complete(500, 0, 5, 2);
    run.Run();
    EXPECT_EQ(run.CountEdges(EdgeType::kComplete, Confidence::kReconstructed), end_lost ? 0u : 1u);
  }
}

TEST(JoinBreak, MultishotOfAnOlderRingIsNotJoinedWhereUserDataIsShared) {
  for (const bool shared : {true, false}) {
    JoinRun run;  // no create: the ring existed at arming
    run.Submit(100, 0x20, 5, 27);
    run.Submit(110, 0x30, shared ? 5 : 6, 27);
    run.Complete(120, 0x20, 5);
    run.Complete(130, 0x30, shared ? 5 : 6);
    run.Submit(200, 0x10, 5, 27);
    run.Complete(500, 0, 5, 2);
    run.Run();
    EXPECT_EQ(run.CountEdges(EdgeType::kComplete, Confidence::kReconstructed), shared ? 0u : 1u);
    EXPECT_EQ(run.CountOrphans(OrphanReason::kAmbiguous), shared ? 1u : 0u);
  }
}

TEST(JoinBreak, WorkerBindingWithAPossiblyLostEndIsUnknown) {
  for (const bool lossy : {true, false}) {
    JoinRun run;
    run.Create(100);
    run.Submit(200, 0x10, 1);
    Event& work = run.Add(verbs::kIoUringWorkRun, 300);
    work.tid = 50;
    work.start_time_ns = 1050;
    work.key.lo = 0x10;
    work.key2.lo = 0x77;
    if (lossy) run.Lose(310, 320, {0x10, 0x77}, {{verbs::kIoUringWorkRun, 1}});
    run.Complete(400, 0x10, 1);
    run.Run();
    ASSERT_EQ(run.graph.bindings.size(), 1u);
    EXPECT_EQ(run.graph.bindings[0].confidence,
              lossy ? Confidence::kUnknown : Confidence::kObserved);
  }
}

TEST(JoinBreak, ResumeIsNotToldWhereCompletionsWereLost) {
  for (const bool lossy : {true, false}) {
    JoinRun run;
    run.Create(100);
    run.Submit(200, 0x10, 1);
    Event& first = run.Add(verbs::kIoUringCqWait, 300);
    first.key2.lo = 0x77;
    run.Complete(400, 0x10, 1);
    Event& second = run.Add(verbs::kIoUringCqWait, 500);
    second.key2.lo = 0x77;
    second.arg2 = 1 | uint64_t{1} << 32;
    if (lossy) run.Lose(310, 320, {0x20, 0x77}, {kOneComplete});
    run.Run();
    EXPECT_EQ(run.CountEdges(EdgeType::kResume, Confidence::kReconstructed), lossy ? 0u : 1u);
  }
}

}  // namespace
}  // namespace cprof
