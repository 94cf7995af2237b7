// The io_uring adapter on the running kernel: each way that a request can go.
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include "capture_run.h"

namespace cprof {
namespace {

constexpr uint32_t kCqeMore = IORING_CQE_F_MORE;

KernelCaptureOptions IoUringOptions() {
  KernelCaptureOptions options;
  options.adapters = {"io_uring"};
  return options;
}

uint8_t OpcodeOf(const Event& submit) { return submit.arg2 & 0xff; }
uint8_t SqeFlagsOf(const Event& submit) { return submit.arg2 >> 8 & 0xff; }
int32_t FdOf(const Event& submit) { return static_cast<int32_t>(submit.arg2 >> 32); }
int32_t ResultOf(const Event& complete) { return static_cast<int32_t>(complete.arg2); }
uint32_t CqeFlagsOf(const Event& complete) { return static_cast<uint32_t>(complete.arg2 >> 32); }

// A ring that closes itself.
class Ring {
 public:
  explicit Ring(unsigned entries = 64, unsigned flags = 0) {
    valid_ = io_uring_queue_init(entries, &ring_, flags) == 0;
  }
  ~Ring() {
    if (valid_) io_uring_queue_exit(&ring_);
  }
  bool valid() const { return valid_; }
  io_uring* get() { return &ring_; }
  io_uring_sqe* Sqe() { return io_uring_get_sqe(&ring_); }
  bool SubmitAndReap(unsigned count) {
    if (io_uring_submit(&ring_) < 0) return false;
    return Reap(count);
  }
  bool Reap(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      io_uring_cqe* cqe = nullptr;
      if (io_uring_wait_cqe(&ring_, &cqe) != 0) return false;
      io_uring_cqe_seen(&ring_, cqe);
    }
    return true;
  }

