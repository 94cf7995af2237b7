// kernel_work_workload: requests that the kernel carries on in its own workers: each write to a
// pseudo-terminal becomes a work item, and the worker that runs it wakes who reads at the other
// end.
//
// Modes: `single`, one item at a time; `burst`, several writes in a row, of which the kernel may
// run several as one item, so that only the first one's is certain.
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <random>
#include <thread>
#include <vector>

#include "tests/causality/workloads/truth_thread.h"
#include "tests/causality/workloads/workload_main.h"

namespace cprof::causality {
namespace {

constexpr std::array<const char*, 2> kModes = {"single", "burst"};

struct Options : CommonOptions {
  uint64_t threads = 2, work = 20;
};

constexpr uint64_t kMaxBurst = 4;

// A terminal, and whose write is on its way: one at a time, so the read that follows is its end.
struct Terminal {
  int master = -1, slave = -1;
  uint64_t request = 0;
  OracleRecord* there = nullptr;
  OracleRecord* back = nullptr;
};

class Workload {
 public:
  Workload(const Options& options, bool is_burst)
      : options_(options), is_burst_(is_burst), pace_(options), terminals_(options.threads) {}

  Result<void> Run() {
    CPROF_RETURN_IF_ERROR(oracle_.Create(options_.log, options_.count * 64 + (1 << 18)));
    for (Terminal& terminal : terminals_) {
      termios raw = {};
      cfmakeraw(&raw);
      raw.c_cc[VMIN] = 1;
      if (openpty(&terminal.master, &terminal.slave, nullptr, &raw, nullptr) != 0) {
        return Error{"no pseudo-terminal", ""};
      }
    }
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < options_.threads; ++i) {
      threads.emplace_back([this, i] { Answer(terminals_[i], i); });
      threads.emplace_back([this, i] { Ask(terminals_[i], i); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Terminal& terminal : terminals_) {
      close(terminal.master);
      close(terminal.slave);
    }
    return {};
  }

 private:
  // Reads `count` bytes; returns the last. By then the first one's item has run: which worker ran
  // it, and so who woke this thread, the kernel alone knows.
  static char Read(TruthThread& self, int fd, uint64_t count, OracleRecord* const* item) {
    char bytes[kMaxBurst] = {};
    bool is_first = true;
    while (count > 0) {
      ssize_t got = 0;
      const Wait wait = self.Block([&] { got = read(fd, bytes, count); });
      CPROF_CHECK(got > 0);
      self.Doubt(wait);
      if (is_first && *item != nullptr) {
        (*item)->inner_to_ns = (*item)->before_ns;
        (*item)->after_ns = wait.clock.after_ns;
        (*item)->truth = Truth::kEdge;
      }
      is_first = false;
      count -= static_cast<uint64_t>(got);
    }
    return bytes[0];
  }

  void Ask(Terminal& terminal, uint64_t index) {
    pthread_setname_np(pthread_self(), ("truth-ask-" + std::to_string(index)).c_str());
    TruthThread self(oracle_, "work", options_.mark);
    std::mt19937_64 random(options_.seed * 1000 + index);
    while (const auto due_ns = pace_.Next()) {
      if (*due_ns > NowNs()) self.SleepTo(*due_ns);
      const Life request = self.Start(handles_, false);
      self.Spin(random() % (options_.work * 1000 + 1));
      terminal.request = request.id;
      const uint64_t count = is_burst_ ? kMaxBurst : 1;
      terminal.there = self.Offer(EdgeKind::kWorkItem, self.NewId(), request.id);
      Send(terminal.there, terminal.master, count, 'w');
      Read(self, terminal.master, 1, &terminal.back);
      self.Finish(request, handles_);
    }
    terminal.there = nullptr;
    Send(nullptr, terminal.master, is_burst_ ? kMaxBurst : 1, 'q');
  }

  void Answer(Terminal& terminal, uint64_t index) {
    pthread_setname_np(pthread_self(), ("truth-answer-" + std::to_string(index)).c_str());
    // Unmarked: nobody is told whose work this is.
    TruthThread self(oracle_, "work", false);
    std::mt19937_64 random(options_.seed * 1000 + 500 + index);
    while (Read(self, terminal.slave, is_burst_ ? kMaxBurst : 1, &terminal.there) != 'q') {
      Life request;
      request.owner = terminal.request;
      self.Enter(request, false);
      self.Spin(random() % (options_.work * 1000 + 1));
      terminal.back = self.Offer(EdgeKind::kWorkItem, self.NewId(), request.owner);
      Send(terminal.back, terminal.slave, 1, 'a');
      self.Leave(request);
    }
  }

  // Writes `count` bytes, each with a call of its own; `item` is the first one's.
  static void Send(OracleRecord* item, int fd, uint64_t count, char byte) {
    for (uint64_t i = 0; i < count; ++i) {
      CPROF_CHECK(write(fd, &byte, 1) == 1);
      if (i == 0 && item != nullptr) item->inner_from_ns = NowNs();
    }
  }

  const Options options_;
  const bool is_burst_;
  OracleFile oracle_;
  Pace pace_;
  Handles handles_;
  std::vector<Terminal> terminals_;
};

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  using namespace cprof::causality;
  Options options;
  options.mode = kModes[0];
  OptionReader reader;
  reader.Number("--threads", &options.threads);
  reader.Number("--work", &options.work);
  return RunWorkload(argc, argv, "kernel_work_workload",
                     "  --mode MODE    single or burst (single)\n"
                     "  --threads N    terminals, with a thread at either end (2)\n"
                     "  --work N       microseconds of work at either end, at most (20)\n",
                     &reader, &options, [&options]() -> cprof::Result<void> {
                       const auto mode = FindWord(kModes, options.mode);
                       if (!mode) return cprof::Error{"no such mode: " + options.mode, ""};
                       return Workload(options, *mode == 1).Run();
                     });
}
