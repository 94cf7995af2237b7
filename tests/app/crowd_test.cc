// Many threads, many events, handlers in between: what is attempted is an event or a counted loss.
#include <gtest/gtest.h>

#include <set>

#include "record/app_ring.h"
#include "record/procfs.h"
#include "tests/app/harness.h"

namespace cprof {
namespace {

// Every sequence number of a stream is used once, and the holes are as many as the losses say.
void ExpectHolesAreLosses(AppRecorder& recorder, uint32_t tgid, uint64_t attempted) {
  std::map<StreamId, std::set<uint64_t>> sequences;
  for (const Event& event : recorder.collected().EventsOf(tgid)) {
    EXPECT_TRUE(sequences[event.stream].insert(event.sequence).second);
  }
  std::map<StreamId, uint64_t> lost;
  for (const Break& each : recorder.collected().BreaksOf(tgid)) lost[each.stream] += each.total;
  std::vector<RoundMark::Counter> counters;
  recorder.rings().AppendCounters(&counters);
  uint64_t sum = 0;
  for (const RoundMark::Counter& counter : counters) {
    EXPECT_EQ(counter.attempted, sequences[counter.stream].size() + lost[counter.stream]);
    EXPECT_EQ(counter.lost, lost[counter.stream]);
    if (!sequences[counter.stream].empty()) {
      EXPECT_LT(*sequences[counter.stream].rbegin(), counter.attempted);
    }
    sum += counter.attempted;
  }
  EXPECT_EQ(sum, attempted);
}

// Memory that the process shares with others, of which rings are all that there is.
uint64_t SharedKilobytes(uint32_t tgid) {
  const std::string path = "/proc/" + std::to_string(tgid) + "/status";
  const std::string text = ReadSmallFile(path, 1 << 16).value_or("");
  const size_t at = text.find("RssShmem:");
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 9, nullptr, 10);
}

TEST(AppCrowdTest, TenThousandShortThreadsUseFewRings) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  recorder.StartSweeping();
  const uint64_t attempted = target.AskNumber("threads 10000 6");
  EXPECT_EQ(attempted, 60000u);
  EXPECT_TRUE(recorder.WaitFor(target.tgid(), attempted));
  recorder.Finish();
  const std::vector<Event> events = recorder.collected().EventsOf(target.tgid());
  EXPECT_EQ(events.size(), attempted);
  std::map<std::pair<uint32_t, uint64_t>, std::set<uint64_t>> ids_of_thread;
  std::set<StreamId> streams;
  for (const Event& event : events) {
    ids_of_thread[{event.tid, event.start_time_ns}].insert(event.key.lo);
    streams.insert(event.stream);
  }
  // Each thread emitted for one id of its own: none was taken for another.
  EXPECT_EQ(ids_of_thread.size(), 10000u);
  for (const auto& [thread, ids] : ids_of_thread) EXPECT_EQ(ids.size(), 1u);
  EXPECT_LT(streams.size(), 512u);
  ExpectHolesAreLosses(recorder, target.tgid(), attempted);
}

TEST(AppCrowdTest, MoreThreadsThanRingsAreCounted) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  recorder.StartSweeping();
  const uint64_t attempted = target.AskNumber("parallel 600 10");
  EXPECT_TRUE(recorder.WaitFor(target.tgid(), attempted));
  recorder.Finish();
  EXPECT_EQ(recorder.collected().LostBy(target.tgid()), (600u - 511u) * 10u);
  ExpectHolesAreLosses(recorder, target.tgid(), attempted);
}