 private:
  io_uring ring_ = {};
  bool valid_ = false;
};

const Event* FindData(const std::vector<Event>& events, uint64_t user_data) {
  for (const Event& event : events) {
    if (event.arg == user_data) return &event;
  }
  return nullptr;
}

TEST(KernelIoUring, EveryNopIsSubmittedAndCompletedOnce) {
  CPROF_SKIP_UNLESS_ROOT();
  constexpr uint64_t kBatches = 500;
  constexpr uint64_t kBatch = 8;
  Child child([] {
    Ring ring;
    if (!ring.valid()) return false;
    uint64_t next = 1;
    for (uint64_t batch = 0; batch < kBatches; ++batch) {
      for (uint64_t i = 0; i < kBatch; ++i) {
        io_uring_sqe* sqe = ring.Sqe();
        io_uring_prep_nop(sqe);
        sqe->user_data = next++;
      }
      if (!ring.SubmitAndReap(kBatch)) return false;
    }
    return true;
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  EXPECT_TRUE(captured.last_sweep_complete);
  const auto creates = captured.Of(verbs::kIoUringCreate);
  ASSERT_EQ(creates.size(), 1U);
  const Key ring = creates[0].key2;
  EXPECT_EQ(captured.Of(verbs::kIoUringSubmit).size(), kBatches * kBatch);
  EXPECT_EQ(captured.Of(verbs::kIoUringComplete).size(), kBatches * kBatch);
  // Joined by the object's key alone, user_data being the judge.
  std::map<Key, uint64_t> live;
  for (const Event& event : captured.events) {
    EXPECT_EQ(event.level, Level::kTask);
    if (event.verb == verbs::kIoUringSubmit) {
      EXPECT_EQ(event.key2, ring);
      EXPECT_TRUE(live.emplace(event.key, event.arg).second);
    } else if (event.verb == verbs::kIoUringComplete) {
      EXPECT_EQ(event.key2, ring);
      const auto found = live.find(event.key);
      ASSERT_NE(found, live.end());
      EXPECT_EQ(found->second, event.arg);
      live.erase(found);
    }
  }
  EXPECT_TRUE(live.empty());
  const auto ring_exits = captured.Of(verbs::kIoUringRingExit);
  ASSERT_EQ(ring_exits.size(), 1U);
  EXPECT_EQ(ring_exits[0].key2, ring);
  EXPECT_EQ(captured.lost(), 0U);
  EXPECT_EQ(captured.attempted(), captured.events.size());
}

TEST(KernelIoUring, KeysAreNoKernelAddressesUnlessAskedFor) {
  CPROF_SKIP_UNLESS_ROOT();
  for (const bool raw : {false, true}) {
    Child child([] {
      Ring ring;
      for (int i = 0; i < 16; ++i) io_uring_prep_nop(ring.Sqe());
      return ring.SubmitAndReap(16);
    });
    KernelCaptureOptions options = IoUringOptions();
    options.raw_keys = raw;
    const Captured captured = RecordChild(child, options);
    const auto submits = captured.Of(verbs::kIoUringSubmit);
    ASSERT_EQ(submits.size(), 16U);
    // With page tables of five levels only the top byte tells an address of the kernel, and one in
    // 256 of the ids begins so too.
    size_t kernel_addresses = 0;
    for (const Event& submit : submits) kernel_addresses += submit.key.lo >> 56 == 0xff;
    if (raw) {
      EXPECT_EQ(kernel_addresses, 16U);
    } else {
      EXPECT_LT(kernel_addresses, 6U);
    }
    const auto completes = captured.Of(verbs::kIoUringComplete);
    std::set<Key> submitted, completed;
    for (const Event& submit : submits) submitted.insert(submit.key);
    for (const Event& complete : completes) completed.insert(complete.key);
    EXPECT_EQ(submitted, completed) << "void * and typed pointers give the same keys";
  }
}

TEST(KernelIoUring, SubmitTellsOpcodeFlagsAndDescriptor) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    Ring ring;
    const int fd = open("/dev/zero", O_RDONLY);
    if (dup2(fd, 77) != 77) return false;
    static char buffer[64];
    io_uring_sqe* sqe = ring.Sqe();
    io_uring_prep_read(sqe, 77, buffer, sizeof(buffer), 0);
    sqe->flags |= IOSQE_IO_LINK;
    sqe->user_data = 1;
    sqe = ring.Sqe();
    io_uring_prep_nop(sqe);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    sqe->user_data = 2;
    sqe = ring.Sqe();
    io_uring_prep_nop(sqe);
    sqe->user_data = 3;
    return ring.SubmitAndReap(2);
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const auto submits = captured.Of(verbs::kIoUringSubmit);
  const auto completes = captured.Of(verbs::kIoUringComplete);
  const Event* read = FindData(submits, 1);
  const Event* skip = FindData(submits, 2);
  ASSERT_NE(read, nullptr);
  ASSERT_NE(skip, nullptr);
  EXPECT_EQ(OpcodeOf(*read), IORING_OP_READ);
  EXPECT_EQ(FdOf(*read), 77);
  EXPECT_NE(SqeFlagsOf(*read) & IOSQE_IO_LINK, 0);
  EXPECT_NE(SqeFlagsOf(*skip) & IOSQE_CQE_SKIP_SUCCESS, 0);
  EXPECT_EQ(FindData(completes, 2), nullptr);
  const Event* result = FindData(completes, 1);
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(ResultOf(*result), 64);
  // b is linked behind a: link(b, a).
  const auto links = captured.Of(verbs::kIoUringLink);
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0].key, skip->key);
  EXPECT_EQ(links[0].key2, read->key);
}

TEST(KernelIoUring, AFailedHeadFailsItsLinks) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    Ring ring;
    static char buffer[64];
    io_uring_sqe* sqe = ring.Sqe();
    io_uring_prep_read(sqe, 999, buffer, sizeof(buffer), 0);
    sqe->flags |= IOSQE_IO_LINK;
    sqe->user_data = 1;
    sqe = ring.Sqe();
    io_uring_prep_nop(sqe);
    sqe->user_data = 2;
    return ring.SubmitAndReap(2);
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const auto submits = captured.Of(verbs::kIoUringSubmit);
  const auto failures = captured.Of(verbs::kIoUringFailLink);
  const Event* head = FindData(submits, 1);
  const Event* tail = FindData(submits, 2);
  ASSERT_NE(head, nullptr);
  ASSERT_NE(tail, nullptr);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].key, head->key);
  EXPECT_EQ(failures[0].key2, tail->key);
  const auto completes = captured.Of(verbs::kIoUringComplete);
  const Event* cancelled = FindData(completes, 2);
  ASSERT_NE(cancelled, nullptr);
  EXPECT_EQ(ResultOf(*cancelled), -ECANCELED);
}

