// The table of verbs agrees with the wire and with itself.
#include "format/verb.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "bpf/event.h"

namespace cprof {
namespace {

TEST(Verb, NumbersAreUniqueAndInRange) {
  std::set<int> numbers;
  for (const VerbInfo& info : AllVerbs()) {
    EXPECT_LT(info.verb, kVerbCount) << info.name;
    EXPECT_TRUE(numbers.insert(info.verb).second) << info.name;
  }
}

TEST(Verb, NamesAreFoundWithinTheirAdapter) {
  for (const VerbInfo& info : AllVerbs()) {
    const VerbInfo* found = FindVerb(InfoOf(info.adapter).name, info.name);
    ASSERT_NE(found, nullptr) << info.name;
    EXPECT_EQ(found->verb, info.verb);
  }
  EXPECT_EQ(FindVerb("sched", "complete"), nullptr);
}

TEST(Verb, UnknownNumberHasNoInfo) { EXPECT_EQ(FindVerb(Verb{0x7f}), nullptr); }

TEST(Verb, WireEnumAgreesWithTheTable) {
  EXPECT_EQ(verbs::kSchedWaking, CPROF_SCHED_WAKING);
  EXPECT_EQ(verbs::kSchedComm, CPROF_SCHED_COMM);
  EXPECT_EQ(verbs::kIoUringSubmit, CPROF_IO_URING_SUBMIT);
  EXPECT_EQ(verbs::kIoUringRingExit, CPROF_IO_URING_RING_EXIT);
  EXPECT_EQ(verbs::kEpollWait, CPROF_EPOLL_WAIT);
  EXPECT_EQ(verbs::kAppRing, CPROF_APP_RING);
  EXPECT_EQ(verbs::kSampleCpu, CPROF_SAMPLE_CPU);
  EXPECT_EQ(verbs::kRecorderGate, CPROF_RECORDER_GATE);
  EXPECT_EQ(kVerbCount, CPROF_VERB_MAX);
}

}  // namespace
}  // namespace cprof
