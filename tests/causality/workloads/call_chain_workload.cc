// call_chain_workload: each request on one thread from its begin to its end, as ordinary profilers
// expect it.
//
// Modes: `plain`, calls that use the CPU, read a cached file and sleep; `nested`, requests inside
// requests; `coincidence`, threads that have nothing to do with each other and wake at the same
// instants; `silence`, threads that never wait and hand nothing over: no edge may appear.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <random>
#include <thread>
#include <vector>

#include "tests/causality/workloads/truth_thread.h"
#include "tests/causality/workloads/workload_main.h"

namespace cprof::causality {
namespace {

enum class Mode { kPlain, kNested, kCoincidence, kSilence };
constexpr std::array<const char*, 4> kModes = {"plain", "nested", "coincidence", "silence"};

struct Options : CommonOptions {
  uint64_t threads = 3, work = 40;
};

constexpr uint64_t kInstantNs = 1000000;  // of coincidence: every thread wakes at each
constexpr int kMaxDepth = 4;
constexpr uint64_t kQuietRequests = 50;  // of silence, after which the thread says what it knows

class Workload {
 public:
  Workload(const Options& options, Mode mode) : options_(options), mode_(mode), pace_(options) {}

  Result<void> Run() {
    CPROF_RETURN_IF_ERROR(oracle_.Create(options_.log, options_.count * 256 + (1 << 20)));
    file_ = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    std::vector<std::thread> threads;
    TruthThread self(oracle_, "call", options_.mark);
    for (uint64_t i = 0; i < options_.threads; ++i) {
      threads.push_back(Spawn(self, [this, i](OracleRecord* spawn) { RunThread(i, spawn); }));
    }
    for (std::thread& thread : threads) thread.join();
    close(file_);
    return {};
  }

 private:
  void RunThread(uint64_t index, OracleRecord* spawn) {
    pthread_setname_np(pthread_self(), ("truth-call-" + std::to_string(index)).c_str());
    TruthThread self(oracle_, "call", options_.mark, spawn);
    std::mt19937_64 random(options_.seed * 1000 + index);
    uint64_t quiet = 0, quiet_from_ns = NowNs(), switches = ThreadSwitches().voluntary;
    while (const auto due_ns = pace_.Next()) {
      WaitUntil(self, *due_ns);
      Handle(self, random);
      if (mode_ != Mode::kSilence || ++quiet % kQuietRequests != 0) continue;
      const uint64_t until_ns = NowNs(), switches_now = ThreadSwitches().voluntary;
      if (switches_now == switches) self.Silence({quiet_from_ns, until_ns});
      quiet_from_ns = NowNs();
      switches = switches_now;
    }
  }

  void WaitUntil(TruthThread& self, uint64_t due_ns) const {
    const uint64_t now_ns = NowNs();
    if (mode_ == Mode::kCoincidence) {
      self.SleepTo(std::max((now_ns / kInstantNs + 1) * kInstantNs, due_ns));
    } else if (now_ns < due_ns && mode_ == Mode::kSilence) {
      self.Spin(due_ns - now_ns);
    } else if (now_ns < due_ns) {
      self.SleepTo(due_ns);
    }
  }

  void Handle(TruthThread& self, std::mt19937_64& random) {
    const Life request = self.Start(handles_, true);
    Call(self, random, request, kMaxDepth);
    self.Finish(request, handles_);
    if (random() % 3 == 0) self.Spin(random() % 20000);  // nobody's
  }

  void Call(TruthThread& self, std::mt19937_64& random, const Life& request, int depth) {
    self.Spin(random() % (options_.work * 1000 / kMaxDepth + 1));
    if (depth == 0) return;
    if (mode_ == Mode::kNested && random() % 4 == 0) {
      Nest(self, random, request, depth);
    } else {
      Call(self, random, request, depth - 1);
    }
    if (mode_ == Mode::kSilence) return;
    char bytes[256];
    CPROF_CHECK(pread(file_, bytes, sizeof(bytes), 0) == sizeof(bytes));
    if (random() % 8 == 0) self.Sleep(50000 + random() % 400000);
  }

  // A request that lives inside another; meanwhile the outer one is in its child.
  void Nest(TruthThread& self, std::mt19937_64& random, const Life& outer, int depth) {
    const Life inner = self.BeginRequest(handles_);
    self.Nest(outer, inner);
    const Bracket entered = self.Enter(inner, true);
    Call(self, random, inner, depth - 1);
    const Bracket left = self.Leave(inner);
    self.State(outer.id, WallState::kInChild, entered, left, inner.id);
    self.End(inner, handles_);
  }

  const Options options_;
  const Mode mode_;
  OracleFile oracle_;
  Pace pace_;
  Handles handles_;
  int file_ = -1;
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
  return RunWorkload(argc, argv, "call_chain_workload",
                     "  --mode MODE    plain, nested, coincidence or silence (plain)\n"
                     "  --threads N    (3)\n"
                     "  --work N       microseconds of a request, at most, about (40)\n",
                     &reader, &options, [&options]() -> cprof::Result<void> {
                       const auto mode = FindWord(kModes, options.mode);
                       if (!mode) return cprof::Error{"no such mode: " + options.mode, ""};
                       return Workload(options, static_cast<Mode>(*mode)).Run();
                     });
}