TEST(KernelIoUring, AnAsyncRequestRunsInAWorker) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    Ring ring;
    const int fd = open("/dev/zero", O_RDONLY);
    static char buffer[64];
    io_uring_sqe* sqe = ring.Sqe();
    io_uring_prep_read(sqe, fd, buffer, sizeof(buffer), 0);
    sqe->flags |= IOSQE_ASYNC;
    sqe->user_data = 5;
    return ring.SubmitAndReap(1);
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const auto submits = captured.Of(verbs::kIoUringSubmit);
  const auto queued = captured.Of(verbs::kIoUringQueueAsync);
  const auto runs = captured.Of(verbs::kIoUringWorkRun);
  const auto completes = captured.Of(verbs::kIoUringComplete);
  ASSERT_EQ(submits.size(), 1U);
  ASSERT_EQ(queued.size(), 1U);
  ASSERT_GE(runs.size(), 1U);
  ASSERT_EQ(completes.size(), 1U);
  EXPECT_EQ(queued[0].key, submits[0].key);
  EXPECT_EQ(queued[0].tid, child.pid());
  for (const Event& run : runs) {
    EXPECT_EQ(run.key, submits[0].key) << "the worker's cur_work is the request";
    EXPECT_EQ(run.key2, submits[0].key2);
    EXPECT_NE(run.tid, child.pid());
    EXPECT_EQ(run.tgid, child.pid()) << "workers belong to the process";
  }
  EXPECT_EQ(completes[0].key, submits[0].key);
  EXPECT_EQ(completes[0].tid, runs[0].tid);
}

TEST(KernelIoUring, AWaitingReadIsPolledAndAddedByTheWriter) {
  CPROF_SKIP_UNLESS_ROOT();
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  Child child([&] {
    Ring ring;
    int ends[2];
    if (pipe(ends) != 0) return false;
    static char buffer[64];
    io_uring_sqe* sqe = ring.Sqe();
    io_uring_prep_read(sqe, ends[0], buffer, sizeof(buffer), 0);
    sqe->user_data = 9;
    if (io_uring_submit(ring.get()) != 1) return false;
    std::thread writer([&] {
      const auto tid = static_cast<uint32_t>(gettid());
      usleep(20000);  // The reader waits by then.
      if (write(told[1], &tid, sizeof(tid)) < 0 || write(ends[1], "x", 1) != 1) std::abort();
    });
    const bool reaped = ring.Reap(1);
    writer.join();
    return reaped;
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  uint32_t writer_tid = 0;
  ASSERT_EQ(read(told[0], &writer_tid, sizeof(writer_tid)),
            static_cast<ssize_t>(sizeof(writer_tid)));
  const auto submits = captured.Of(verbs::kIoUringSubmit);
  const auto armed = captured.Of(verbs::kIoUringPollArm);
  const auto added = captured.Of(verbs::kIoUringTaskAdd);
  const auto waits = captured.Of(verbs::kIoUringCqWait);
  ASSERT_EQ(submits.size(), 1U);
  ASSERT_EQ(armed.size(), 1U);
  EXPECT_EQ(armed[0].key, submits[0].key);
  ASSERT_GE(added.size(), 1U);
  EXPECT_EQ(added[0].key, submits[0].key);
  EXPECT_EQ(added[0].tid, writer_tid);
  EXPECT_EQ(added[0].level, Level::kTask);
  EXPECT_NE(added[0].arg & POLLIN, 0U);
  ASSERT_GE(waits.size(), 1U);
  EXPECT_EQ(waits[0].arg, 1U);
  EXPECT_EQ(waits[0].arg2, 0U) << "head and tail of an empty queue that was never used";
  EXPECT_EQ(waits[0].key2, submits[0].key2);
}

TEST(KernelIoUring, CqWaitTellsHeadAndTail) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    Ring ring;
    for (int i = 0; i < 3; ++i) io_uring_prep_nop(ring.Sqe());
    if (!ring.SubmitAndReap(2)) return false;  // One entry stays.
    __kernel_timespec pause = {0, 5'000'000};
    io_uring_sqe* sqe = ring.Sqe();
    io_uring_prep_timeout(sqe, &pause, 0, 0);
    return io_uring_submit_and_wait(ring.get(), 2) >= 0;
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const auto waits = captured.Of(verbs::kIoUringCqWait);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].arg, 2U);
  EXPECT_EQ(waits[0].arg2, uint64_t{2} | uint64_t{3} << 32);
}

