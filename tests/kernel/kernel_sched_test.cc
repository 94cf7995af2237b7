// The sched adapter and the filter on the running kernel.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

#include "capture_run.h"

namespace cprof {
namespace {

KernelCaptureOptions SchedOptions() {
  KernelCaptureOptions options;
  options.adapters = {"sched"};
  return options;
}

void BurnNs(uint64_t cpu_ns) {
  timespec now = {};
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec) <
           cpu_ns);
}

std::string CommOf(const Event& event) {
  char text[17] = {};
  std::memcpy(text, &event.arg, 8);
  std::memcpy(text + 8, &event.arg2, 8);
  return text;
}

TEST(KernelSched, SleepIsEndedByAHardwareInterrupt) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    for (int i = 0; i < 20; ++i) usleep(1000);
    return true;
  });
  const Captured captured = RecordChild(child, SchedOptions());
  size_t by_timer = 0;
  for (const Event& waking : captured.Of(verbs::kSchedWaking)) {
    if (OtherThread(waking).tid != child.pid() || waking.level != Level::kHardirq) continue;
    by_timer += waking.arg2 == 1;
  }
  EXPECT_GE(by_timer, 20U);
  EXPECT_EQ(captured.attributes.at("interrupt_level"), "preempt_count");
}

// The timeouts of calls that wait for something else are the thread's own too. A timer that makes a
// descriptor readable is not, and neither is a thread that comes first.
TEST(KernelSched, OwnTimeoutsAreToldFromOtherWakings) {
  CPROF_SKIP_UNLESS_ROOT();
  constexpr int kRounds = 10;
  Child child([] {
    uint32_t word = 0;
    const timespec soon = {0, 1'000'000};
    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    const itimerspec once = {{0, 0}, {0, 1'000'000}};
    bool good = timer >= 0;
    for (int i = 0; i < kRounds; ++i) {
      good &= syscall(SYS_futex, &word, 128 /* private wait */, 0, &soon, nullptr, 0) == -1 &&
              errno == ETIMEDOUT;
      pollfd nothing = {timer, POLLIN, 0};
      good &= poll(&nothing, 1, 1) == 0;
    }
    for (int i = 0; i < kRounds; ++i) {
      uint64_t count = 0;
      good &= timerfd_settime(timer, 0, &once, nullptr) == 0 &&
              read(timer, &count, sizeof(count)) == sizeof(count);
    }
    return good;
  });
  const Captured captured = RecordChild(child, SchedOptions());
  EXPECT_TRUE(captured.child_succeeded);
  int own = 0, others = 0;
  for (const Event& waking : captured.Of(verbs::kSchedWaking)) {
    if (OtherThread(waking).tid != child.pid()) continue;
    EXPECT_TRUE(waking.arg2 == 0 || waking.level == Level::kHardirq);
    if (waking.level == Level::kHardirq) (waking.arg2 == 1 ? own : others) += 1;
  }
  // A timer may fire before its thread has gone to sleep: then nobody is woken.
  EXPECT_GT(own, 0);
  EXPECT_LE(own, 2 * kRounds);
  EXPECT_GT(others, 0);
  EXPECT_LE(own + others, 3 * kRounds) << own << " of its own";
}

TEST(KernelSched, WakeByAThreadIsInTaskContext) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0) return false;
    std::thread answer([&] {
      char byte;
      while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) {
      }
    });
    char byte = 0;
    for (int i = 0; i < 50; ++i) {
      if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return false;
    }
    close(there[1]);
    answer.join();
    return true;
  });
  const Captured captured = RecordChild(child, SchedOptions());
  EXPECT_TRUE(captured.child_succeeded);
  size_t by_peer = 0;
  for (const Event& waking : captured.Of(verbs::kSchedWaking)) {
    if (waking.level != Level::kTask || waking.tgid != child.pid()) continue;
    if (OtherThread(waking).tgid == child.pid()) {
      EXPECT_NE(OtherThread(waking).tid, waking.tid);
      ++by_peer;
    }
  }
  EXPECT_GE(by_peer, 10U);  // Many answers come before the other side blocks.
}

