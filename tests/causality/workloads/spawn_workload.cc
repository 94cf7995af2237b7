// spawn_workload: requests that create threads and processes to work for them.
//
// Modes: `thread`, one short thread, joined; `nested`, threads that create threads; `many`, several
// at once; `fork`, a child process; `exec`, a child that runs this program anew (--worker); or
// `mixed`. Thread ids are given out again at once where the kernel lets itself be told the next one
// (--no-reuse: as it comes).
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>
#include <vector>

#include "tests/causality/workloads/truth_thread.h"
#include "tests/causality/workloads/workload_main.h"

namespace cprof::causality {
namespace {

enum class Mode { kThread, kNested, kMany, kFork, kExec, kMixed };
constexpr std::array<const char*, 6> kModes = {"thread", "nested", "many", "fork", "exec", "mixed"};

struct Options : CommonOptions {
  uint64_t threads = 2, work = 60;
  bool reuses_tids = true;
  std::string worker;  // the log that a worker joins
};

constexpr const char* kDomain = "spawn";
constexpr uint64_t kBlockCount = 8;  // records that a thread that lives for a moment takes at once

// What a child tells when it is done, before it exits: its exit wakes who waits for it.
struct Ending {
  OracleRecord* woke = nullptr;
  uint64_t stopped_ns = 0;
};

class Workload {
 public:
  Workload(const Options& options, Mode mode) : options_(options), mode_(mode), pace_(options) {
    if (options.reuses_tids) last_pid_ = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  }
  ~Workload() {
    if (last_pid_ >= 0) close(last_pid_);
  }

  Result<void> Run() {
    CPROF_RETURN_IF_ERROR(oracle_.Create(options_.log, options_.count * 160 + (1 << 20)));
    // Small stacks stay in the C library's cache: no thread waits for the address space.
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
    std::vector<std::thread> threads;
    TruthThread self(oracle_, kDomain, options_.mark);
    for (uint64_t i = 0; i < options_.threads; ++i) {
      threads.push_back(Spawn(self, [this, i](OracleRecord* spawn) { RunThread(i, spawn); }));
    }
    for (std::thread& thread : threads) thread.join();
    std::printf("thread ids used again %llu\n", static_cast<unsigned long long>(reused_.load()));
    return {};
  }

 private:
  void RunThread(uint64_t index, OracleRecord* spawn) {
    pthread_setname_np(pthread_self(), ("truth-spawn-" + std::to_string(index)).c_str());
    TruthThread self(oracle_, kDomain, options_.mark, spawn);
    std::mt19937_64 random(options_.seed * 1000 + index);
    while (const auto due_ns = pace_.Next()) {
      if (*due_ns > NowNs()) self.SleepTo(*due_ns);
      Mode mode = mode_;
      // Exec costs a hundred times more than a thread.
      if (mode == Mode::kMixed) mode = static_cast<Mode>(random() % (random() % 8 == 0 ? 5 : 4));
      const bool is_alone = mode != Mode::kNested && mode != Mode::kMany;
      const Life request = self.Start(handles_, is_alone);
      self.OmitCosts();
      self.Spin(Work(random));
      switch (mode) {
        case Mode::kThread: Thread(self, random, 0); break;
        case Mode::kNested: Thread(self, random, 2); break;
        case Mode::kMany: Many(self, random); break;
        default: Process(self, random, mode == Mode::kExec); break;
      }
      self.Spin(Work(random));
      self.Finish(request, handles_);
    }
  }

  uint64_t Work(std::mt19937_64& random) const { return random() % (options_.work * 1000 + 1); }

  // The next thread gets the id of the one that ended last, if nobody else was faster.
  void AskForTid(uint32_t tid) {
    if (last_pid_ < 0 || tid < 2) return;
    const std::string text = std::to_string(tid - 1);
    if (pwrite(last_pid_, text.data(), text.size(), 0) < 0) last_pid_ = -1;
  }

  std::thread Start(TruthThread& self, uint64_t work_ns, int depth, Ending* ending) {
    const uint32_t wanted = last_tid_.load();
    AskForTid(wanted);
    const uint64_t owner = self.working_for();
    const bool with_state = self.with_state();
    return Spawn(self, [=, this](OracleRecord* spawn) {
      TruthThread child(oracle_, kDomain, options_.mark, spawn, kBlockCount);
      if (child.tid() == wanted) ++reused_;
      last_tid_ = child.tid();
      child.Inherit(owner, with_state);
      child.OmitCosts();
      child.Spin(work_ns);
      if (depth > 0) {
        std::mt19937_64 random(work_ns);
        Thread(child, random, depth - 1);
      }
      ending->stopped_ns = child.StopInherited();
      ending->woke = child.Offer(EdgeKind::kWake, 0, owner);
    });
  }

  void Join(TruthThread& self, std::thread thread, Ending* ending) {
    const Wait wait = self.Block([&thread] { thread.join(); });
    ending->woke->inner_from_ns = wait.clock.after_ns;
    self.WokenBy(wait, ending->woke, WallState::kBlocked);
  }