TEST(KernelIoUring, OverflowAndCompletionsAddUp) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    Ring ring(64);
    for (int batch = 0; batch < 3; ++batch) {
      for (int i = 0; i < 60; ++i) io_uring_prep_nop(ring.Sqe());
      if (io_uring_submit(ring.get()) != 60) return false;
    }
    return true;
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  EXPECT_EQ(captured.Of(verbs::kIoUringSubmit).size(), 180U);
  const auto overflows = captured.Of(verbs::kIoUringOverflow);
  EXPECT_EQ(overflows.size(), 52U);
  EXPECT_EQ(captured.Of(verbs::kIoUringComplete).size(), 128U);
  ASSERT_FALSE(overflows.empty());
  EXPECT_EQ(overflows[0].key.lo, 0U);
  EXPECT_EQ(overflows[0].key2, captured.Of(verbs::kIoUringSubmit)[0].key2);
}

TEST(KernelIoUring, AnEntryThatIsNoRequestFails) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    Ring ring;
    io_uring_sqe* sqe = ring.Sqe();
    io_uring_prep_nop(sqe);
    sqe->opcode = 250;
    sqe->user_data = 11;
    return ring.SubmitAndReap(1);
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const auto failed = captured.Of(verbs::kIoUringReqFailed);
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].arg, 11U);
  EXPECT_EQ(OpcodeOf(failed[0]), 250);
  const auto completes = captured.Of(verbs::kIoUringComplete);
  ASSERT_EQ(completes.size(), 1U);
  EXPECT_EQ(completes[0].key, failed[0].key);
  EXPECT_LT(ResultOf(completes[0]), 0);
}

TEST(KernelIoUring, ADrainedRequestIsDeferred) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    Ring ring;
    __kernel_timespec pause = {0, 5'000'000};
    io_uring_prep_timeout(ring.Sqe(), &pause, 0, 0);
    io_uring_sqe* sqe = ring.Sqe();
    io_uring_prep_nop(sqe);
    sqe->flags |= IOSQE_IO_DRAIN;
    sqe->user_data = 21;
    return ring.SubmitAndReap(2);
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const auto deferred = captured.Of(verbs::kIoUringDefer);
  const auto submits = captured.Of(verbs::kIoUringSubmit);
  const Event* nop = FindData(submits, 21);
  ASSERT_EQ(deferred.size(), 1U);
  ASSERT_NE(nop, nullptr);
  EXPECT_EQ(deferred[0].key, nop->key);
}