TEST(AppCrowdTest, AFullRingLosesExactlyWhatItCounts) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  const uint64_t attempted = target.AskNumber("emit 100001");
  recorder.Finish();
  const std::vector<Event> events = recorder.collected().EventsOf(target.tgid());
  const std::vector<Break> breaks = recorder.collected().BreaksOf(target.tgid());
  ASSERT_EQ(breaks.size(), 1u);
  const Break& lost = breaks[0];
  EXPECT_EQ(lost.reason, BreakReason::kRingFull);
  EXPECT_EQ(lost.total, attempted - events.size());
  EXPECT_GT(events.size(), 3000u);
  EXPECT_LE(events.back().time_ns, lost.from_ns);
  EXPECT_EQ(lost.signature, SignatureBit(1) | SignatureBit(0));
  uint64_t enters = 0, leaves = 0;
  for (const Event& event : events) (event.verb == verbs::kAppEnter ? enters : leaves) += 1;
  const std::vector<std::pair<Verb, uint64_t>> expected = {{verbs::kAppEnter, 50001 - enters},
                                                           {verbs::kAppLeave, 50000 - leaves}};
  EXPECT_EQ(lost.lost, expected);
  ExpectHolesAreLosses(recorder, target.tgid(), attempted);
}

TEST(AppCrowdTest, LossesBetweenSweepsAreBreaksOfTheirOwn) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  uint64_t attempted = 0;
  for (int round = 0; round < 5; ++round) {
    attempted += target.AskNumber("emit " + std::to_string(CPROF_RING_EVENTS_ + 1000));
    EXPECT_TRUE(recorder.SweepOnce());
  }
  recorder.Finish();
  const std::vector<Break> breaks = recorder.collected().BreaksOf(target.tgid());
  ASSERT_EQ(breaks.size(), 5u);
  for (size_t i = 1; i < breaks.size(); ++i) EXPECT_GT(breaks[i].from_ns, breaks[i - 1].to_ns);
  ExpectHolesAreLosses(recorder, target.tgid(), attempted);
}

TEST(AppCrowdTest, WhatComesAfterTheCutIsNeitherRecordedNorLost) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  const uint64_t attempted = target.AskNumber("emit 10");
  recorder.rings().Cut();
  // The flag is still up, and the ring overflows.
  target.AskNumber("emit 100000");
  recorder.Finish();
  EXPECT_EQ(recorder.collected().EventsOf(target.tgid()).size(), attempted);
  EXPECT_TRUE(recorder.collected().BreaksOf(target.tgid()).empty());
  ExpectHolesAreLosses(recorder, target.tgid(), attempted);
}

TEST(AppCrowdTest, LossesBeforeTheCutCountAndLaterOnesDoNot) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  const uint64_t attempted = target.AskNumber("emit 100000");
  const uint64_t cut_ns = KernelNowNs();
  recorder.rings().Cut();
  target.AskNumber("emit 50000");
  recorder.SweepOnce();
  target.AskNumber("emit 50000");
  recorder.Finish();
  const std::vector<Break> breaks = recorder.collected().BreaksOf(target.tgid());
  ASSERT_EQ(breaks.size(), 1u);
  EXPECT_LE(breaks[0].to_ns, cut_ns);
  ExpectHolesAreLosses(recorder, target.tgid(), attempted);
}

TEST(AppCrowdTest, ARingThatIsFirstUsedAfterTheCutIsNotThere) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  recorder.rings().Cut();
  target.AskNumber("emit 100000");
  recorder.Finish();
  EXPECT_EQ(recorder.collected().AccountedFor(target.tgid()), 0u);
  ExpectHolesAreLosses(recorder, target.tgid(), 0);
}

TEST(AppCrowdTest, WhatRunningProgramsToldUntilTheirFlagWasUpIsABreak) {
  Target target;
  target.AskNumber("emit 10");
  AppRecorder recorder;
  const uint64_t recording_ns = KernelNowNs();
  target.AskNumber("emit 10");
  recorder.Add(target.tgid(), recording_ns);
  const uint64_t added_ns = KernelNowNs();
  const uint64_t attempted = target.AskNumber("emit 10");
  recorder.Finish();
  EXPECT_EQ(recorder.collected().EventsOf(target.tgid()).size(), attempted);
  const std::vector<Break> breaks = recorder.collected().BreaksOf(target.tgid());
  ASSERT_EQ(breaks.size(), 1u);
  EXPECT_EQ(breaks[0].from_ns, recording_ns);
  EXPECT_LE(breaks[0].to_ns, added_ns);
  EXPECT_EQ(breaks[0].signature, ~uint64_t{0});
  ExpectHolesAreLosses(recorder, target.tgid(), attempted);
}

