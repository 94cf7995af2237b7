// timer_workload: requests that wait for a clock: a sleep, a timerfd, a timeout of an io_uring.
//
// Every thread has its own timers, so an interrupt is the only waker. Switches (--faults):
// `rearm`, a timer is set again before it runs out; `cancel`, a timer is taken back; `coincide`,
// the timers of all threads run out at the same instants.
#include <liburing.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <random>
#include <thread>
#include <vector>

#include "tests/causality/workloads/truth_thread.h"
#include "tests/causality/workloads/workload_main.h"

namespace cprof::causality {
namespace {

struct Options : CommonOptions {
  uint64_t threads = 3, work = 30, wait = 300;
  std::string faults = "rearm,cancel,coincide";
};

enum class Kind { kSleep, kTimerfd, kTimeout };
constexpr std::array<const char*, 3> kKinds = {"sleep", "timerfd", "timeout"};
constexpr uint64_t kInstantNs = 1000000;
constexpr uint64_t kFarNs = 3600000000000;  // a timer that never runs out here

timespec TimeOf(uint64_t time_ns) {
  return {static_cast<time_t>(time_ns / 1000000000ULL), static_cast<long>(time_ns % 1000000000ULL)};
}

// What one thread waits with.
class Timers {
 public:
  Timers() : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
    CPROF_CHECK(timer_ >= 0 && io_uring_queue_init(8, &ring_, 0) == 0);
  }
  ~Timers() {
    io_uring_queue_exit(&ring_);
    close(timer_);
  }

  void Set(uint64_t until_ns) {
    itimerspec when = {};
    if (until_ns != 0) when.it_value = TimeOf(until_ns);
    CPROF_CHECK(timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr) == 0);
  }

  void WaitTimerfd(TruthThread& self, uint64_t until_ns, bool rearms, bool cancels) {
    if (cancels) {
      Set(NowNs() + kFarNs);
      Set(0);
    }
    if (rearms) Set(NowNs() + kFarNs);
    OracleRecord* armed = self.Offer(EdgeKind::kTimer, 0, self.working_for());
    Set(until_ns);
    armed->inner_from_ns = NowNs();
    const Wait wait = self.Block([this] {
      uint64_t count = 0;
      CPROF_CHECK(read(timer_, &count, sizeof(count)) == sizeof(count) && count == 1);
    });
    self.WokenByClock(wait, until_ns, WallState::kTimer);
    self.TakeUp(armed, {until_ns, wait.clock.after_ns});
  }

  // Submits and waits in one call: the completion is in the same bracket.
  void WaitTimeout(TruthThread& self, uint64_t until_ns) {
    __kernel_timespec when = {};
    when.tv_sec = static_cast<int64_t>(until_ns / 1000000000ULL);
    when.tv_nsec = static_cast<long long>(until_ns % 1000000000ULL);
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_timeout(sqe, &when, 0, IORING_TIMEOUT_ABS);
    sqe->user_data = 1;  // always the same
    const uint64_t operation = self.NewId();
    OracleRecord* armed = self.Offer(EdgeKind::kTimer, operation, self.working_for());
    io_uring_cqe* cqe = nullptr;
    const Wait wait = self.Block([this, &cqe] {
      CPROF_CHECK(io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, nullptr, nullptr) >= 0);
    });
    armed->inner_from_ns = wait.clock.after_ns;
    CPROF_CHECK(cqe != nullptr && cqe->res == -ETIME);
    io_uring_cqe_seen(&ring_, cqe);
    self.Operation(operation, {operation}, wait.clock);
    self.WokenByClock(wait, until_ns, WallState::kTimer);
    self.TakeUp(armed, {until_ns, wait.clock.after_ns});
  }

 private:
  int timer_;
  io_uring ring_;
};

class Workload {
 public:
  Workload(const Options& options, std::vector<Kind> kinds)
      : options_(options), kinds_(std::move(kinds)), pace_(options) {}

  Result<void> Run() {
    CPROF_RETURN_IF_ERROR(oracle_.Create(options_.log, options_.count * 40 + (1 << 20)));
    std::vector<std::thread> threads;
    TruthThread self(oracle_, "timer", options_.mark);
    for (uint64_t i = 0; i < options_.threads; ++i) {
      threads.push_back(Spawn(self, [this, i](OracleRecord* spawn) { RunThread(i, spawn); }));
    }
    for (std::thread& thread : threads) thread.join();
    return {};
  }

 private:
  bool Has(const char* fault) const {
    return ("," + options_.faults + ",").find(std::string(",") + fault + ",") != std::string::npos;
  }

  void RunThread(uint64_t index, OracleRecord* spawn) {
    pthread_setname_np(pthread_self(), ("truth-timer-" + std::to_string(index)).c_str());
    Timers timers;
    TruthThread self(oracle_, "timer", options_.mark, spawn);
    std::mt19937_64 random(options_.seed * 1000 + index);
    const bool rearms = Has("rearm"), cancels = Has("cancel"), coincides = Has("coincide");
    while (const auto due_ns = pace_.Next()) {
      if (*due_ns > NowNs()) self.SleepTo(*due_ns);
      const Life request = self.Start(handles_, true);
      const uint64_t waits = 1 + random() % 3;
      for (uint64_t i = 0; i < waits; ++i) {
        self.Spin(random() % (options_.work * 1000 + 1));
        uint64_t until_ns = NowNs() + 20000 + random() % (options_.wait * 1000 + 1);
        if (coincides && random() % 2 == 0) until_ns = (until_ns / kInstantNs + 1) * kInstantNs;
        switch (kinds_[random() % kinds_.size()]) {
          case Kind::kSleep: self.SleepTo(until_ns); break;
          case Kind::kTimerfd:
            timers.WaitTimerfd(self, until_ns, rearms && random() % 2 == 0,
                               cancels && random() % 2 == 0);
            break;
          case Kind::kTimeout: timers.WaitTimeout(self, until_ns); break;
        }
      }
      self.Spin(random() % (options_.work * 1000 + 1));
      self.Finish(request, handles_);
    }
  }

  const Options options_;
  const std::vector<Kind> kinds_;
  OracleFile oracle_;
  Pace pace_;
  Handles handles_;
};

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  using namespace cprof::causality;
  Options options;
  options.mode = "mixed";
  OptionReader reader;
  reader.Number("--threads", &options.threads);
  reader.Number("--work", &options.work);
  reader.Number("--wait", &options.wait);
  reader.Text("--faults", &options.faults);
  return RunWorkload(argc, argv, "timer_workload",
                     "  --mode MODE    sleep, timerfd, timeout, or mixed (mixed)\n"
                     "  --threads N    (3)\n"
                     "  --work N       microseconds between waits, at most (30)\n"
                     "  --wait N       microseconds of a wait, at most, about (300)\n"
                     "  --faults LIST  of rearm,cancel,coincide (all)\n",
                     &reader, &options, [&options]() -> cprof::Result<void> {
                       std::vector<Kind> kinds = {Kind::kSleep, Kind::kTimerfd, Kind::kTimeout};
                       if (options.mode != "mixed") {
                         const auto kind = FindWord(kKinds, options.mode);
                         if (!kind) return cprof::Error{"no such mode: " + options.mode, ""};
                         kinds = {static_cast<Kind>(*kind)};
                       }
                       return Workload(options, kinds).Run();
                     });
}
