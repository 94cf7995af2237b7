// Rings that lie: the recorder neither crashes nor hangs nor grows, and says what is damaged.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <random>

#include "record/app_process.h"
#include "record/app_slot.h"
#include "tests/app/harness.h"

namespace cprof {
namespace {

// The region of a process, as its owner (or anyone with the right to) could write to it.
OwnedFd OpenRegionOf(uint32_t tgid) {
  const auto process = AppProcess::Open(tgid);
  if (!process) return OwnedFd();
  const std::string text = process->ReadMaps();
  for (const MapsEntry& entry : ParseMaps(text)) {
    if (entry.permissions == "rw-s" && entry.path == "/dev/zero (deleted)") {
      return process->OpenMapping(entry, O_RDWR);
    }
  }
  return OwnedFd();
}

off_t RingOffset(uint32_t ring) {
  return static_cast<off_t>(CPROF_RINGS_OFFSET_ + ring * sizeof(cprof_ring_));
}

class AppHostileTest : public testing::Test {
 protected:
  void SetUp() override {
    recorder_.Add(target_.tgid());
    ASSERT_EQ(target_.AskNumber("emit 10"), 10u);
    ASSERT_TRUE(recorder_.WaitFor(target_.tgid(), 10));
    region_ = OpenRegionOf(target_.tgid());
    ASSERT_TRUE(region_.valid());
  }

  void Write(off_t offset, const void* bytes, size_t size_bytes) {
    ASSERT_EQ(pwrite(region_.get(), bytes, size_bytes, offset), static_cast<ssize_t>(size_bytes));
  }
  void ExpectDamage(const std::string& detail) {
    for (int i = 0; i < 3; ++i) recorder_.SweepOnce();
    const std::vector<Break> breaks = recorder_.collected().BreaksOf(target_.tgid());
    ASSERT_EQ(breaks.size(), 1u);
    EXPECT_EQ(breaks[0].reason, BreakReason::kRingDamaged);
    EXPECT_EQ(breaks[0].signature, ~uint64_t{0});
    EXPECT_EQ(breaks[0].detail, detail);
    EXPECT_EQ(recorder_.collected().EventsOf(target_.tgid()).size(), 10u);
  }

  Target target_;
  AppRecorder recorder_;
  OwnedFd region_;
};

TEST_F(AppHostileTest, AHeadBeyondTheRingIsDamage) {
  const uint64_t head = uint64_t{1} << 60;
  Write(RingOffset(1) + static_cast<off_t>(offsetof(cprof_ring_, head)), &head, sizeof(head));
  ExpectDamage("its counters contradict each other");
}

TEST_F(AppHostileTest, AHeadThatGoesBackIsDamage) {
  const uint64_t head = 1;
  Write(RingOffset(1) + static_cast<off_t>(offsetof(cprof_ring_, head)), &head, sizeof(head));
  ExpectDamage("its counters contradict each other");
}

TEST_F(AppHostileTest, ATruncatedRegionIsDamageAndNoSigbus) {
  ASSERT_EQ(ftruncate(region_.get(), 4096), 0);
  recorder_.SweepOnce();
  const std::vector<Break> breaks = recorder_.collected().BreaksOf(target_.tgid());
  ASSERT_FALSE(breaks.empty());
  for (const Break& lost : breaks) EXPECT_EQ(lost.reason, BreakReason::kRingDamaged);
  target_.Kill(SIGKILL);
  target_.Wait();
  recorder_.Finish();
}

TEST_F(AppHostileTest, SlotsThatAreNoEventsAreDamage) {
  cprof_slot_ slot;
  std::memset(&slot, 0xee, sizeof(slot));
  const uint64_t slots =
      CPROF_SLOTS_OFFSET_(CPROF_RINGS_) + uint64_t{CPROF_RING_EVENTS_} * sizeof(cprof_slot_);
  cprof_ring_ ring;
  ASSERT_EQ(pread(region_.get(), &ring, sizeof(ring), RingOffset(1)),
            static_cast<ssize_t>(sizeof(ring)));
  Write(static_cast<off_t>(slots + ring.head * sizeof(slot)), &slot, sizeof(slot));
  ++ring.head;
  Write(RingOffset(1), &ring.head, sizeof(ring.head));
  Write(RingOffset(1) + 8, &ring.head, sizeof(ring.head));  // reserved
  ExpectDamage("it holds what is no event");
}

TEST_F(AppHostileTest, LossesThatWereNeverAttemptedAreDamage) {
  const uint64_t many = uint64_t{1} << 50;
  Write(RingOffset(1) + static_cast<off_t>(offsetof(cprof_ring_, loss.verbs)), &many, sizeof(many));
  ExpectDamage("it lost more than was attempted");
}

TEST_F(AppHostileTest, NoiseNeitherCrashesNorGrowsTheRecorder) {
  std::mt19937_64 random(20250101);
  std::vector<uint64_t> noise(8 * sizeof(cprof_ring_) / sizeof(uint64_t));
  for (int round = 0; round < 300; ++round) {
    for (uint64_t& word : noise) word = random() >> (random() % 64);
    Write(RingOffset(0), noise.data(), noise.size() * sizeof(uint64_t));
    const auto used = static_cast<uint32_t>(random());
    Write(offsetof(cprof_region_, rings_used), &used, sizeof(used));
    recorder_.SweepOnce();
  }
  // Each of at most 512 rings is given up once.
  EXPECT_LE(recorder_.collected().BreaksOf(target_.tgid()).size(), 600u);
  EXPECT_LE(recorder_.collected().EventsOf(target_.tgid()).size(),
            10u + CPROF_RINGS_ * CPROF_RING_EVENTS_);
  target_.Kill(SIGKILL);
  target_.Wait();
  recorder_.Finish();
}

// A file may be called like the kernel's name for shared memory, and hold what looks like rings.
TEST(AppSpoofTest, AFileWithTheNameOfSharedMemoryIsNotARegion) {
  const char* path = "/dev/zero (deleted)";
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(fd, 0);
  cprof_region_ header{};
  header.magic = CPROF_MAGIC_;
  header.version = CPROF_LAYOUT_VERSION_;
  header.ring_count = 8;
  header.ring_events = CPROF_RING_EVENTS_;
  header.size_bytes = CPROF_REGION_BYTES_(8);
  header.rings_used = 8;
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(header.size_bytes)), 0);
  ASSERT_EQ(pwrite(fd, &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
  const pid_t child = fork();
  if (child == 0) {
    mmap(nullptr, header.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (;;) pause();
  }
  usleep(50'000);
  {
    AppRecorder recorder;
    recorder.Add(static_cast<uint32_t>(child));
    recorder.SweepOnce();
    EXPECT_EQ(recorder.Attempted(), 0u);
  }
  // Nobody claimed it: the epoch is what it was.
  ASSERT_EQ(pread(fd, &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
  EXPECT_EQ(header.epoch, 0u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  unlink(path);
  close(fd);
}

}  // namespace
}  // namespace cprof
