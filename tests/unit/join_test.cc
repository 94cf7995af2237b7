// The join pass as a whole: its accounts hold for any input, and show a mistake of its own.
#include "report/join.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/adapters/event_builder.h"

namespace cprof {
namespace {

// Ten thousand lives of a handful of objects, all with the same user_data.
void AddReuse(JoinRun* run) {
  run->Create(100);
  uint64_t time_ns = 1000;
  for (int round = 0; round < 2500; ++round) {
    for (uint64_t i = 0; i < 4; ++i) run->Submit(time_ns += 10, 0x10 + i, 0x2a);
    for (uint64_t i = 4; i-- > 0;) run->Complete(time_ns += 10, 0x10 + i, 0x2a);
  }
}

TEST(Join, ObjectsReusedThousandsOfTimesAreJoinedByGeneration) {
  JoinRun run;
  AddReuse(&run);
  run.Run();
  EXPECT_EQ(run.graph.summary.half_edges, 20000u);
  EXPECT_EQ(run.graph.summary.joined, 20000u);
  EXPECT_EQ(run.CountEdges(EdgeType::kSubmit, Confidence::kObserved), 10000u);
  ASSERT_EQ(run.CountEdges(EdgeType::kComplete, Confidence::kObserved), 10000u);
  for (const Edge& edge : run.graph.edges) {
    if (edge.type != EdgeType::kComplete) continue;
    // Within a round the i-th submit of four is the i-th completion from the end.
    const uint64_t place = edge.src_event.sequence - 1;
    EXPECT_EQ(edge.dst_event.sequence - 1, place / 8 * 8 + 7 - place % 8);
  }
}

TEST(Join, PlantedBugIsUnexplained) {
  JoinRun run;
  run.options.planted_bug = JoinOptions::PlantedBug::kMissesRequests;
  AddReuse(&run);
  run.Run();
  EXPECT_GT(run.CountOrphans(OrphanReason::kUnexplained), 0u);
  EXPECT_EQ(run.graph.summary.half_edges, run.graph.summary.joined + run.graph.summary.orphans);
}

TEST(Join, WithoutThePlantedBugNothingIsUnexplained) {
  JoinRun run;
  AddReuse(&run);
  run.Run();
  EXPECT_EQ(run.CountOrphans(OrphanReason::kUnexplained), 0u);
}

TEST(Join, EqualTimesOnOneObjectTakeTheOrderThatItsLivesAccept) {
  JoinRun run;
  run.Create(100);
  run.Submit(200, 0x10, 1);
  // The completion on CPU 1 and the next submit on CPU 0 are stamped alike; the streams' order
  // would put the submit first.
  run.Submit(300, 0x10, 1);
  Event& end = run.Complete(300, 0x10, 1);
  end.stream = 1;
  run.Complete(400, 0x10, 1);
  run.Run();
  EXPECT_EQ(run.CountOrphans(OrphanReason::kUnexplained), 0u);
  EXPECT_EQ(run.CountEdges(EdgeType::kComplete, Confidence::kObserved), 2u);
}

TEST(Join, VerbOfALaterVersionIsCountedAndJoinsNothing) {
  JoinRun run;
  run.Add(Verb{0x7f}, 100);
  run.Run();
  EXPECT_EQ(run.graph.summary.events, 1u);
  EXPECT_EQ(run.graph.summary.lifecycle, 1u);
  EXPECT_EQ(run.graph.summary.half_edges, 0u);
}

// Whatever a file holds: no crash, every half-edge in one place, every edge between known nodes.
TEST(Join, AccountsHoldForAnyEvents) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 generator(seed);
    const auto random = [&] { return static_cast<uint32_t>(generator()); };
    JoinRun run;
    if (seed % 3 == 0) run.header.target_tgids = {40};
    uint64_t time_ns = 1000;
    for (int i = 0; i < 400; ++i) {
      const auto verbs = AllVerbs();
      const VerbInfo& info = verbs[random() % verbs.size()];
      if (info.role == Role::kSample) continue;
      Event& event = run.Add(info.verb, time_ns += random() % 3);
      event.stream = random() % 3;
      event.level = static_cast<Level>(random() % 5);
      event.tid = random() % 4;
      event.tgid = 40 + random() % 2;
      event.start_time_ns = random() % 3;
      event.key.lo = random() % 4;
      event.key2.lo = random() % 4;
      event.arg = random() % 4;
      event.arg2 = random() % 4 == 0 ? random() : uint64_t{random() % 16} << 32 | random() % 60;
    }
    for (int i = 0; i < 3; ++i) {
      const uint64_t from_ns = 1000 + random() % 400;
      run.Lose(from_ns, from_ns + random() % 100, {random() % 4, random() % 4},
               {{static_cast<Verb>(1 + random() % 0x50), 1 + random() % 5}});
    }
    run.Run();
    const GraphSummary& summary = run.graph.summary;
    EXPECT_EQ(summary.half_edges, summary.joined + summary.orphans) << "seed " << seed;
    EXPECT_EQ(summary.events, summary.half_edges + summary.lifecycle) << "seed " << seed;
    for (const Edge& edge : run.graph.edges) {
      EXPECT_NE(run.graph.NameOf(edge.src), "") << "seed " << seed;
      EXPECT_NE(run.graph.NameOf(edge.dst), "") << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace cprof
