// Two recorders at once, and a recorder that is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "tests/app/harness.h"

namespace cprof {
namespace {

bool Mentions(const std::vector<std::string>& notices, const std::string& text) {
  return std::any_of(notices.begin(), notices.end(), [&](const std::string& notice) {
    return notice.find(text) != std::string::npos;
  });
}

TEST(AppRecordersTest, TheSecondRecorderSaysWhoHasTheRingsAndTakesThemOver) {
  Target target;
  const uint32_t tgid = target.tgid();
  AppRecorder second;
  {
    AppRecorder first;
    first.Add(tgid);
    ASSERT_EQ(target.AskNumber("emit 100"), 100u);
    ASSERT_TRUE(first.WaitFor(tgid, 100));
    second.Add(tgid);
    const std::vector<std::string> notices = second.rings().TakeNotices();
    EXPECT_TRUE(Mentions(notices, "go to another recorder (process " + std::to_string(getpid())));
    ASSERT_EQ(target.AskNumber("emit 100"), 100u);
    EXPECT_TRUE(first.WaitFor(tgid, 200));
    for (int i = 0; i < 5; ++i) second.SweepOnce();
    EXPECT_EQ(second.collected().AccountedFor(tgid), 0u);
    first.Finish();
    EXPECT_EQ(first.collected().EventsOf(tgid).size(), 200u);
    EXPECT_EQ(target.AskNumber("live"), 1u);  // the second's
  }
  std::vector<std::string> notices;
  for (int i = 0; i < 1000 && !Mentions(notices, "recorded from now on"); ++i) {
    second.SweepOnce();
    notices = second.rings().TakeNotices();
    usleep(2000);
  }
  ASSERT_TRUE(Mentions(notices, "recorded from now on"));
  ASSERT_EQ(target.AskNumber("emit 30"), 30u);
  EXPECT_TRUE(second.WaitFor(tgid, 30));
  second.Finish();
  EXPECT_EQ(second.collected().EventsOf(tgid).size(), 30u);
  // What the first one had is a break here, not a silence.
  const std::vector<Break> breaks = second.collected().BreaksOf(tgid);
  ASSERT_EQ(breaks.size(), 1u);
  EXPECT_EQ(breaks[0].detail, "its rings were another recorder's");
  EXPECT_LE(breaks[0].to_ns, second.collected().EventsOf(tgid)[0].time_ns);
}

TEST(AppRecordersTest, AKilledRecorderLeavesNothingLiveAndItsSuccessorBeginsAfresh) {
  Target target;
  const uint32_t tgid = target.tgid();
  {
    Target recorder({CPROF_APP_RECORDER, std::to_string(tgid)});
    EXPECT_EQ(target.AskNumber("live"), 1u);
    ASSERT_EQ(target.AskNumber("threads 20 500"), 10000u);
    ASSERT_EQ(target.AskNumber("emit 10001"), 10001u);
    recorder.Kill(SIGKILL);
    recorder.Wait();
  }
  uint64_t live = 1;
  for (int i = 0; i < 5000 && live != 0; ++i) {
    live = target.AskNumber("live");
    usleep(1000);
  }
  ASSERT_EQ(live, 0u);
  ASSERT_EQ(target.AskNumber("emit 5"), 5u);

  AppRecorder successor;
  successor.Add(tgid);
  ASSERT_EQ(target.AskNumber("emit 50"), 50u);
  ASSERT_EQ(target.AskNumber("threads 20 5"), 100u);
  EXPECT_TRUE(successor.WaitFor(tgid, 150));
  successor.Finish();
  EXPECT_EQ(successor.collected().EventsOf(tgid).size(), 150u);
  EXPECT_EQ(successor.Attempted(), 150u);
  EXPECT_TRUE(successor.collected().BreaksOf(tgid).empty());
}

TEST(AppRecordersTest, WithoutInheritanceOnlyTheProcessItselfIsLive) {
  Target target, other;
  AppRecorder recorder(false);
  recorder.Add(target.tgid());
  EXPECT_EQ(target.AskNumber("live"), 1u);
  EXPECT_EQ(other.AskNumber("live"), 0u);
  ASSERT_EQ(target.AskNumber("emit 7"), 7u);
  EXPECT_TRUE(recorder.WaitFor(target.tgid(), 7));
}

}  // namespace
}  // namespace cprof