// Each of the threads writes a lap of its ring and more, slowly enough to be drained on the way.
TEST(AppCrowdTest, MemoryOfRingsIsGivenBack) {
  Target target;
  uint64_t attempted = 0;
  {
    AppRecorder recorder;
    recorder.Add(target.tgid());
    for (int round = 0; round < 100; ++round) {
      attempted += target.AskNumber("emit 200");
      recorder.SweepOnce();
    }
    EXPECT_LT(SharedKilobytes(target.tgid()), 400u);
    attempted += target.AskNumber("emit 13000");
    recorder.SweepOnce();
    recorder.Finish();
    EXPECT_GT(SharedKilobytes(target.tgid()), 700u);
    EXPECT_EQ(recorder.collected().EventsOf(target.tgid()).size(), attempted);
    ExpectHolesAreLosses(recorder, target.tgid(), attempted);
  }
  EXPECT_LT(SharedKilobytes(target.tgid()), 400u);
}

TEST(AppCrowdTest, AProgramThatLocksItsMemoryKeepsLittle) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  ASSERT_EQ(target.AskNumber("lock"), 0u);
  const uint64_t attempted = target.AskNumber("emit 100");
  recorder.Finish();
  EXPECT_EQ(recorder.collected().EventsOf(target.tgid()).size(), attempted);
  EXPECT_LT(SharedKilobytes(target.tgid()), 400u);
}

TEST(AppCrowdTest, HandlersMayInterruptTheWritingOfAnEvent) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  recorder.StartSweeping();
  const uint64_t attempted = target.AskNumber("storm 1000");
  EXPECT_TRUE(recorder.WaitFor(target.tgid(), attempted));
  recorder.Finish();
  uint64_t from_handlers = 0;
  for (const Event& event : recorder.collected().EventsOf(target.tgid())) {
    ASSERT_TRUE(event.key.lo == 1 || event.key.lo == 77);
    from_handlers += event.key.lo == 77;
  }
  EXPECT_GT(from_handlers, 0u);
  ExpectHolesAreLosses(recorder, target.tgid(), attempted);
}

TEST(AppCrowdTest, SweepsNeverSayThatNothingOlderFollowsAndThenBringIt) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  target.Send("parallel 8 100000");
  std::vector<std::pair<uint64_t, size_t>> marks;  // final time, events up to the sweep after it
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(recorder.SweepOnce());
    marks.emplace_back(recorder.rings().FinalNs(),
                       recorder.collected().EventsOf(target.tgid()).size());
  }
  const std::string answer = target.Receive();
  recorder.Finish();
  EXPECT_GT(marks.back().first, marks.front().first);
  const std::vector<Event> events = recorder.collected().EventsOf(target.tgid());
  for (size_t i = 1; i < marks.size(); ++i) {
    ASSERT_GE(marks[i].first, marks[i - 1].first);
    const size_t end = i + 1 < marks.size() ? marks[i + 1].second : events.size();
    for (size_t at = marks[i].second; at < end; ++at) {
      ASSERT_GE(events[at].time_ns, marks[i].first);
    }
  }
  for (const Break& lost : recorder.collected().BreaksOf(target.tgid())) {
    EXPECT_EQ(lost.reason, BreakReason::kRingFull) << lost.detail;
  }
  ExpectHolesAreLosses(recorder, target.tgid(), std::stoull(answer));
}

}  // namespace
}  // namespace cprof
