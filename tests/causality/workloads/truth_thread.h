// One thread's voice in the oracle log: whom it works for, what it waits for, who woke it, what it
// cost.
//
// A workload says what it does as it does it, and the log follows: stretches of work (kWork),
// states of the request (kState) and CPU time (kCost) between one Enter and Leave and the next; and
// for each wait whether the thread slept in it, by its own count of voluntary switches. A thread
// that slept once was woken once, by the one that the workload knows. One that slept more often, or
// where nobody expected it, leaves a hole in what the log claims to know of its waits (kWaits).
#ifndef CPROF_TESTS_CAUSALITY_WORKLOADS_TRUTH_THREAD_H_
#define CPROF_TESTS_CAUSALITY_WORKLOADS_TRUTH_THREAD_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "cprof/cprof.h"
#include "tests/causality/workloads/oracle_writer.h"
#include "tests/causality/workloads/spin_lock.h"

namespace cprof::causality {

// Clocks around one thing.
struct Bracket {
  uint64_t before_ns = 0, after_ns = 0;
};

template <typename Action>
Bracket Around(Action action) {
  const uint64_t before_ns = NowNs();
  action();
  return {before_ns, NowNs()};
}

// CPU time of the calling thread, and how often it gave up its CPU: because it had to wait, or not.
uint64_t ThreadCpuNs();
struct Switches {
  uint64_t voluntary = 0, involuntary = 0;
};
Switches ThreadSwitches();
void SleepUntil(uint64_t time_ns);

// Handles that are free. The one freed last is given out next: handles are reused at once.
class Handles {
 public:
  uint64_t Take();
  void Free(uint64_t handle);

 private:
  SpinLock lock_;
  std::vector<uint64_t> free_;
  uint64_t next_ = 1;
};

// A request or a task: its hidden id, and the handle that the profiler sees.
struct Life {
  uint64_t id = 0;
  uint64_t handle = 0;
  uint64_t owner = 0;  // the request: of a request, itself
  bool is_task = false;
  Bracket begun;
};

// One wait of a thread, and whether it slept.
struct Wait {
  Bracket clock;
  uint64_t cpu_from_ns = 0;  // the thread's account before the call, and what the call itself used
  uint64_t cpu_ns = 0;
  uint64_t sleeps = 0;
  bool was_preempted = false;  // in the call, before or after it slept
};

class TruthThread {
 public:
  // domain: of the program's nodes; must outlive this. mark: tell cprof.h. spawn: what Spawn gave
  // to the thread's body.
  TruthThread(OracleFile& file, const char* domain, bool mark, OracleRecord* spawn = nullptr,
              uint64_t block_count = 256);
  // The end of what is known of the thread.
  ~TruthThread();
  TruthThread(const TruthThread&) = delete;
  TruthThread& operator=(const TruthThread&) = delete;

  uint32_t tid() const { return oracle_.tid(); }
  uint64_t NewId() { return oracle_.NewId(); }
  uint64_t born_ns() const { return born_ns_; }
  // The request that this thread works for now; 0: none.
  uint64_t working_for() const { return now_.owner; }
  bool with_state() const { return now_.with_state; }

  cprof_node NodeOf(const Life& life) const;
  Life BeginRequest(Handles& handles);
  Life BeginTask(Handles& handles, uint64_t owner);
  // Returns the clocks around the end.
  Bracket End(const Life& life, Handles& handles);
  // A request that this thread begins and works for at once, and ends when it stops working for it.
  Life Start(Handles& handles, bool with_state);
  void Finish(const Life& life, Handles& handles);
  // The same of a task; the last of a request ends the request first.
  void FinishLast(const Life& task, Handles& handles, const Life& request,
                  Handles& request_handles);
  // The program says that `from` queued the task `to`. From here on the path of the request is with
  // the task: what this thread still does for it is work, but no state of the request.
  Bracket HandOver(const Life& from, const Life& to);

  // Nest. with_state: the request does nothing else meanwhile, so what this thread does is its
  // state.
  Bracket Enter(const Life& life, bool with_state);
  Bracket Leave(const Life& life);
  // The program says that the request `inner` was made inside `outer`.
  void Nest(const Life& outer, const Life& inner);
  // Works for `owner` since its birth, without telling anybody: it was spawned for it.
  void Inherit(uint64_t owner, bool with_state);
  // What it still does until its exit is for the same, but no stretch of the log. Returns when.
  uint64_t StopInherited();
  // CPU time is known by other means, so none is logged here.
  void OmitCosts() { logs_costs_ = false; }
  // What follows is no state of the request that this thread works for, or is again, if it was.
  void PauseStates(const Bracket& clock);
  bool ResumeStates(const Bracket& clock);

