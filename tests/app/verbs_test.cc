// What a program says with cprof.h arrives: every verb, from every object, before and after exec.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "record/app_probe.h"
#include "tests/app/harness.h"

namespace cprof {
namespace {

TEST(AppVerbsTest, EveryVerbArrivesAsItWasSaid) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  ASSERT_EQ(target.AskNumber("verbs"), 7u);
  ASSERT_TRUE(recorder.WaitFor(target.tgid(), 7));
  recorder.Finish();

  const std::vector<Event> events = recorder.collected().EventsOf(target.tgid());
  ASSERT_EQ(events.size(), 7u);
  const Collected& collected = recorder.collected();
  const Key request = {0x1111, 0x2222};
  const std::vector<Verb> verbs = {verbs::kAppBegin, verbs::kAppEnter, verbs::kAppEdge,
                                   verbs::kAppEdge,  verbs::kAppLeave, verbs::kAppBegin,
                                   verbs::kAppEnd};
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].verb, verbs[i]);
    EXPECT_EQ(events[i].sequence, i);
    EXPECT_EQ(events[i].tid, target.tgid());
    EXPECT_EQ(events[i].tgid, target.tgid());
    EXPECT_NE(events[i].start_time_ns, 0u);
    EXPECT_EQ(events[i].level, Level::kTask);
    if (i > 0) {
      EXPECT_GE(events[i].time_ns, events[i - 1].time_ns);
    }
  }
  EXPECT_EQ(events[0].key, request);
  EXPECT_EQ(events[0].arg, 1u);
  EXPECT_EQ(collected.Text(events[0].domain), "http");
  EXPECT_EQ(collected.Text(events[0].name), std::string(100, 'n'));

  const Event& acquire = events[2];
  EXPECT_EQ(acquire.key, (Key{0, 7}));
  EXPECT_EQ(acquire.key2, request);
  EXPECT_EQ(acquire.arg, 3u | 1u << 8 | 7u << 16);
  EXPECT_LE(acquire.arg2, acquire.time_ns);
  EXPECT_GT(acquire.arg2, acquire.time_ns - 1'000'000'000);
  EXPECT_EQ(collected.Text(acquire.domain).substr(0, 19), "a domain that is m~");
  EXPECT_EQ(collected.Text(acquire.domain).size(), 31u);
  EXPECT_EQ(collected.Text(acquire.domain2), "http");

  EXPECT_EQ(events[3].key2, (Key{5, 99}));
  EXPECT_EQ(events[3].arg, 1u | 4u << 8 | 1u << 16);
  EXPECT_EQ(events[5].domain, 0u);
  EXPECT_EQ(events[5].name, 0u);
}

TEST(AppVerbsTest, NothingIsLiveBeforeAndAfterRecording) {
  Target target;
  EXPECT_EQ(target.AskNumber("live"), 0u);
  {
    AppRecorder recorder;
    recorder.Add(target.tgid());
    EXPECT_EQ(target.AskNumber("live"), 1u);
    recorder.Finish();
    EXPECT_EQ(target.AskNumber("live"), 0u);
  }
  EXPECT_EQ(target.AskNumber("emit 100"), 100u);
}

// The kernel counts in the first writable mapping of the flag's page: there must be one only,
// however a linker lays out its segments.
TEST(AppVerbsTest, TheLiveFlagBeginsAPageOfItsOwn) {
  for (const char* path : {CPROF_APP_TARGET, CPROF_APP_LOADED}) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0) << path;
    const auto probe = FindAppProbe(fd);
    close(fd);
    ASSERT_TRUE(probe.has_value()) << path;
    EXPECT_EQ(probe->live_offset % 4096, 0u) << path;
  }
}

TEST(AppVerbsTest, AllObjectsOfAProgramAreHeard) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  recorder.StartSweeping();
  ASSERT_EQ(target.AskNumber("everywhere 50"), 150u);
  EXPECT_TRUE(recorder.WaitFor(target.tgid(), 150));
  ASSERT_EQ(target.AskNumber("load " CPROF_APP_LOADED " 50"), 100u);
  EXPECT_TRUE(recorder.WaitFor(target.tgid(), 250));
  recorder.Finish();
  std::map<std::string, int> domains;
  for (const Event& event : recorder.collected().EventsOf(target.tgid())) {
    ++domains[recorder.collected().Text(event.domain)];
  }
  const std::map<std::string, int> expected = {
      {"main", 50}, {"second", 50}, {"linked", 50}, {"loaded", 100}};
  EXPECT_EQ(domains, expected);
}

TEST(AppVerbsTest, AForkedChildHasRingsOfItsOwn) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  recorder.StartSweeping();
  const auto child = static_cast<uint32_t>(target.AskNumber("fork 1000"));
  ASSERT_NE(child, 0u);
  EXPECT_TRUE(recorder.WaitFor(target.tgid(), 20));
  EXPECT_TRUE(recorder.WaitFor(child, 2000));
  recorder.Finish();
  const std::vector<Event> of_parent = recorder.collected().EventsOf(target.tgid());
  EXPECT_EQ(of_parent.size(), 20u);
  for (const Event& event : of_parent) EXPECT_EQ(event.key.lo, 1u);
  const std::vector<Event> of_child = recorder.collected().EventsOf(child);
  EXPECT_EQ(of_child.size(), 2000u);
  for (const Event& event : of_child) {
    EXPECT_EQ(event.tgid, child);
    EXPECT_EQ(event.key.lo, event.tid == child ? 2u : 3u);
  }
  EXPECT_EQ(recorder.Attempted(), 2020u);
}

TEST(AppVerbsTest, ExecBeginsANewImageOfTheSameProcess) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  recorder.StartSweeping();
  ASSERT_EQ(target.AskNumber("emit 10"), 10u);
  // An image that goes before the recorder has opened its rings takes them along.
  ASSERT_TRUE(recorder.WaitFor(target.tgid(), 10));
  ASSERT_EQ(target.Ask("exec"), "ready");
  EXPECT_EQ(target.AskNumber("live"), 1u);
  ASSERT_EQ(target.AskNumber("emit 10"), 10u);
  EXPECT_TRUE(recorder.WaitFor(target.tgid(), 20));
  recorder.Finish();
  const std::vector<Event> events = recorder.collected().EventsOf(target.tgid());
  ASSERT_EQ(events.size(), 20u);
  EXPECT_NE(events.front().stream, events.back().stream);
  EXPECT_EQ(events.front().start_time_ns, events.back().start_time_ns);
}

TEST(AppVerbsTest, AProcessThatEndsIsDrainedToItsLastEvent) {
  Target target;
  const uint32_t tgid = target.tgid();
  AppRecorder recorder;
  recorder.Add(tgid);
  ASSERT_EQ(target.AskNumber("emit 2"), 2u);
  recorder.SweepOnce();
  target.Send("quit 3000");
  EXPECT_EQ(target.Wait(), 0);
  recorder.Finish();
  EXPECT_EQ(recorder.collected().EventsOf(tgid).size(), 3002u);
  for (const Break& lost : recorder.collected().BreaksOf(tgid)) {
    ADD_FAILURE() << BreakReasonName(lost.reason) << " " << lost.total << " " << lost.detail;
  }
  EXPECT_EQ(recorder.Attempted(), 3002u);
}

}  // namespace
}  // namespace cprof
