// One thread's voice in the oracle log: see truth_thread.h.
#include "tests/causality/workloads/truth_thread.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <mutex>

namespace cprof::causality {
namespace {

// Two readings of the clock in a row that are further apart than this had something in between.
constexpr uint64_t kGapNs = 4000;
// A clock, a mark and the account of CPU time are read within this, or the thread was interrupted.
constexpr uint64_t kMaxShiftNs = 20000;

uint64_t Nanoseconds(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000000ULL + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

uint64_t ThreadCpuNs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Nanoseconds(time);
}

Switches ThreadSwitches() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return {static_cast<uint64_t>(usage.ru_nvcsw), static_cast<uint64_t>(usage.ru_nivcsw)};
}

void SleepUntil(uint64_t time_ns) {
  const timespec until = {static_cast<time_t>(time_ns / 1000000000ULL),
                          static_cast<long>(time_ns % 1000000000ULL)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

uint64_t Handles::Take() {
  std::lock_guard lock(lock_);
  if (free_.empty()) return next_++;
  const uint64_t handle = free_.back();
  free_.pop_back();
  return handle;
}

void Handles::Free(uint64_t handle) {
  std::lock_guard lock(lock_);
  free_.push_back(handle);
}

TruthThread::TruthThread(OracleFile& file, const char* domain, bool mark, OracleRecord* spawn,
                         uint64_t block_count)
    : oracle_(file, block_count), domain_(domain), mark_(mark), born_ns_(NowNs()) {
  if (spawn != nullptr) TakeUp(spawn, {spawn->before_ns, born_ns_});
  waits_from_ns_ = waits_until_ns_ = NowNs();
  switches_ = ThreadSwitches();
}

TruthThread::~TruthThread() {
  BeforeWait();
  EndWaits();
  OracleRecord& watched = oracle_.Add();
  watched.before_ns = born_ns_;
  watched.after_ns = stopped_ns_ != 0 ? stopped_ns_ : NowNs();
  watched.truth = Truth::kWatched;
}

cprof_node TruthThread::NodeOf(const Life& life) const {
  return life.is_task ? cprof_task(domain_, life.handle) : cprof_request(domain_, life.handle);
}

Life TruthThread::Begin(Handles& handles, bool is_task, uint64_t owner) {
  Life life;
  life.id = oracle_.NewId();
  life.handle = handles.Take();
  life.owner = is_task ? owner : life.id;
  life.is_task = is_task;
  life.begun = Around([&] {
    if (mark_) cprof_begin(NodeOf(life), is_task ? "task" : "request");
  });
  return life;
}

void TruthThread::LogBegin(const Life& life) {
  OracleRecord& record = oracle_.Add();
  record.operation = life.id;
  record.value = life.handle;
  record.owner = life.is_task ? life.owner : 0;
  record.before_ns = life.begun.before_ns;
  record.after_ns = life.begun.after_ns;
  record.truth = life.is_task ? Truth::kTaskBegin : Truth::kRequestBegin;
}

void TruthThread::LogEnd(const Life& life, const Bracket& ended) {
  OracleRecord& record = oracle_.Add();
  record.operation = life.id;
  record.value = life.handle;
  record.owner = life.is_task ? life.owner : 0;
  record.before_ns = ended.before_ns;
  record.after_ns = ended.after_ns;
  record.truth = life.is_task ? Truth::kTaskEnd : Truth::kRequestEnd;
}

Life TruthThread::BeginRequest(Handles& handles) {
  const Life life = Begin(handles, false, 0);
  LogBegin(life);
  return life;
}

Life TruthThread::BeginTask(Handles& handles, uint64_t owner) {
  const Life life = Begin(handles, true, owner);
  LogBegin(life);
  return life;
}

Bracket TruthThread::End(const Life& life, Handles& handles) {
  const Bracket ended = Around([&] {
    if (mark_) cprof_end(NodeOf(life));
  });
  LogEnd(life, ended);
  handles.Free(life.handle);
  return ended;
}

// Between its begin and the enter, and between the leave and its end, a request is nobody's: here
// nothing but the calls themselves lies between them.
Life TruthThread::Start(Handles& handles, bool with_state) {
  const Life life = Begin(handles, false, 0);
  if (mark_) cprof_enter(NodeOf(life));
  const Bracket entered = {life.begun.after_ns, NowNs()};
  stack_.push_back({life.owner, with_state, false});
  Turn(entered);
  LogBegin(life);
  return life;
}

void TruthThread::Finish(const Life& life, Handles& handles) {
  CPROF_CHECK(!stack_.empty() && stack_.back().owner == life.owner);
  const Bracket left = Around([&] {
    if (mark_) cprof_leave(NodeOf(life));
  });
  if (mark_) cprof_end(NodeOf(life));
  const Bracket ended = {left.after_ns, NowNs()};
  stack_.pop_back();
  Turn(left);
  LogEnd(life, ended);
  handles.Free(life.handle);
}

void TruthThread::FinishLast(const Life& task, Handles& handles, const Life& request,
                             Handles& request_handles) {
  CPROF_CHECK(!stack_.empty() && stack_.back().owner == task.owner);
  const Bracket over = Around([&] {
    if (mark_) cprof_end(NodeOf(request));
  });
  if (mark_) cprof_leave(NodeOf(task));
  const Bracket left = {over.before_ns, NowNs()};
  if (mark_) cprof_end(NodeOf(task));
  const Bracket ended = {left.after_ns, NowNs()};
  stack_.pop_back();
  Turn(left);
  LogEnd(request, over);
  LogEnd(task, ended);
  request_handles.Free(request.handle);
  handles.Free(task.handle);
}

Bracket TruthThread::HandOver(const Life& from, const Life& to) {
  const Bracket told = Around([&] {
    if (mark_) cprof_edge(NodeOf(from), NodeOf(to), CPROF_EDGE_QUEUE, 0);
  });
  PauseStates(told);
  if (!mark_) return told;
  OracleRecord& record = oracle_.Add();
  record.operation = to.id;
  record.owner = to.owner;
  record.value = from.is_task ? from.id : 0;
  record.batch = to.id;
  record.before_ns = told.before_ns;
  record.after_ns = told.after_ns;
  record.truth = Truth::kHandOver;
  return told;
}

Bracket TruthThread::Enter(const Life& life, bool with_state) {
  const Bracket entered = Around([&] {
    if (mark_) cprof_enter(NodeOf(life));
  });
  stack_.push_back({life.owner, with_state, false});
  Turn(entered);
  return entered;
}

Bracket TruthThread::Leave(const Life& life) {
  const Bracket left = Around([&] {
    if (mark_) cprof_leave(NodeOf(life));
  });
  CPROF_CHECK(!stack_.empty() && stack_.back().owner == life.owner);
  stack_.pop_back();
  Turn(left);
  return left;
}

void TruthThread::Nest(const Life& outer, const Life& inner) {
  if (mark_) cprof_edge(NodeOf(outer), NodeOf(inner), CPROF_EDGE_SPAWN, 0);
}

void TruthThread::Inherit(uint64_t owner, bool with_state) {
  stack_.push_back({owner, with_state, false});
  Turn({born_ns_, born_ns_});
  opened_cpu_ns_ = opened_slack_ns_ = 0;
}

uint64_t TruthThread::StopInherited() {
  stack_.clear();
  const uint64_t now_ns = NowNs();
  Turn({now_ns, now_ns});
  stopped_ns_ = now_ns;
  return now_ns;
}

// At `clock` the thread went over to what is now innermost.
void TruthThread::Turn(const Bracket& clock) {
  // The account is read a little later than the mark was made: what it used since then is the time
  // that passed, if that was short, and at most that time.
  const uint64_t account_ns = ThreadCpuNs();
  const uint64_t read_ns = NowNs();
  const uint64_t slack_ns = read_ns - clock.before_ns;
  const uint64_t shift_ns = (read_ns - clock.before_ns) / 2;
  const uint64_t cpu_ns = account_ns - std::min(shift_ns, kMaxShiftNs);
  CloseRunning(clock, cpu_ns);
  if (now_.owner != 0) {
    OracleRecord& record = oracle_.Add();
    record.owner = now_.owner;
    record.before_ns = opened_.before_ns;
    record.inner_from_ns = opened_.after_ns;
    record.inner_to_ns = clock.before_ns;
    record.after_ns = clock.after_ns;
    record.truth = Truth::kWork;
    if (logs_costs_) LogCpu({opened_.before_ns, clock.after_ns}, account_ns, slack_ns);
  }
  now_ = stack_.empty() ? Stretch{} : stack_.back();
  opened_ = clock;
  opened_cpu_ns_ = account_ns;
  opened_slack_ns_ = slack_ns;
  if (now_.owner == 0 || !now_.with_state) return;
  OpenRunning(clock);
  running_cpu_ns_ = cpu_ns;
}

// The account at either end lies in the slack before what was read.
void TruthThread::LogCpu(const Bracket& clock, uint64_t account_ns, uint64_t slack_ns) {
  const uint64_t read_ns = account_ns - opened_cpu_ns_;
  OracleRecord& record = oracle_.Add();
  record.owner = now_.owner;
  record.kind = static_cast<uint32_t>(CostKind::kCpuNs);
  record.before_ns = clock.before_ns;
  record.after_ns = clock.after_ns;
  record.inner_from_ns = read_ns - std::min(read_ns, slack_ns);
  record.inner_to_ns = read_ns + opened_slack_ns_;
  const uint64_t middle_ns = read_ns + std::min(opened_slack_ns_, kMaxShiftNs) / 2;
  record.value = middle_ns - std::min(middle_ns, std::min(slack_ns, kMaxShiftNs) / 2);
  record.truth = Truth::kCost;
}

void TruthThread::OpenRunning(const Bracket& from) {
  is_running_ = true;
  running_ = from;
}

// Ends the running state, if the request was in it. Where the account of CPU time says that the
// thread cannot have run all the while, and nobody knows when it did, nothing is certain of it.
void TruthThread::CloseRunning(const Bracket& until, uint64_t cpu_ns) {
  if (!is_running_) return;
  is_running_ = false;
  const uint64_t wall_ns = until.before_ns - std::min(running_.after_ns, until.before_ns);
  const uint64_t used_ns = cpu_ns - std::min(running_cpu_ns_, cpu_ns);
  if (wall_ns <= used_ns + kGapNs + wall_ns / 100) {
    State(now_.owner, WallState::kRunning, running_, until);
    return;
  }
  const Bracket end = {until.after_ns, until.after_ns};
  for (const WallState state : {WallState::kRunning, WallState::kRunnable, WallState::kBlocked}) {
    State(now_.owner, state, {running_.before_ns, until.after_ns}, end);
  }
}

void TruthThread::PauseStates(const Bracket& clock) {
  CloseRunning(clock, ThreadCpuNs());
  if (stack_.empty() || !now_.with_state) return;
  now_.with_state = false;
  now_.is_paused = true;
  stack_.back() = now_;
}

bool TruthThread::ResumeStates(const Bracket& clock) {
  if (stack_.empty() || !now_.is_paused) return false;
  now_.with_state = true;
  now_.is_paused = false;
  stack_.back() = now_;
  OpenRunning(clock);
  running_cpu_ns_ = ThreadCpuNs();
  return true;
}

void TruthThread::Spin(uint64_t time_ns) {
  uint64_t now_ns = NowNs();
  const uint64_t from_ns = now_ns, until_ns = now_ns + time_ns;
  const uint64_t cpu_from_ns = ThreadCpuNs();
  uint64_t away_ns = 0;  // of the time since from_ns, not on a CPU
  while (now_ns < until_ns) {
    const uint64_t next_ns = NowNs();
    if (next_ns - now_ns > kGapNs && is_running_) {
      const uint64_t cpu_ns = ThreadCpuNs();
      const uint64_t wall_ns = next_ns - from_ns;
      const uint64_t known_ns = cpu_ns - cpu_from_ns + away_ns;
      if (wall_ns > known_ns + kGapNs / 2) {
        const uint64_t gone_ns = std::min(wall_ns - known_ns, next_ns - now_ns);
        const uint64_t used_ns = next_ns - now_ns - gone_ns;
        CloseRunning({now_ns, now_ns + used_ns}, cpu_ns - used_ns);
        State(now_.owner, WallState::kRunnable, {now_ns, now_ns + used_ns},
              {next_ns - used_ns, next_ns});
        OpenRunning({next_ns - used_ns, next_ns});
        running_cpu_ns_ = cpu_ns;
        away_ns += gone_ns;
      }
    }
    now_ns = next_ns;
  }
}

void TruthThread::SleepTo(uint64_t until_ns) {
  const Wait wait = Block([until_ns] { SleepUntil(until_ns); });
  WokenByClock(wait, until_ns, WallState::kTimer);
}

void TruthThread::EndWaits() {
  if (waits_until_ns_ <= waits_from_ns_) return;
  OracleRecord& record = oracle_.Add();
  record.before_ns = waits_from_ns_;
  record.after_ns = waits_until_ns_;
  record.truth = Truth::kWaits;
}

// Sleeps since the last wait that nobody knew of make a hole.
void TruthThread::BeforeWait() {
  const uint64_t now_ns = NowNs();
  const Switches switches = ThreadSwitches();
  if (switches.voluntary != switches_.voluntary) {
    EndWaits();
    waits_from_ns_ = NowNs();
    waits_until_ns_ = waits_from_ns_;
  } else {
    waits_until_ns_ = now_ns;
  }
  switches_ = switches;
}

void TruthThread::AfterWait(Wait* wait) {
  const Switches switches = ThreadSwitches();
  wait->sleeps = switches.voluntary - switches_.voluntary;
  wait->was_preempted = switches.involuntary != switches_.involuntary;
  switches_ = switches;
}

// The thread slept once: what it did for its request before, meanwhile and after.
void TruthThread::Slept(const Wait& wait, uint64_t woken_from_ns, WallState state, uint64_t cause) {
  waits_until_ns_ = wait.clock.after_ns;
  if (!is_running_) return;
  const Bracket& clock = wait.clock;
  const uint64_t cpu_ns = std::min(wait.cpu_ns, clock.after_ns - clock.before_ns);
  const uint64_t woken_ns = std::clamp(woken_from_ns, clock.before_ns, clock.after_ns);
  const uint64_t latest_ns =
      wait.was_preempted ? woken_ns : std::min(clock.before_ns + cpu_ns, woken_ns);
  const Bracket asleep = {clock.before_ns, latest_ns};
  CloseRunning({clock.before_ns, clock.before_ns + cpu_ns}, wait.cpu_from_ns);
  State(now_.owner, state, asleep, {woken_ns, clock.after_ns}, cause);
  State(now_.owner, WallState::kRunnable, {woken_ns, clock.after_ns},
        {clock.after_ns, clock.after_ns});
  OpenRunning({std::max(woken_ns, clock.after_ns - cpu_ns), clock.after_ns});
  running_cpu_ns_ = wait.cpu_from_ns + wait.cpu_ns;
}

void TruthThread::WokenBy(const Wait& wait, OracleRecord* offer, WallState state, uint64_t cause) {
  if (wait.sleeps == 0) {  // nobody did
    waits_until_ns_ = wait.clock.after_ns;
    return;
  }
  if (wait.sleeps > 1) return Doubt(wait);
  Slept(wait, offer->before_ns, state, cause);
  TakeUp(offer, {std::max(wait.clock.before_ns, offer->before_ns), wait.clock.after_ns});
}

void TruthThread::WokenByClock(const Wait& wait, uint64_t deadline_ns, WallState state) {
  if (wait.sleeps == 0) {
    waits_until_ns_ = wait.clock.after_ns;
    return;
  }
  if (wait.sleeps > 1) return Doubt(wait);
  Slept(wait, deadline_ns, state, 0);
  const uint64_t from_ns = std::max(wait.clock.before_ns, deadline_ns);
  Edge(EdgeKind::kWake, 0, {from_ns, wait.clock.after_ns}, tid(), {from_ns, wait.clock.after_ns});
}

void TruthThread::Doubt(const Wait& wait) {
  waits_until_ns_ = wait.clock.before_ns;
  EndWaits();
  waits_from_ns_ = waits_until_ns_ = wait.clock.after_ns;
  if (!is_running_) return;
  CloseRunning({wait.clock.before_ns, wait.clock.after_ns}, wait.cpu_from_ns);
  OpenRunning({wait.clock.before_ns, wait.clock.after_ns});
  running_cpu_ns_ = wait.cpu_from_ns + wait.cpu_ns;
}

void TruthThread::Between(uint64_t owner, uint64_t from_ns, uint64_t to_ns) {
  for (const WallState state : {WallState::kRunning, WallState::kRunnable}) {
    State(owner, state, {from_ns, to_ns}, {to_ns, to_ns});
  }
}

OracleRecord* TruthThread::Offer(EdgeKind kind, uint64_t operation, uint64_t owner) {
  OracleRecord& record = oracle_.Add();
  record.kind = static_cast<uint32_t>(kind);
  record.operation = operation;
  record.owner = owner;
  record.before_ns = NowNs();
  return &record;
}

void TruthThread::TakeUp(OracleRecord* offer, const Bracket& taken) {
  offer->value = tid();
  offer->inner_to_ns = taken.before_ns;
  offer->after_ns = taken.after_ns;
  offer->truth = Truth::kEdge;
}

OracleRecord& TruthThread::Edge(EdgeKind kind, uint32_t from_tid, const Bracket& given,
                                uint32_t to_tid, const Bracket& taken) {
  OracleRecord& record = oracle_.Add();
  record.tid = from_tid;
  record.kind = static_cast<uint32_t>(kind);
  record.before_ns = given.before_ns;
  record.inner_from_ns = given.after_ns;
  record.value = to_tid;
  record.inner_to_ns = taken.before_ns;
  record.after_ns = taken.after_ns;
  record.truth = Truth::kEdge;
  return record;
}

void TruthThread::State(uint64_t owner, WallState state, const Bracket& from, const Bracket& to,
                        uint64_t cause) {
  OracleRecord& record = oracle_.Add();
  record.owner = owner;
  record.kind = static_cast<uint32_t>(state);
  record.before_ns = from.before_ns;
  record.inner_from_ns = from.after_ns;
  record.inner_to_ns = to.before_ns;
  record.after_ns = to.after_ns;
  record.value = cause;
  record.truth = Truth::kState;
}

OracleRecord& TruthThread::Cost(uint64_t owner, CostKind kind, const Bracket& clock,
                                uint64_t value_ns) {
  OracleRecord& record = oracle_.Add();
  record.owner = owner;
  record.kind = static_cast<uint32_t>(kind);
  record.before_ns = clock.before_ns;
  record.after_ns = clock.after_ns;
  record.value = value_ns;
  record.truth = Truth::kCost;
  return record;
}

void TruthThread::Operation(uint64_t operation, const std::vector<uint64_t>& completions,
                            const Bracket& clock) {
  OracleRecord& submit = oracle_.Add();
  submit.operation = operation;
  submit.owner = now_.owner;
  submit.batch = operation;
  submit.before_ns = clock.before_ns;
  submit.after_ns = clock.after_ns;
  submit.truth = Truth::kSubmit;
  for (uint32_t i = 0; i < completions.size(); ++i) {
    OracleRecord& record = oracle_.Add();
    record.operation = completions[i];
    record.sequence = i;
    record.batch = operation;
    record.before_ns = clock.before_ns;
    record.after_ns = clock.after_ns;
    record.truth = Truth::kComplete;
  }
}

void TruthThread::Silence(const Bracket& clock) {
  OracleRecord& record = oracle_.Add();
  record.before_ns = clock.before_ns;
  record.after_ns = clock.after_ns;
  record.truth = Truth::kDomain;
}

}  // namespace cprof::causality
