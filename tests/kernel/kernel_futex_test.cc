// The futex adapter on the running kernel: both sides of a wait name the same object.
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "capture_run.h"

namespace cprof {
namespace {

KernelCaptureOptions FutexOptions() {
  KernelCaptureOptions options;
  options.adapters = {"futex", "sched"};
  return options;
}

std::atomic<int> turn;

void PingPong(int mine, int rounds, int flags) {
  for (int i = 0; i < rounds; ++i) {
    while (turn.load() != mine) {
      syscall(SYS_futex, &turn, FUTEX_WAIT | flags, 1 - mine, nullptr, nullptr, 0);
    }
    turn.store(1 - mine);
    syscall(SYS_futex, &turn, FUTEX_WAKE | flags, 1, nullptr, nullptr, 0);
  }
}

// Every wake must have its sched:waking by the same thread, of the same wakee, at nearly its place.
void ExpectWakesAreWakings(const Captured& captured, Verb wake_verb) {
  std::multiset<std::pair<uint32_t, uint64_t>> wakings;
  for (const Event& waking : captured.Of(verbs::kSchedWaking)) {
    wakings.emplace(waking.tid, OtherThread(waking).tid);
  }
  for (const Event& wake : captured.Of(wake_verb)) {
    const auto found = wakings.find({wake.tid, wake.arg2});
    ASSERT_NE(found, wakings.end());
    wakings.erase(found);
  }
}

TEST(KernelFutex, WaitAndWakeNameTheSamePrivateWord) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    std::thread other([] { PingPong(1, 200, FUTEX_PRIVATE_FLAG); });
    PingPong(0, 200, FUTEX_PRIVATE_FLAG);
    other.join();
    return true;
  });
  const Captured captured = RecordChild(child, FutexOptions());
  EXPECT_TRUE(captured.child_succeeded);
  // The child is a fork: the word is where ours is.
  const auto address = reinterpret_cast<uint64_t>(&turn);
  std::set<uint32_t> waiters;
  size_t waits = 0;
  for (const Event& wait : captured.Of(verbs::kFutexWait)) {
    if (wait.key.lo != address) continue;
    EXPECT_EQ(wait.key2.lo, 0U);
    EXPECT_EQ(wait.arg, static_cast<uint64_t>(FUTEX_WAIT));
    EXPECT_EQ(wait.tgid, child.pid());
    waiters.insert(wait.tid);
    ++waits;
  }
  EXPECT_GE(waits, 20U);
  EXPECT_LE(waiters.size(), 2U);
  size_t wakes = 0;
  for (const Event& wake : captured.Of(verbs::kFutexWake)) {
    if (wake.key.lo != address) continue;
    EXPECT_EQ(wake.key2.lo, 0U);
    EXPECT_TRUE(waiters.contains(static_cast<uint32_t>(wake.arg2)));
    EXPECT_NE(wake.arg2, wake.tid);
    ++wakes;
  }
  EXPECT_GE(wakes, 20U);
  ExpectWakesAreWakings(captured, verbs::kFutexWake);
}

TEST(KernelFutex, ASharedWordHasTheScopeOfItsAddressSpace) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    std::thread other([] { PingPong(1, 100, 0); });
    PingPong(0, 100, 0);
    other.join();
    return true;
  });
  const Captured captured = RecordChild(child, FutexOptions());
  const auto address = reinterpret_cast<uint64_t>(&turn);
  std::set<uint64_t> wait_scopes, wake_scopes;
  for (const Event& wait : captured.Of(verbs::kFutexWait)) {
    if (wait.key.lo == address) wait_scopes.insert(wait.key2.lo);
  }
  for (const Event& wake : captured.Of(verbs::kFutexWake)) {
    if (wake.key.lo == address) wake_scopes.insert(wake.key2.lo);
  }
  ASSERT_EQ(wait_scopes.size(), 1U);
  EXPECT_NE(*wait_scopes.begin(), 0U);
  EXPECT_EQ(wait_scopes, wake_scopes);
}

