// One ring on memory of the test's own: what a race would leave there is written there.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "bpf/event.h"
#include "record/app_process.h"
#include "record/app_ring.h"

namespace cprof {
namespace {

constexpr uint32_t kRings = 2;
// No thread has it: above the largest that the kernel gives.
constexpr uint32_t kDeadTid = (1u << 22) + 1;

class Names : public BlockSink {
 public:
  void Put(DrainedBlock) override {}
  StringId Intern(std::string_view) override { return 1; }
};

class AppRingTest : public testing::Test {
 protected:
  AppRingTest()
      : memory_(memfd_create("ring", MFD_CLOEXEC)),
        ring_({memory_.get(), 1, kRings, CPROF_RING_EVENTS_}, static_cast<uint32_t>(getpid()), 0,
              1) {
    EXPECT_EQ(ftruncate(memory_.get(), CPROF_REGION_BYTES_(kRings)), 0);
    ring_.set_stream(0);
  }

  void WriteHeader(const cprof_ring_& header) {
    const off_t at = CPROF_RINGS_OFFSET_ + sizeof(header);
    ASSERT_EQ(pwrite(memory_.get(), &header, sizeof(header), at), ssize_t{sizeof(header)});
  }
  cprof_ring_ ReadHeader() {
    cprof_ring_ header{};
    const off_t at = CPROF_RINGS_OFFSET_ + sizeof(header);
    EXPECT_EQ(pread(memory_.get(), &header, sizeof(header), at), ssize_t{sizeof(header)});
    return header;
  }
  // Announces a thread that is no more, and drains that. Returns the header as it was then.
  cprof_ring_ OwnedByTheDead(uint64_t generation) {
    ring_.Announce(generation, {kDeadTid, 900, true});
    cprof_slot_ slot{};
    slot.verb = CPROF_APP_RING;
    slot.id_hi = generation;
    const off_t at =
        static_cast<off_t>(CPROF_SLOTS_OFFSET_(kRings) + CPROF_RING_EVENTS_ * sizeof(slot));
    EXPECT_EQ(pwrite(memory_.get(), &slot, sizeof(slot), at), ssize_t{sizeof(slot)});
    cprof_ring_ header{};
    header.head = header.reserved = 1;
    header.generation = generation;
    header.owned = CPROF_OWNED_(generation);
    WriteHeader(header);
    Names names;
    std::vector<cprof_slot_> slots;
    DrainedBlock block;
    ring_.Drain(header, {KernelNowNs(), 0, true, &names, &slots}, &block);
    EXPECT_TRUE(block.breaks.empty());
    return header;
  }

  OwnedFd memory_;
  AppRing ring_;
};

TEST_F(AppRingTest, TheRingOfADeadThreadIsFreed) {
  const cprof_ring_ header = OwnedByTheDead(7);
  ring_.FreeIfOwnerGone(header);
  EXPECT_EQ(ReadHeader().owned, 0u);
}

TEST_F(AppRingTest, ARingThatWasTakenAgainIsNotFreed) {
  const cprof_ring_ before = OwnedByTheDead(7);
  cprof_ring_ now = ReadHeader();
  now.owned = CPROF_OWNED_(8);  // the next owner has not announced itself yet
  WriteHeader(now);
  ring_.FreeIfOwnerGone(before);
  EXPECT_EQ(ReadHeader().owned, CPROF_OWNED_(8));
  now.owned = 1;  // nor said so
  WriteHeader(now);
  ring_.FreeIfOwnerGone(before);
  EXPECT_EQ(ReadHeader().owned, 1u);
}

TEST_F(AppRingTest, ARingWithMoreInItIsNotFreed) {
  const cprof_ring_ before = OwnedByTheDead(7);
  cprof_ring_ now = ReadHeader();
  now.head = now.reserved = 3;
  WriteHeader(now);
  ring_.FreeIfOwnerGone(before);
  EXPECT_EQ(ReadHeader().owned, CPROF_OWNED_(7));
}

TEST_F(AppRingTest, GenerationsThatComeRoundAreToldApart) {
  const cprof_ring_ before = OwnedByTheDead(0x7fffffff);
  cprof_ring_ now = ReadHeader();
  now.owned = CPROF_OWNED_(0x80000000);
  WriteHeader(now);
  ring_.FreeIfOwnerGone(before);
  EXPECT_EQ(ReadHeader().owned, CPROF_OWNED_(0x80000000));
}

}  // namespace
}  // namespace cprof