  void Thread(TruthThread& self, std::mt19937_64& random, int depth) {
    Ending ending;
    const uint64_t from_ns = NowNs();
    std::thread thread = Start(self, Work(random), depth, &ending);
    const Bracket spawned = {from_ns, NowNs()};
    self.PauseStates(spawned);
    Join(self, std::move(thread), &ending);
    const uint64_t until_ns = NowNs();
    if (self.ResumeStates({ending.stopped_ns, until_ns})) {
      Path(self, from_ns, ending.stopped_ns, until_ns);
    }
  }

  // From its creation to its end the request's way led through the child; when it came to run, and
  // when its creator came back, lies somewhere in between.
  static void Path(TruthThread& self, uint64_t from_ns, uint64_t stopped_ns, uint64_t until_ns) {
    self.Between(self.working_for(), from_ns, stopped_ns);
    self.Between(self.working_for(), stopped_ns, until_ns);
  }

  void Many(TruthThread& self, std::mt19937_64& random) {
    std::vector<std::thread> threads;
    std::vector<Ending> endings(2 + random() % 3);
    for (Ending& ending : endings) {
      threads.push_back(Start(self, Work(random), static_cast<int>(random() % 2), &ending));
    }
    for (size_t i = 0; i < threads.size(); ++i) Join(self, std::move(threads[i]), &endings[i]);
  }

  // The child's records come before its exit, so all of them are there when the parent goes on.
  void Process(TruthThread& self, std::mt19937_64& random, bool execs) {
    const uint64_t owner = self.working_for(), work_ns = Work(random);
    OracleRecord* spawn = self.Offer(EdgeKind::kSpawn, 0, owner);
    OracleRecord* woke = self.Offer(EdgeKind::kWake, 0, owner);
    const pid_t pid = fork();
    CPROF_CHECK(pid >= 0);
    if (pid == 0) {
      {
        TruthThread child(oracle_, kDomain, options_.mark, spawn, kBlockCount);
        child.Inherit(owner, false);
        child.OmitCosts();
        child.Spin(work_ns);
        child.StopInherited();
        woke->tid = child.tid();
        woke->before_ns = NowNs();
      }
      if (execs) {
        execl("/proc/self/exe", "spawn_workload", "--worker", options_.log.c_str(), nullptr);
      }
      _exit(EXIT_FAILURE * (execs ? 1 : 0));
    }
    spawn->inner_from_ns = NowNs();
    self.PauseStates({spawn->before_ns, spawn->inner_from_ns});
    int status = 0;
    const Wait wait = self.Block([pid, &status] { CPROF_CHECK(waitpid(pid, &status, 0) == pid); });
    CPROF_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    woke->inner_from_ns = wait.clock.after_ns;
    self.WokenBy(wait, woke, WallState::kBlocked);
    const uint64_t until_ns = NowNs();
    if (self.ResumeStates({woke->before_ns, until_ns})) {
      Path(self, spawn->before_ns, woke->before_ns, until_ns);
    }
  }

  const Options options_;
  const Mode mode_;
  OracleFile oracle_;
  Pace pace_;
  Handles handles_;
  int last_pid_ = -1;
  std::atomic<uint32_t> last_tid_{0};
  std::atomic<uint64_t> reused_{0};
};

// A process that was started by exec: it finds in the log what it was created for, and goes on.
Result<void> RunWorker(const std::string& log) {
  OracleFile oracle;
  CPROF_RETURN_IF_ERROR(oracle.Join(log));
  const uint32_t tid = OwnTid();
  const OracleRecord* spawn = oracle.FindLatest([tid](const OracleRecord& record) {
    return record.truth == Truth::kEdge && record.value == tid &&
           record.kind == static_cast<uint32_t>(EdgeKind::kSpawn);
  });
  OracleRecord* woke = oracle.FindLatest([tid](const OracleRecord& record) {
    return record.truth == Truth::kNone && record.tid == tid &&
           record.kind == static_cast<uint32_t>(EdgeKind::kWake);
  });
  if (spawn == nullptr || woke == nullptr) return Error{"nobody created this process", ""};
  {
    TruthThread self(oracle, kDomain, false, nullptr, kBlockCount);
    self.Inherit(spawn->owner, false);
    self.OmitCosts();
    self.Spin(20000);
    self.StopInherited();
    woke->before_ns = NowNs();
  }
  _exit(EXIT_SUCCESS);
}

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  using namespace cprof::causality;
  Options options;
  options.mode = "mixed";
  options.count = 1000;
  OptionReader reader;
  reader.Number("--threads", &options.threads);
  reader.Number("--work", &options.work);
  reader.Off("--no-reuse", &options.reuses_tids);
  reader.Text("--worker", &options.worker);
  return RunWorkload(argc, argv, "spawn_workload",
                     "  --mode MODE    thread, nested, many, fork, exec, or mixed (mixed)\n"
                     "  --threads N    that create others (2)\n"
                     "  --work N       microseconds of a stretch of work, at most (60)\n"
                     "  --no-reuse     do not ask for thread ids that were used before\n",
                     &reader, &options, [&options]() -> cprof::Result<void> {
                       if (!options.worker.empty()) return RunWorker(options.worker);
                       const auto mode = FindWord(kModes, options.mode);
                       if (!mode) return cprof::Error{"no such mode: " + options.mode, ""};
                       return Workload(options, static_cast<Mode>(*mode)).Run();
                     });
}