TEST(KernelFutex, AnExitWakesWhoJoinsTheThread) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    std::thread other([] { usleep(20000); });
    other.join();
    return true;
  });
  const Captured captured = RecordChild(child, FutexOptions());
  const auto wakes = captured.Of(verbs::kFutexWake);
  ASSERT_EQ(wakes.size(), 1U);
  EXPECT_EQ(wakes[0].arg2, child.pid());
  size_t waits = 0;
  for (const Event& wait : captured.Of(verbs::kFutexWait)) {
    if (wait.tid != child.pid()) continue;
    EXPECT_EQ(wait.key, wakes[0].key);
    EXPECT_EQ(wait.key2, wakes[0].key2);
    ++waits;
  }
  EXPECT_GE(waits, 1U);
}

TEST(KernelFutex, EventfdSidesNameTheSameObject) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    const int event = eventfd(0, 0);
    const int same = dup(event);
    std::thread reader([event] {
      uint64_t value;
      for (int i = 0; i < 5; ++i) {
        if (read(event, &value, sizeof(value)) != sizeof(value)) std::abort();
      }
    });
    const uint64_t one = 1;
    for (int i = 0; i < 5; ++i) {
      usleep(10000);  // The reader waits by then.
      if (write(same, &one, sizeof(one)) != sizeof(one)) return false;
    }
    reader.join();
    return true;
  });
  const Captured captured = RecordChild(child, FutexOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const auto waits = captured.Of(verbs::kEventfdWait);
  const auto signals = captured.Of(verbs::kEventfdSignal);
  ASSERT_GE(waits.size(), 3U);
  ASSERT_GE(signals.size(), 3U);
  for (const Event& wait : waits) EXPECT_EQ(wait.key, waits[0].key);
  for (const Event& signal : signals) {
    EXPECT_EQ(signal.key, waits[0].key);
    EXPECT_EQ(signal.arg2, waits[0].tid);
    EXPECT_NE(signal.arg, waits[0].arg) << "each side names its own descriptor";
  }
  ExpectWakesAreWakings(captured, verbs::kEventfdSignal);
}

TEST(KernelFutex, AnEpollWaitNamesItsEpoll) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    const int event = eventfd(0, 0);
    const int epoll = epoll_create1(0);
    epoll_event interest = {};
    interest.events = EPOLLIN;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, event, &interest) != 0) return false;
    std::thread writer([event] {
      usleep(20000);
      const uint64_t one = 1;
      if (write(event, &one, sizeof(one)) != sizeof(one)) std::abort();
    });
    epoll_event got;
    const bool woken = epoll_wait(epoll, &got, 1, -1) == 1;
    writer.join();
    return woken;
  });
  const Captured captured = RecordChild(child, FutexOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const auto waits = captured.Of(verbs::kEpollWait);
  const auto signals = captured.Of(verbs::kEventfdSignal);
  ASSERT_GE(waits.size(), 1U);
  EXPECT_EQ(waits[0].tid, child.pid());
  EXPECT_NE(waits[0].key.lo, 0U);
  ASSERT_EQ(signals.size(), 1U);
  EXPECT_EQ(signals[0].arg2, child.pid());
  EXPECT_NE(signals[0].key, waits[0].key) << "an eventfd is no epoll";
}

TEST(KernelFutex, ASleepIsNoWaitOnAnObject) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    int ends[2];
    if (pipe(ends) != 0) return false;
    std::thread writer([&] {
      usleep(10000);
      if (write(ends[1], "x", 1) != 1) std::abort();
    });
    char byte;
    const bool got = read(ends[0], &byte, 1) == 1;
    usleep(30000);  // The writer is gone by then, so that joining it does not wait.
    writer.join();
    return got;
  });
  const Captured captured = RecordChild(child, FutexOptions());
  EXPECT_TRUE(captured.child_succeeded);
  EXPECT_TRUE(captured.Of(verbs::kEventfdWait).empty());
  EXPECT_TRUE(captured.Of(verbs::kEventfdSignal).empty());
  EXPECT_TRUE(captured.Of(verbs::kEpollWait).empty());
  EXPECT_TRUE(captured.Of(verbs::kFutexWake).empty());
}

}  // namespace
}  // namespace cprof