  // Uses the CPU.
  void Spin(uint64_t time_ns);
  // Sleeps, by clock_nanosleep; the waker is the clock.
  void Sleep(uint64_t time_ns) { SleepTo(NowNs() + time_ns); }
  void SleepTo(uint64_t until_ns);

  // Runs a call that may block.
  template <typename Call>
  Wait Block(Call call) {
    BeforeWait();
    Wait wait;
    wait.cpu_from_ns = ThreadCpuNs();
    wait.clock = Around(call);
    wait.cpu_ns = ThreadCpuNs() - wait.cpu_from_ns;
    AfterWait(&wait);
    return wait;
  }
  // What woke the thread in that wait: somebody's hand-over; or a clock that cannot have run out
  // before deadline_ns. state: of the request meanwhile, where the thread works for one; cause: the
  // request or tenure that was waited for, if any. Exactly one of the three must follow a Block.
  void WokenBy(const Wait& wait, OracleRecord* offer, WallState state, uint64_t cause = 0);
  void WokenByClock(const Wait& wait, uint64_t deadline_ns, WallState state);
  void Doubt(const Wait& wait);
  // Nobody knows exactly when the request went over from one thread to another: between these
  // clocks it ran, or could have.
  void Between(uint64_t owner, uint64_t from_ns, uint64_t to_ns);

  // A hand-over that begins now; the waker fills in inner_from_ns when its call is back. It counts
  // once somebody took it up.
  OracleRecord* Offer(EdgeKind kind, uint64_t operation, uint64_t owner);
  void TakeUp(OracleRecord* offer, const Bracket& taken);
  // Fields that are not given stay 0.
  OracleRecord& Edge(EdgeKind kind, uint32_t from_tid, const Bracket& given, uint32_t to_tid,
                     const Bracket& taken);
  void State(uint64_t owner, WallState state, const Bracket& from, const Bracket& to,
             uint64_t cause = 0);
  OracleRecord& Cost(uint64_t owner, CostKind kind, const Bracket& clock, uint64_t value_ns);
  // An io_uring operation of this thread in an enter of its own, for the request that it works
  // for, and all completions that it executed inside the clocks, in order; 0: of no operation.
  void Operation(uint64_t operation, const std::vector<uint64_t>& completions,
                 const Bracket& clock);
  // Nothing was handed over from or to this thread.
  void Silence(const Bracket& clock);

 private:
  struct Stretch {
    uint64_t owner = 0;
    bool with_state = false;
    bool is_paused = false;
  };
  Life Begin(Handles& handles, bool is_task, uint64_t owner);
  void LogBegin(const Life& life);
  void LogEnd(const Life& life, const Bracket& ended);
  void Turn(const Bracket& clock);
  void LogCpu(const Bracket& clock, uint64_t account_ns, uint64_t slack_ns);
  void BeforeWait();
  void AfterWait(Wait* wait);
  void Slept(const Wait& wait, uint64_t woken_from_ns, WallState state, uint64_t cause);
  void CloseRunning(const Bracket& until, uint64_t cpu_ns);
  void OpenRunning(const Bracket& from);
  void EndWaits();

  OracleWriter oracle_;
  const char* domain_;
  bool mark_;
  uint64_t born_ns_;
  uint64_t stopped_ns_ = 0;  // of what it inherited
  uint64_t waits_from_ns_;   // all waits since then are in the log,
  uint64_t waits_until_ns_;  // until then
  Switches switches_;        // that are accounted for
  bool logs_costs_ = true;

  std::vector<Stretch> stack_;  // innermost last
  // The stretch of work that is open, and the running state in it.
  Stretch now_;
  Bracket opened_;
  uint64_t opened_cpu_ns_ = 0;    // the account then, at most
  uint64_t opened_slack_ns_ = 0;  // and by how much it may have been less
  bool is_running_ = false;
  Bracket running_;
  uint64_t running_cpu_ns_ = 0;
};

// A thread whose creation is in the log, by the thread that creates it; body: of the record that
// its TruthThread takes.
template <typename Body>
std::thread Spawn(TruthThread& self, Body body) {
  OracleRecord* spawn = self.Offer(EdgeKind::kSpawn, 0, self.working_for());
  std::thread thread([spawn, body] { body(spawn); });
  std::atomic_ref(spawn->inner_from_ns).store(NowNs());
  return thread;
}

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_WORKLOADS_TRUTH_THREAD_H_