TEST(KernelSched, ForkExecAndExitOfAChildAreTold) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    const pid_t pid = fork();
    if (pid == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(1);
    }
    int status = 1;
    return waitpid(pid, &status, 0) == pid && status == 0;
  });
  const Captured captured = RecordChild(child, SchedOptions());
  EXPECT_TRUE(captured.child_succeeded);
  const auto forks = captured.Of(verbs::kSchedFork);
  ASSERT_EQ(forks.size(), 1U);
  EXPECT_EQ(forks[0].tid, child.pid());
  const ThreadKey grandchild = OtherThread(forks[0]);
  EXPECT_EQ(grandchild.tid, grandchild.tgid);
  const auto execs = captured.Of(verbs::kSchedExec);
  ASSERT_EQ(execs.size(), 1U);
  EXPECT_EQ(ExecutingThread(execs[0]), grandchild);
  EXPECT_EQ(execs[0].arg, grandchild.tid);
  bool grandchild_exited = false;
  for (const Event& exit : captured.Of(verbs::kSchedExit)) {
    if (ExecutingThread(exit) == grandchild) {
      grandchild_exited = true;
      EXPECT_EQ(exit.arg, 1U) << "the last thread of its process";
    }
  }
  EXPECT_TRUE(grandchild_exited);
  std::set<std::string> names;
  for (const Event& comm : captured.Of(verbs::kSchedComm)) {
    if (OtherThread(comm).tid == grandchild.tid) names.insert(CommOf(comm));
  }
  EXPECT_TRUE(names.contains("true"));
}

TEST(KernelSched, WithoutInheritanceAChildIsNoTarget) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    const pid_t pid = fork();
    if (pid == 0) {
      usleep(1000);
      _exit(0);
    }
    return waitpid(pid, nullptr, 0) == pid;
  });
  KernelCaptureOptions options = SchedOptions();
  options.inherit = false;
  const Captured captured = RecordChild(child, options);
  const auto forks = captured.Of(verbs::kSchedFork);
  ASSERT_EQ(forks.size(), 1U) << "the fork itself is the parent's";
  const ThreadKey grandchild = OtherThread(forks[0]);
  for (const Event& event : captured.events) {
    EXPECT_FALSE(event.verb == verbs::kSchedExit && ExecutingThread(event) == grandchild);
    EXPECT_FALSE(event.verb == verbs::kSchedRuntime && OtherThread(event) == grandchild);
  }
  EXPECT_EQ(captured.Of(verbs::kSchedExit).size(), 1U);
}

