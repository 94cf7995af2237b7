// CPU time per thread, against /proc/PID/task/*/schedstat.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/accounts/busy_process.h"
#include "tests/cli/run.h"

namespace cprof::test {
namespace {

using CpuByTid = std::map<uint32_t, uint64_t>;

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

struct Recorded {
  CpuByTid cpu_ns;           // of `cprof report --by thread --format json`, where it names a figure
  uint64_t duration_ns = 0;  // from the opening of the gate to its closing
};

// Records pid while `during` runs, which begins with the gate open and ends before it closes.
Recorded RecordWhile(pid_t pid, const std::function<void()>& during) {
  const Folder folder;
  const std::string fifo = folder.File("fifo"), file = folder.File("data");
  EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  RunOptions options;
  options.until = "armed";
  options.while_running = [&](pid_t) {
    during();
    const int fd = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(write(fd, "\n", 1), 1);
    close(fd);
  };
  const Outcome outcome = RunCprof({"record", "-q", "-p", std::to_string(pid), "-o", file, "--",
                                    "sh", "-c", "echo armed >&2; read line < " + fifo},
                                   options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  Recorded recorded;
  uint64_t opened_ns = 0;
  for (const Event& event : ReadFile(file).recorder_events) {
    if (event.verb != verbs::kRecorderGate) continue;
    if (event.arg != 0) {
      opened_ns = event.time_ns;
    } else {
      recorded.duration_ns = event.time_ns - opened_ns;
    }
  }
  const Outcome report = RunCprof({"report", "-i", file, "--by", "thread", "--format", "json"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  const auto json = nlohmann::json::parse(report.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded());
  if (json.is_discarded()) return recorded;
  for (const auto& row : json["threads"]) {
    const std::string name = row["thread"];
    if (!row["cpu_ns"].is_number()) continue;
    recorded.cpu_ns[static_cast<uint32_t>(std::stoul(name.substr(name.rfind('/') + 1)))] =
        row["cpu_ns"];
  }
  return recorded;
}

TEST(AccountsThread, CpuTimeIsThatOfTheScheduler) {
  if (geteuid() != 0) GTEST_SKIP() << "recording needs root";
  BusyProcess process(BusyProcess::Mode::kRounds);
  CpuByTid before, after, short_threads;
  const Recorded recorded = RecordWhile(process.pid(), [&] {
    before = process.ReadSchedstat();
    short_threads = process.Work();
    after = process.ReadSchedstat();
  });
  ASSERT_EQ(before.size(), 7U);
  ASSERT_EQ(after.size(), 7U);
  size_t idle = 0;
  double worst = 0;
  for (const auto& [tid, runtime_ns] : after) {
    ASSERT_TRUE(recorded.cpu_ns.contains(tid)) << tid << " has no CPU time";
    const uint64_t truth_ns = runtime_ns - before[tid];
    const uint64_t told_ns = recorded.cpu_ns.at(tid);
    if (truth_ns == 0) ++idle;
    EXPECT_NEAR(static_cast<double>(told_ns), static_cast<double>(truth_ns),
                static_cast<double>(truth_ns) * 0.005)
        << "thread " << tid;
    if (truth_ns == 0) continue;
    worst =
        std::max(worst, std::abs(static_cast<double>(told_ns) / static_cast<double>(truth_ns) - 1));
  }
  EXPECT_EQ(idle, 1U) << "one thread never runs";
  double worst_short = 0;
  ASSERT_EQ(short_threads.size(), 12U);
  for (const auto& [tid, truth_ns] : short_threads) {
    ASSERT_TRUE(recorded.cpu_ns.contains(tid)) << "short-lived " << tid;
    const double ratio =
        static_cast<double>(recorded.cpu_ns.at(tid)) / static_cast<double>(truth_ns);
    // A thread goes on for a moment after its last look at the clock, in user space and in exit.
    EXPECT_GE(ratio, 1.0) << "short-lived " << tid;
    EXPECT_LE(ratio, 1.1) << "short-lived " << tid;
    worst_short = std::max(worst_short, ratio - 1);
  }
  std::printf("7 threads: off by %.4f %% at most; 12 short-lived: %.3f %% at most, end included\n",
              worst * 100, worst_short * 100);
}

// Threads that are at work at both ends: the account of the kernel itself moves at ticks and
// switches only, and readings here and there are not at one instant.
TEST(AccountsThread, CpuTimeIsExactForThreadsAtWorkAtBothEnds) {
  if (geteuid() != 0) GTEST_SKIP() << "recording needs root";
  BusyProcess process(BusyProcess::Mode::kForever);
  CpuByTid before, after;
  uint64_t inside_ns = 0;
  const Recorded recorded = RecordWhile(process.pid(), [&] {
    const uint64_t from_ns = NowNs();
    before = process.ReadSchedstat();
    sleep(2);
    after = process.ReadSchedstat();
    inside_ns = NowNs() - from_ns;
  });
  ASSERT_GT(recorded.duration_ns, inside_ns);
  const auto outside_ns = static_cast<double>(recorded.duration_ns - inside_ns);
  constexpr double kTickNs = 1e7;  // of the slowest clock, 100 Hz
  size_t compared = 0;
  for (const auto& [tid, runtime_ns] : after) {
    if (!before.contains(tid)) continue;  // a short one
    ASSERT_TRUE(recorded.cpu_ns.contains(tid)) << tid << " has no CPU time";
    const auto truth_ns = static_cast<double>(runtime_ns - before[tid]);
    const auto told_ns = static_cast<double>(recorded.cpu_ns.at(tid));
    EXPECT_GE(told_ns, truth_ns * 0.995 - kTickNs) << "thread " << tid;
    EXPECT_LE(told_ns, truth_ns * 1.005 + kTickNs + outside_ns) << "thread " << tid;
    std::printf("thread %u: %.3f ms told, %.3f ms by schedstat, %.1f ms outside\n", tid,
                told_ns / 1e6, truth_ns / 1e6, outside_ns / 1e6);
    ++compared;
  }
  EXPECT_GE(compared, 7U);
}

// In the first class of the scheduler a thread keeps its CPU; none of its switches is recorded.
TEST(AccountsThread, AThreadThatNeverLeavesItsCpuHasItsTime) {
  if (geteuid() != 0) GTEST_SKIP() << "recording needs root";
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) - 1, &last);
    sched_setaffinity(0, sizeof(last), &last);
    const sched_param first = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) _exit(1);
    // Ends by itself: the system must not depend on the test.
    const rlimit limit = {.rlim_cur = 5, .rlim_max = 5};
    setrlimit(RLIMIT_CPU, &limit);
    while (true) {
    }
  }
  usleep(20'000);
  const auto schedstat = [pid] {
    uint64_t runtime_ns = 0;
    FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/schedstat").c_str(), "r");
    if (file != nullptr) {
      EXPECT_EQ(std::fscanf(file, "%lu", &runtime_ns), 1);
      std::fclose(file);
    }
    return runtime_ns;
  };
  uint64_t truth_ns = 0, inside_ns = 0;
  const Recorded recorded = RecordWhile(pid, [&] {
    const uint64_t from_ns = NowNs(), before_ns = schedstat();
    usleep(600'000);
    truth_ns = schedstat() - before_ns;
    inside_ns = NowNs() - from_ns;
  });
  kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status)) GTEST_SKIP() << "no real-time class here";
  ASSERT_TRUE(recorded.cpu_ns.contains(static_cast<uint32_t>(pid)));
  const auto told_ns = static_cast<double>(recorded.cpu_ns.at(static_cast<uint32_t>(pid)));
  const auto outside_ns = static_cast<double>(recorded.duration_ns - inside_ns);
  constexpr double kTickNs = 1e7;
  EXPECT_GE(told_ns, static_cast<double>(truth_ns) * 0.995 - kTickNs);
  EXPECT_LE(told_ns, static_cast<double>(truth_ns) * 1.005 + kTickNs + outside_ns);
  std::printf("%.3f ms told, %.3f ms by schedstat, %.1f ms outside\n", told_ns / 1e6,
              static_cast<double>(truth_ns) / 1e6, outside_ns / 1e6);
}

}  // namespace
}  // namespace cprof::test
