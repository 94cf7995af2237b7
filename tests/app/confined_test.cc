// Where the system refuses: the recorded program goes on, whatever becomes of its events.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/app/harness.h"

namespace cprof {
namespace {

TEST(AppConfinedTest, NoDescriptorIsNeeded) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  ASSERT_EQ(target.AskNumber("files"), 100u);
  EXPECT_TRUE(recorder.WaitFor(target.tgid(), 100));
  recorder.Finish();
  EXPECT_EQ(recorder.collected().EventsOf(target.tgid()).size(), 100u);
}

TEST(AppConfinedTest, RefusedMemoryMeansSilence) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());  // live before the filter: only the first event finds out
  ASSERT_EQ(target.AskNumber("confined errno"), 0u);
  EXPECT_EQ(target.AskNumber("emit 1000"), 1000u);
  EXPECT_EQ(target.AskNumber("emit 1000"), 1000u);
  recorder.Finish();
  EXPECT_EQ(recorder.collected().AccountedFor(target.tgid()), 0u);
  const std::vector<std::string> notices = recorder.rings().TakeNotices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find("got no memory for its rings"), std::string::npos);
  EXPECT_EQ(target.Wait(), 0);
}

TEST(AppConfinedTest, AProcessThatShutItselfInBeforeIsLeftAlone) {
  Target target;
  ASSERT_EQ(target.AskNumber("confined kill"), 0u);
  AppRecorder recorder;
  recorder.Add(target.tgid());
  EXPECT_EQ(target.AskNumber("live"), 0u);
  EXPECT_EQ(target.AskNumber("emit 1000"), 1000u);
  const std::vector<std::string> notices = recorder.rings().TakeNotices();
  ASSERT_FALSE(notices.empty());
  EXPECT_NE(notices[0].find("seccomp"), std::string::npos);
  EXPECT_EQ(target.Wait(), 0);
}

TEST(AppConfinedTest, RingsThatExistAreUsedUnderAKillingFilter) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  recorder.StartSweeping();
  ASSERT_EQ(target.AskNumber("emit 10"), 10u);
  ASSERT_EQ(target.AskNumber("confined kill"), 0u);
  EXPECT_EQ(target.AskNumber("emit 10"), 10u);
  EXPECT_TRUE(recorder.WaitFor(target.tgid(), 20));
  EXPECT_EQ(target.Wait(), 0);
}

TEST(AppConfinedTest, AThreadInStrictModeThatSilencedItselfLives) {
  Target target;
  AppRecorder recorder;
  recorder.Add(target.tgid());
  recorder.StartSweeping();
  const auto child = static_cast<uint32_t>(target.AskNumber("confined strict"));
  ASSERT_NE(child, 0u);
  EXPECT_TRUE(recorder.WaitFor(child, 10));
  recorder.Finish();
  EXPECT_EQ(recorder.collected().AccountedFor(child), 10u);
}

}  // namespace
}  // namespace cprof