uint64_t CpuNs(clockid_t clock) {
  timespec used = {};
  clock_gettime(clock, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

TEST(KernelSched, CpuTimeIsThatOfTheScheduler) {
  CPROF_SKIP_UNLESS_ROOT();
  int result[2];
  ASSERT_EQ(pipe(result), 0);
  Child child([&] {
    uint64_t told[3] = {};  // tid, what schedstat says before the thread exits, what it used in all
    std::thread worker([&] {
      BurnNs(400'000'000);
      told[0] = static_cast<uint64_t>(gettid());
      FILE* file = std::fopen("/proc/thread-self/schedstat", "re");
      if (file == nullptr || std::fscanf(file, "%lu", &told[1]) != 1) told[1] = 0;
      if (file != nullptr) std::fclose(file);
    });
    worker.join();
    usleep(20000);  // A thread can be joined before it has left the CPU for the last time.
    // The process has two threads, and its account keeps what the dead one used. A virtual CPU may
    // be taken away between two readings, and that counts as used too: read until it was not.
    uint64_t before_ns = 0, process_ns = 0, after_ns = 0;
    do {
      before_ns = CpuNs(CLOCK_THREAD_CPUTIME_ID);
      process_ns = CpuNs(CLOCK_PROCESS_CPUTIME_ID);
      after_ns = CpuNs(CLOCK_THREAD_CPUTIME_ID);
    } while (after_ns - before_ns > 200'000);
    told[2] = process_ns - before_ns;
    return told[1] != 0 && write(result[1], told, sizeof(told)) == sizeof(told);
  });
  const Captured captured = RecordChild(child, SchedOptions());
  ASSERT_TRUE(captured.child_succeeded);
  uint64_t told[3] = {};
  ASSERT_EQ(read(result[0], told, sizeof(told)), static_cast<ssize_t>(sizeof(told)));
  uint64_t recorded_ns = 0;
  size_t count = 0;
  for (const Event& runtime : captured.Of(verbs::kSchedRuntime)) {
    if (OtherThread(runtime).tid != told[0]) continue;
    EXPECT_GE(runtime.arg, recorded_ns) << "CPU time only grows";
    recorded_ns = runtime.arg;
    ++count;
  }
  EXPECT_GE(count, 2U) << "at first sight and at the end";
  EXPECT_GE(recorded_ns, told[1]);
  const double share = static_cast<double>(recorded_ns) / static_cast<double>(told[2]);
  EXPECT_NEAR(share, 1.0, 0.005);
}

TEST(KernelSched, TheRecorderNeverAppears) {
  CPROF_SKIP_UNLESS_ROOT();
  int wake[2];
  ASSERT_EQ(pipe(wake), 0);
  Child child([&] {
    close(wake[1]);
    char bytes[64];
    while (read(wake[0], bytes, sizeof(bytes)) > 0) {
      static int reads = 0;
      if (++reads == 30) break;
    }
    return true;
  });
  KernelCaptureOptions options = SchedOptions();
  options.adapters = {"sched", "futex", "io_uring", "sample"};
  options.system_wide = true;
  RunOptions run;
  run.each_sweep = [&] {
    // Both wakes a target and works a little: neither may be seen.
    const char byte = 0;
    EXPECT_LE(write(wake[1], &byte, 1), 1);
    std::thread([] {}).join();
  };
  signal(SIGPIPE, SIG_IGN);
  const Captured captured = RecordChild(child, options, run);
  EXPECT_GT(captured.events.size(), 100U);
  const auto self = static_cast<uint32_t>(getpid());
  for (const Event& event : captured.events) {
    ASSERT_NE(event.tgid, self);
    const VerbInfo* verb = FindVerb(event.verb);
    ASSERT_NE(verb, nullptr);
    if (verb->key == "thread") {
      ASSERT_NE(OtherThread(event).tgid, self) << verb->name;
    }
  }
  for (const StackSample& sample : captured.samples) EXPECT_NE(sample.event.tgid, self);
}

TEST(KernelSched, OnlyTheWantedCpuIsRecorded) {
  CPROF_SKIP_UNLESS_ROOT();
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "this machine has one CPU";
  Child child([] {
    for (int i = 0; i < 20; ++i) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(i % 2, &set);
      sched_setaffinity(0, sizeof(set), &set);
      usleep(500);
    }
    return true;
  });
  KernelCaptureOptions options = SchedOptions();
  options.cpus = {1};
  const Captured captured = RecordChild(child, options);
  std::map<StreamId, uint32_t> cpu_of;
  for (const StreamInfo& stream : captured.streams) cpu_of[stream.id] = stream.cpu;
  EXPECT_FALSE(captured.events.empty());
  for (const Event& event : captured.events) EXPECT_EQ(cpu_of.at(event.stream), 1U);
}

TEST(KernelSched, AThreadOfItsOwnIsATarget) {
  CPROF_SKIP_UNLESS_ROOT();
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  Child child(
      [] {
        usleep(50000);
        return true;
      },
      [&] {
        std::thread([&] {
          const auto tid = static_cast<uint32_t>(gettid());
          if (write(told[1], &tid, sizeof(tid)) != sizeof(tid)) return;
          while (true) usleep(1000);  // until the process exits, however long arming takes
        }).detach();
      });
  uint32_t tid = 0;
  ASSERT_EQ(read(told[0], &tid, sizeof(tid)), static_cast<ssize_t>(sizeof(tid)));
  KernelCaptureOptions options = SchedOptions();
  options.tids = {tid};
  const Captured captured = RecordChild(child, options);
  size_t of_thread = 0;
  for (const Event& event : captured.Of(verbs::kSchedSwitch)) {
    const bool is_its = event.tid == tid || OtherThread(event).tid == tid;
    EXPECT_TRUE(is_its);
    of_thread += is_its;
  }
  EXPECT_GT(of_thread, 10U);
}

TEST(KernelSched, MostSwitchesTellHowLongBeforeTheAccountTurned) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    for (int i = 0; i < 100; ++i) usleep(100);
    return true;
  });
  const Captured captured = RecordChild(child, SchedOptions());
  size_t tell = 0;
  const std::vector<Event> switches = captured.Of(verbs::kSchedSwitch);
  for (const Event& event : switches) tell += event.flags != 0;
  EXPECT_GT(tell * 2, switches.size());
}

TEST(KernelSched, ExistingThreadsAreListedWithTheirExactStart) {
  CPROF_SKIP_UNLESS_ROOT();
  Child child([] {
    usleep(3000);
    return true;
  });
  const Captured captured = RecordChild(child, SchedOptions());
  const FoundThread* found = nullptr;
  for (const FoundThread& thread : captured.threads_before) {
    EXPECT_NE(thread.tgid, static_cast<uint32_t>(getpid()));
    if (thread.tid == child.pid()) found = &thread;
  }
  ASSERT_NE(found, nullptr);
  const auto exits = captured.Of(verbs::kSchedExit);
  ASSERT_EQ(exits.size(), 1U);
  EXPECT_EQ(exits[0].start_time_ns, found->start_time_ns);
}

}  // namespace
}  // namespace cprof
