// Losses on the running kernel: what a full ring drops is counted, verb by verb.
#include <liburing.h>
#include <unistd.h>

#include <map>
#include <set>

#include "capture_run.h"

namespace cprof {
namespace {

bool RunNops(int batches) {
  io_uring ring;
  if (io_uring_queue_init(64, &ring, 0) != 0) return false;
  for (int batch = 0; batch < batches; ++batch) {
    for (int i = 0; i < 32; ++i) io_uring_prep_nop(io_uring_get_sqe(&ring));
    if (io_uring_submit_and_wait(&ring, 32) != 32) return false;
    io_uring_cq_advance(&ring, 32);
  }
  io_uring_queue_exit(&ring);
  return true;
}

// Sequence numbers below what was attempted that no event has, by stream.
uint64_t CountHoles(const Captured& captured) {
  std::map<StreamId, std::set<uint64_t>> seen;
  for (const Event& event : captured.events) {
    EXPECT_TRUE(seen[event.stream].insert(event.sequence).second) << "a number spent twice";
  }
  uint64_t holes = 0;
  for (const auto& counter : captured.counters) {
    const auto& numbers = seen[counter.stream];
    if (!numbers.empty()) {
      EXPECT_LT(*numbers.rbegin(), counter.attempted);
    }
    holes += counter.attempted - numbers.size();
  }
  return holes;
}

void ExpectLossIsExact(const Captured& captured) {
  EXPECT_TRUE(captured.child_succeeded);
  EXPECT_TRUE(captured.last_sweep_complete);
  EXPECT_GT(captured.lost(), 0U);
  EXPECT_EQ(captured.attempted(), captured.events.size() + captured.lost());
  EXPECT_EQ(CountHoles(captured), captured.lost());
  uint64_t told = 0;
  for (const Break& lost : captured.breaks) {
    EXPECT_EQ(lost.reason, BreakReason::kRingFull);
    EXPECT_GE(lost.from_ns, captured.begin_ns);
    EXPECT_LE(lost.from_ns, lost.to_ns);
    EXPECT_LE(lost.to_ns, captured.end_ns);
    EXPECT_NE(lost.signature, 0U);
    uint64_t of_verbs = 0;
    for (const auto& [verb, count] : lost.lost) {
      EXPECT_NE(FindVerb(verb), nullptr);
      of_verbs += count;
    }
    EXPECT_EQ(of_verbs, lost.total);
    told += lost.total;
  }
  EXPECT_EQ(told, captured.lost());
}

TEST(KernelLoss, AOnePageRingThatNobodyReadsLosesCountably) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] { return RunNops(1000); });
  KernelCaptureOptions options;
  options.adapters = {"io_uring"};
  options.ring_pages = 1;
  RunOptions run;
  run.sweep_while_running = false;
  const Captured captured = RecordChild(child, options, run);
  ExpectLossIsExact(captured);
  // 32,000 NOPs are 64,000 halves; verbs kept and lost add up to them.
  std::map<Verb, uint64_t> count;
  for (const Event& event : captured.events) ++count[event.verb];
  for (const Break& lost : captured.breaks) {
    for (const auto& [verb, number] : lost.lost) count[verb] += number;
  }
  EXPECT_EQ(count[verbs::kIoUringSubmit], 32000U);
  EXPECT_EQ(count[verbs::kIoUringComplete], 32000U);
}

TEST(KernelLoss, LossesBetweenSweepsAreExactToo) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] { return RunNops(5000); });
  KernelCaptureOptions options;
  options.adapters = {"io_uring", "sched"};
  options.ring_pages = 1;
  const Captured captured = RecordChild(child, options);
  ExpectLossIsExact(captured);
  EXPECT_GE(captured.breaks.size(), 2U) << "each sweep tells the losses before it";
}

TEST(KernelLoss, TheSignatureHoldsTheLostKeys) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] { return RunNops(200); });
  KernelCaptureOptions options;
  options.adapters = {"io_uring"};
  options.ring_pages = 1;
  RunOptions run;
  run.sweep_while_running = false;
  const Captured captured = RecordChild(child, options, run);
  ASSERT_FALSE(captured.breaks.empty());
  uint64_t told = 0;
  for (const Break& lost : captured.breaks) told |= lost.signature;
  EXPECT_NE(told, 0U);
  const auto creates = captured.Of(verbs::kIoUringCreate);
  ASSERT_EQ(creates.size(), 1U);
  EXPECT_NE(told & SignatureBit(creates[0].key2.lo), 0U) << "the ring of all that was lost";
  // The 32 objects of the first batch serve all others, from the ring's cache: each of them was
  // lost many times, and each was submitted once before the ring was full.
  size_t submitted = 0;
  for (const Event& submit : captured.Of(verbs::kIoUringSubmit)) {
    if (++submitted > 32) break;
    EXPECT_NE(told & SignatureBit(submit.key.lo), 0U);
  }
}

TEST(KernelLoss, WithoutLossThereIsNoBreakAndNoHole) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] { return RunNops(2000); });
  KernelCaptureOptions options;
  options.adapters = {"io_uring"};
  const Captured captured = RecordChild(child, options);
  EXPECT_EQ(captured.lost(), 0U);
  EXPECT_TRUE(captured.breaks.empty());
  EXPECT_EQ(CountHoles(captured), 0U);
}

TEST(KernelLoss, TooManyPagesAreRefusedWithAHint) {
  CPROF_SKIP_UNLESS_ROOT();
  class Allocator final : public StreamAllocator {
   public:
    StreamId Allocate(const StreamInfo& /*stream*/) override { return 0; }
  } streams;
  KernelCaptureOptions options;
  options.adapters = {"sched"};
  options.system_wide = true;
  options.ring_pages = 1U << 24;
  const auto refused = KernelCapture::Open(options, streams);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("-m 16777216"), std::string::npos);
  EXPECT_FALSE(refused.error().hint.empty());
  options.ring_pages = 3;
  const auto odd = KernelCapture::Open(options, streams);
  ASSERT_FALSE(odd.has_value());
  EXPECT_NE(odd.error().message.find("power of two"), std::string::npos);
}

}  // namespace
}  // namespace cprof
