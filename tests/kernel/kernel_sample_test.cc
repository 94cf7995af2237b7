// The sample adapter on the running kernel.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "capture_run.h"

namespace cprof {
namespace {

volatile uint64_t sink;

// Burns CPU in user space only, at a depth that the stack must show.
[[gnu::noinline]] void BurnLeaf(uint64_t rounds) {
  for (uint64_t i = 0; i < rounds; ++i) sink = sink + i;
}
[[gnu::noinline]] void BurnCaller(uint64_t rounds) {
  BurnLeaf(rounds);
  sink = sink + 1;
}

KernelCaptureOptions SampleOptions() {
  KernelCaptureOptions options;
  options.adapters = {"sample"};
  options.frequency_hz = 997;
  return options;
}

bool IsIn(uint64_t address, void (*function)(uint64_t)) {
  const auto start = reinterpret_cast<uint64_t>(function);
  return address >= start && address < start + 256;
}

TEST(KernelSample, ABusyLoopIsSampledWithItsCallers) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    for (int i = 0; i < 300; ++i) BurnCaller(1'000'000);
    return true;
  });
  const Captured captured = RecordChild(child, SampleOptions());
  EXPECT_TRUE(captured.child_succeeded);
  EXPECT_TRUE(captured.events.empty()) << "samples belong to the context plane";
  ASSERT_GT(captured.samples.size(), 20U);
  size_t in_leaf = 0;
  for (const StackSample& sample : captured.samples) {
    EXPECT_EQ(sample.event.tgid, child.pid());
    EXPECT_EQ(sample.event.arg, 1'000'000'000ULL / 997);
    if (!sample.kernel_frames.empty() || sample.user_frames.size() < 2) continue;
    if (IsIn(sample.user_frames[0], &BurnLeaf)) {
      EXPECT_TRUE(IsIn(sample.user_frames[1], &BurnCaller));
      EXPECT_EQ(sample.event.level, Level::kTask);
      ++in_leaf;
    }
  }
  EXPECT_GT(in_leaf, captured.samples.size() / 2);
}

TEST(KernelSample, KernelFramesAreRelativeToItsText) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    const int fd = open("/dev/zero", O_RDONLY);
    static char buffer[1 << 20];
    for (int i = 0; i < 3000; ++i) {
      if (read(fd, buffer, sizeof(buffer)) != sizeof(buffer)) return false;
    }
    return true;
  });
  const Captured captured = RecordChild(child, SampleOptions());
  EXPECT_TRUE(captured.child_succeeded);
  size_t with_kernel = 0;
  for (const StackSample& sample : captured.samples) {
    with_kernel += !sample.kernel_frames.empty();
    for (const uint64_t frame : sample.kernel_frames) {
      EXPECT_LT(frame, uint64_t{1} << 32) << "the kernel's text and modules lie within 2 GiB";
    }
    for (const uint64_t frame : sample.user_frames) EXPECT_LT(frame, uint64_t{1} << 56);
  }
  EXPECT_GT(with_kernel, 5U);
}

TEST(KernelSample, WithoutCallGraphThereAreNoFrames) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    for (int i = 0; i < 100; ++i) BurnCaller(1'000'000);
    return true;
  });
  KernelCaptureOptions options = SampleOptions();
  options.call_graph = false;
  const Captured captured = RecordChild(child, options);
  ASSERT_FALSE(captured.samples.empty());
  for (const StackSample& sample : captured.samples) {
    EXPECT_TRUE(sample.user_frames.empty());
    EXPECT_TRUE(sample.kernel_frames.empty());
  }
}

}  // namespace
}  // namespace cprof