TEST(KernelIoUring, MultishotCompletionsCarryNoRequestUntilTheLast) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    Ring ring;
    int ends[2];
    if (pipe(ends) != 0) return false;
    io_uring_sqe* sqe = ring.Sqe();
    io_uring_prep_poll_multishot(sqe, ends[0], POLLIN);
    sqe->user_data = 31;
    if (io_uring_submit(ring.get()) != 1) return false;
    for (int i = 0; i < 3; ++i) {
      if (write(ends[1], "x", 1) != 1 || !ring.Reap(1)) return false;
    }
    sqe = ring.Sqe();
    io_uring_prep_poll_remove(sqe, 31);
    return ring.SubmitAndReap(2);
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const Event submit = captured.Of(verbs::kIoUringSubmit).at(0);
  size_t intermediate = 0;
  size_t last = 0;
  for (const Event& complete : captured.Of(verbs::kIoUringComplete)) {
    if (complete.arg != 31) continue;
    EXPECT_EQ(complete.key2, submit.key2);
    if ((CqeFlagsOf(complete) & kCqeMore) != 0) {
      EXPECT_EQ(complete.key.lo, 0U);
      ++intermediate;
    } else {
      EXPECT_EQ(complete.key, submit.key);
      ++last;
    }
  }
  EXPECT_EQ(intermediate, 3U);
  EXPECT_EQ(last, 1U);
}

TEST(KernelIoUring, AnExistingRingIsListedUnderItsKey) {
  CPROF_SKIP_UNLESS_ROOT();
  static Ring* ring;  // Made by the child, before it waits to go.
  Child child(
      [] {
        io_uring_prep_nop(ring->Sqe());
        return ring->SubmitAndReap(1);
      },
      [] { ring = new Ring; });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const auto submits = captured.Of(verbs::kIoUringSubmit);
  ASSERT_EQ(submits.size(), 1U);
  size_t found = 0;
  for (const FoundRing& existing : captured.rings_before) {
    if (existing.tgid != child.pid()) continue;
    EXPECT_EQ(existing.ring, submits[0].key2.lo);
    EXPECT_EQ(existing.start_time_ns, submits[0].start_time_ns);
    ++found;
  }
  EXPECT_EQ(found, 1U);
}

TEST(KernelIoUring, ForeignRequestsAreFilteredByTheirOwner) {
  CPROF_SKIP_UNLESS_ROOT();
  // A process that is no target writes into the pipe that the target's request waits for.
  int asked[2], ends[2];
  ASSERT_EQ(pipe(asked), 0);
  ASSERT_EQ(pipe(ends), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    char byte;
    while (read(asked[0], &byte, 1) == 1 && write(ends[1], "x", 1) == 1) {
    }
    _exit(0);
  }
  constexpr size_t kReads = 5;
  Child child([&] {
    Ring ring;
    static char buffer[1];
    for (size_t i = 0; i < kReads; ++i) {
      io_uring_prep_read(ring.Sqe(), ends[0], buffer, sizeof(buffer), 0);
      if (io_uring_submit(ring.get()) != 1 || write(asked[1], "?", 1) != 1) return false;
      if (!ring.Reap(1)) return false;
    }
    return true;
  });
  const Captured captured = RecordChild(child, IoUringOptions());
  EXPECT_TRUE(captured.child_succeeded);
  size_t by_writer = 0;
  for (const Event& added : captured.Of(verbs::kIoUringTaskAdd)) {
    by_writer += added.tid == static_cast<uint32_t>(writer);
  }
  EXPECT_EQ(by_writer, kReads);
  for (const Event& submit : captured.Of(verbs::kIoUringSubmit)) {
    EXPECT_EQ(submit.tgid, child.pid());
  }
  kill(writer, SIGKILL);
}

TEST(KernelIoUring, EachHookHasTheVariantOfThisKernel) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] { return true; });
  const Captured captured = RecordChild(child, IoUringOptions());
  const auto hook = [&](const char* name) {
    const auto found = captured.attributes.find(name);
    return found == captured.attributes.end() ? std::string("missing") : found->second;
  };
  EXPECT_TRUE(hook("hook.io_uring.submit") == "submit_req" ||
              hook("hook.io_uring.submit") == "submit_sqe");
  EXPECT_TRUE(hook("hook.io_uring.complete") == "complete_cqe" ||
              hook("hook.io_uring.complete") == "complete_args");
  for (const auto& [name, variant] : captured.attributes) {
    if (!name.starts_with("hook.")) continue;
    EXPECT_FALSE(variant.empty()) << name;
    EXPECT_FALSE(variant.starts_with("unavailable: the kernel refuses")) << name << variant;
  }
}

}  // namespace
}  // namespace cprof
