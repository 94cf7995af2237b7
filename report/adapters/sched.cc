// The sched adapter: lives of threads, what each did when, and who ended each of its waits.
//
// Per thread a small machine: running -> (switch-out) -> runnable or blocked -> (switch-in) ->
// running. A waking is kept with its wakee until the switch-in shows which one ended the block: the
// last after the previous switch-in. All others provably ended nothing and are orphans
// `superseded`.
#include <algorithm>
#include <string>
#include <vector>

#include "report/adapters/adapter.h"

namespace cprof {
namespace {

constexpr uint64_t kCloneUntraced = 0x00800000;
constexpr uint64_t kCloneIo = 0x80000000;

// The kernel tells a thread's last CPU time right after its last switch, so its record stays a
// while.
constexpr uint64_t kAfterlifeNs = 100'000'000;

constexpr Verb kWakingVerbs[] = {verbs::kSchedWaking};
constexpr Verb kSwitchVerbs[] = {verbs::kSchedSwitch};
constexpr Verb kWakingAndSwitchVerbs[] = {verbs::kSchedWaking, verbs::kSchedSwitch};

// Both keys of a lost event set their bit, so only breaks with both can hold a thread.
uint64_t SignatureOf(const ThreadKey& key) {
  return SignatureBit(key.start_time_ns) |
         SignatureBit(uint64_t{key.tid} | uint64_t{key.tgid} << 32);
}

class SchedAdapter : public JoinAdapter {
 public:
  explicit SchedAdapter(JoinContext& context) : context_(context) {}

  void Apply(const Event& event) override {
    switch (event.verb) {
      case verbs::kSchedWaking: Waking(event); break;
      case verbs::kSchedSwitch: Switch(event); break;
      case verbs::kSchedFork: Fork(event); break;
      case verbs::kSchedExec: Exec(event); break;
      case verbs::kSchedExit: Exit(event); break;
      case verbs::kSchedRuntime: Runtime(event); break;
      case verbs::kSchedComm: Comm(event); break;
      default: break;
    }
  }
  void OnFinal(uint64_t final_ns) override;
  void OnThreadGone(ThreadRecord& thread) override;
  void Finish(uint64_t end_ns) override;

 private:
  struct Departed {
    ThreadKey key;
    uint64_t left_ns = 0;
  };

  void Waking(const Event& event);
  void Switch(const Event& event);
  void SwitchOut(ThreadRecord& thread, const Event& event);
  void SwitchIn(ThreadRecord& thread, const Event& event);
  void KnowBefore(ThreadRecord& thread, ThreadState state, StreamId stream);
  void EndBlock(ThreadRecord& thread, const Event& event);
  void Fork(const Event& event);
  void Exec(const Event& event);
  void Exit(const Event& event);
  void Runtime(const Event& event);
  void Comm(const Event& event);

  void Enter(ThreadRecord& thread, ThreadState state, uint64_t time_ns, StreamId stream);
  // Tells what the thread did from since_ns to to_ns.
  void Tell(const ThreadRecord& thread, ThreadState state, uint64_t from_ns, uint64_t to_ns,
            uint16_t to_delay = 0);
  bool IsDoubtful(const ThreadRecord& thread, ThreadState state, uint64_t from_ns, uint64_t to_ns);
  void TellBlock(ThreadRecord& thread, uint64_t to_ns, const Edge* wake);
  void AddWakeOrphan(EventRef event, uint64_t time_ns, NodeId wakee, NodeId waker,
                     OrphanReason reason, std::string proof);
  void DropWake(ThreadRecord& thread, OrphanReason reason, std::string proof);
  void DropUnseen(ThreadRecord& thread, const Event& event);

  JoinContext& context_;
  const VerbSet waking_ = MakeVerbSet(kWakingVerbs);
  const VerbSet switch_ = MakeVerbSet(kSwitchVerbs);
  const VerbSet waking_and_switch_ = MakeVerbSet(kWakingAndSwitchVerbs);
  std::vector<Departed> departed_;
  bool finishing_ = false;
};

void SchedAdapter::AddWakeOrphan(EventRef event, uint64_t time_ns, NodeId wakee, NodeId waker,
                                 OrphanReason reason, std::string proof) {
  Orphan orphan;
  orphan.type = EdgeType::kWake;
  orphan.half = Role::kHandOut;
  orphan.node = wakee;
  orphan.thread = waker;
  orphan.event = event;
  orphan.time_ns = time_ns;
  orphan.reason = reason;
  orphan.proof = std::move(proof);
  context_.AddOrphan(&orphan);
}

void SchedAdapter::DropWake(ThreadRecord& thread, OrphanReason reason, std::string proof) {
  if (!thread.wake.present) return;
  AddWakeOrphan(thread.wake.event, thread.wake.time_ns, context_.NodeOf(thread),
                thread.wake.cause_thread, reason, std::move(proof));
  thread.wake.present = false;
}

void SchedAdapter::Waking(const Event& event) {
  const ThreadKey key = OtherThread(event);
  const EventRef ref{event.stream, event.sequence};
  NodeId waker = 0;
  const NodeId cause = context_.CauseOf(event, &waker);
  ThreadRecord* wakee = context_.FollowedThread(key, event.time_ns);
  if (wakee == nullptr || !wakee->followed) {
    AddWakeOrphan(ref, event.time_ns, 0, waker, OrphanReason::kPeerNotRecorded,
                  "thread " + std::to_string(key.tid) + "/" + std::to_string(key.tgid));
    return;
  }
  const bool is_self = event.level == Level::kTask && event.tid == key.tid &&
                       event.start_time_ns == key.start_time_ns;
  const bool on_run_queue = event.arg != 0;
  PendingWake& pending = wakee->wake;
  const PendingWake wake{true,          on_run_queue, false, event.level,    ref,
                         event.time_ns, cause,        waker, event.arg2 == 1};
  const NodeId wakee_node = context_.NodeOf(*wakee);
  if (!is_self && on_run_queue && wakee->state == ThreadState::kBlocked && pending.present &&
      pending.on_run_queue) {
    // Either this one ended the block, or the one before did and this one came too late.
    pending.ambiguous = true;
    AddWakeOrphan(ref, event.time_ns, wakee_node, waker, OrphanReason::kAmbiguous,
                  "or waking " + JoinContext::EventName(pending.event));
    return;
  }
  // The kernel may leave a sleeping thread on its run queue for a while, so a thread that was seen
  // to block is blocked whatever is said; and one that is on its way out may turn out to have been.
  const bool is_blocked = wakee->state == ThreadState::kBlocked && !pending.present;
  const bool may_block = wakee->state == ThreadState::kRunning && !wakee->exited &&
                         !(pending.present && !pending.on_run_queue);
  if (is_self || (on_run_queue && !is_blocked && !may_block)) {
    AddWakeOrphan(ref, event.time_ns, wakee_node, waker, OrphanReason::kSuperseded,
                  is_self ? "the waker itself" : "on run queue");
    return;
  }
  DropWake(*wakee, OrphanReason::kSuperseded,
           pending.present ? "waking " + JoinContext::EventName(ref) + " came before the switch-in"
                           : std::string());
  wakee->wake = wake;
  if (is_blocked) wakee->wake.on_run_queue = false;
}

void SchedAdapter::Switch(const Event& event) {
  ThreadRecord* leaving =
      context_.FollowedThread({event.start_time_ns, event.tid, event.tgid}, event.time_ns);
  if (leaving != nullptr && leaving->followed) SwitchOut(*leaving, event);
  ThreadRecord* coming = context_.FollowedThread(OtherThread(event), event.time_ns);
  if (coming != nullptr && coming->followed) SwitchIn(*coming, event);
}

bool SchedAdapter::IsDoubtful(const ThreadRecord& thread, ThreadState state, uint64_t from_ns,
                              uint64_t to_ns) {
  if (context_.cpus_left_out() && state != ThreadState::kRunning) return true;
  if (!context_.breaks().MayOverlap(from_ns, to_ns)) return false;
  // The thread that leaves a CPU stands in no signature; that it left can be lost on its CPU only.
  if (state == ThreadState::kRunning) {
    return context_.breaks().LostOn(thread.stream, from_ns, to_ns, switch_).any;
  }
  return context_.breaks().Lost(from_ns, to_ns, waking_and_switch_, SignatureOf(thread.key)).any;
}

void SchedAdapter::Tell(const ThreadRecord& thread, ThreadState state, uint64_t from_ns,
                        uint64_t to_ns, uint16_t to_delay) {
  if (from_ns >= to_ns || from_ns == 0) return;
  ThreadSlice slice;
  slice.thread = thread.node;
  slice.state = state;
  slice.from_ns = from_ns;
  slice.to_ns = to_ns;
  slice.from_delay = thread.since_delay;
  slice.to_delay = to_delay;
  slice.doubtful = thread.doubtful || state == ThreadState::kUnknown ||
                   IsDoubtful(thread, state, from_ns, to_ns);
  context_.sink().OnThreadSlice(slice);
}

void SchedAdapter::TellBlock(ThreadRecord& thread, uint64_t to_ns, const Edge* wake) {
  if (thread.since_ns >= to_ns || thread.since_ns == 0) return;
  ThreadSlice slice;
  slice.thread = thread.node;
  slice.state = ThreadState::kBlocked;
  slice.from_ns = thread.since_ns;
  slice.to_ns = to_ns;
  slice.wait = thread.wait;
  slice.wait_object = thread.wait_object;
  if (wake != nullptr) {
    slice.wake = wake->id;
    slice.waker = wake->src;
    slice.wake_level = wake->level;
    slice.own_timeout = thread.wake.own_timeout;  // the edge is of that waking
  }
  slice.doubtful = thread.doubtful || IsDoubtful(thread, slice.state, slice.from_ns, slice.to_ns);
  context_.sink().OnThreadSlice(slice);
}

void SchedAdapter::Enter(ThreadRecord& thread, ThreadState state, uint64_t time_ns,
                         StreamId stream) {
  thread.state = state;
  thread.since_ns = time_ns;
  thread.since_delay = 0;
  thread.stream = stream;
  thread.doubtful = false;
}

// What a thread that existed at arming did until its first switch is known then: had it come or
// gone since the gate opened, that would have been recorded.
void SchedAdapter::KnowBefore(ThreadRecord& thread, ThreadState state, StreamId stream) {
  if (thread.state != ThreadState::kUnknown || thread.since_ns == 0 || context_.gate_ns == 0)
    return;
  thread.state = state;
  thread.stream = stream;
  thread.since_ns = std::max(thread.since_ns, context_.gate_ns);
}

// A thread that was woken goes away, and nobody saw it come: the waking has ended a block that is
// over, so it must not wait for the next switch-in.
void SchedAdapter::DropUnseen(ThreadRecord& thread, const Event& event) {
  const PendingWake& wake = thread.wake;
  if (!wake.present || wake.on_run_queue || thread.state == ThreadState::kRunning) return;
  const Loss loss =
      context_.breaks().Lost(wake.time_ns, event.time_ns, switch_, SignatureOf(thread.key));
  if (loss.any) {
    DropWake(thread, OrphanReason::kInCoverageBreak, BreakNames(loss.breaks));
  } else if (context_.cpus_left_out()) {
    DropWake(thread, OrphanReason::kFiltered, "not all CPUs are recorded");
  } else {
    DropWake(thread, OrphanReason::kHookUnavailable,
             "no switch-in was told before the switch-out " +
                 JoinContext::EventName({event.stream, event.sequence}));
  }
}

void SchedAdapter::SwitchOut(ThreadRecord& thread, const Event& event) {
  context_.NodeOf(thread);
  const uint64_t now_ns = event.time_ns;
  DropUnseen(thread, event);
  KnowBefore(thread, ThreadState::kRunning, event.stream);
  if (thread.state == ThreadState::kRunning && thread.stream == event.stream) {
    Tell(thread, ThreadState::kRunning, thread.since_ns, now_ns, event.flags);
  } else {
    // Its switch-in was before the recording or is lost.
    Tell(thread, ThreadState::kUnknown, thread.since_ns, now_ns);
  }
  const bool is_blocked = event.arg2 == 0 && event.arg != 0;
  if (thread.exited) {
    departed_.push_back({thread.key, now_ns});
    Enter(thread, ThreadState::kUnknown, 0, event.stream);
    return;
  }
  Enter(thread, is_blocked ? ThreadState::kBlocked : ThreadState::kRunnable, now_ns, event.stream);
  if (!is_blocked) {
    thread.wait = ThreadSlice::Wait::kNone;
    DropWake(thread, OrphanReason::kSuperseded,
             "did not block at " + JoinContext::EventName({event.stream, event.sequence}));
  }
}

void SchedAdapter::SwitchIn(ThreadRecord& thread, const Event& event) {
  context_.NodeOf(thread);
  const uint64_t now_ns = event.time_ns;
  KnowBefore(thread, thread.wake.present ? ThreadState::kBlocked : ThreadState::kRunnable,
             event.stream);
  switch (thread.state) {
    case ThreadState::kBlocked: EndBlock(thread, event); break;
    case ThreadState::kUnknown:
      if (thread.wake.present) {
        EndBlock(thread, event);
      } else {
        Tell(thread, ThreadState::kUnknown, thread.since_ns, now_ns);
      }
      break;
    case ThreadState::kRunnable:
    case ThreadState::kRunning: {
      // A thread that runs cannot come: its switch-out is lost.
      const bool lost = thread.state == ThreadState::kRunning;
      Tell(thread, lost ? ThreadState::kUnknown : ThreadState::kRunnable, thread.since_ns, now_ns);
      if (!thread.wake.present) break;
      // One that waited for a CPU and was woken has come, somewhere, and gone in between.
      const BreakTable& breaks = context_.breaks();
      const Loss loss =
          lost ? breaks.LostOn(thread.stream, thread.since_ns, now_ns, switch_)
               : breaks.Lost(thread.since_ns, now_ns, switch_, SignatureOf(thread.key));
      if (loss.any) {
        DropWake(thread, OrphanReason::kInCoverageBreak, BreakNames(loss.breaks));
      } else if (context_.cpus_left_out()) {
        DropWake(thread, OrphanReason::kFiltered, "not all CPUs are recorded");
      } else {
        DropWake(thread, OrphanReason::kUnexplained, "the wakee was seen not to block");
      }
      break;
    }
  }
  Enter(thread, ThreadState::kRunning, now_ns, event.stream);
  thread.since_delay = event.flags;
  thread.last_switch_in_ns = now_ns;
  thread.last_switch_in = {event.stream, event.sequence};
  thread.wait = ThreadSlice::Wait::kNone;
}

// The block, if it was seen to begin, ends with the waking that is pending, and that waking is now
// the last one: the thread comes.
void SchedAdapter::EndBlock(ThreadRecord& thread, const Event& event) {
  const PendingWake wake = thread.wake;
  const uint64_t now_ns = event.time_ns;
  const bool saw_block = thread.state == ThreadState::kBlocked;
  if (!wake.present) {
    TellBlock(thread, now_ns, nullptr);
    return;
  }
  const Loss loss =
      context_.breaks().Lost(wake.time_ns, now_ns, waking_and_switch_, SignatureOf(thread.key));
  if (wake.ambiguous) {
    DropWake(thread, OrphanReason::kAmbiguous, "another waking came before the switch-in");
    if (saw_block) TellBlock(thread, now_ns, nullptr);
    return;
  }
  if (context_.cpus_left_out()) {
    DropWake(thread, OrphanReason::kFiltered, "not all CPUs are recorded");
    if (saw_block) TellBlock(thread, now_ns, nullptr);
    return;
  }
  if (loss.any) {
    // No attribute of a waking could confirm it, so a touched one makes no edge.
    DropWake(thread, OrphanReason::kInCoverageBreak, BreakNames(loss.breaks));
    thread.doubtful = true;
    if (saw_block) {
      TellBlock(thread, now_ns, nullptr);
    }
    return;
  }
  Edge edge;
  edge.type = EdgeType::kWake;
  edge.src = wake.cause;
  edge.dst = thread.node;
  edge.src_time_ns = wake.time_ns;
  edge.dst_time_ns = now_ns;
  edge.src_event = wake.event;
  edge.dst_event = {event.stream, event.sequence};
  edge.src_thread = wake.cause_thread;
  edge.dst_thread = thread.node;
  edge.level = wake.level;
  if (wake.on_run_queue) {
    edge.confidence = Confidence::kReconstructed;
    edge.rule = "late-dequeue";
  }
  context_.CountJoined(1);
  context_.AddEdge(&edge);
  thread.wake.present = false;
  // A waking may come while the thread is still on its way out: then it was runnable at once.
  const uint64_t woken_ns = std::max(wake.time_ns, thread.since_ns);
  if (saw_block) {
    TellBlock(thread, woken_ns, &edge);
  } else {
    Tell(thread, ThreadState::kUnknown, thread.since_ns, woken_ns);
  }
  Tell(thread, ThreadState::kRunnable, woken_ns, now_ns);
}

void SchedAdapter::Fork(const Event& event) {
  const ThreadKey key = OtherThread(event);
  ThreadRecord& parent = context_.Current(event);
  const NodeId parent_node = context_.NodeOf(parent);
  ThreadRecord* child = context_.threads().Find(key);
  if (child == nullptr) {
    child = &context_.Thread(key, event.time_ns);
    child->birth_seen = true;
    child->parent = parent_node;
  }
  const bool inherits = parent.followed && !context_.children_left_out();
  child->followed = key.tid != 0 && (inherits || context_.IsFollowed(key));
  if (child->comm[0] == '\0') child->comm = parent.comm;
  if (child->state == ThreadState::kUnknown) {
    Enter(*child, ThreadState::kRunnable, event.time_ns, event.stream);
  }
  // The event names both ends, so that its half needs no other.
  Edge edge;
  edge.type = EdgeType::kSpawn;
  edge.src = parent_node;
  edge.dst = context_.NodeOf(*child);
  edge.src_time_ns = edge.dst_time_ns = event.time_ns;
  edge.src_event = edge.dst_event = {event.stream, event.sequence};
  edge.src_thread = parent_node;
  edge.dst_thread = edge.dst;
  if ((event.arg & (kCloneIo | kCloneUntraced)) == (kCloneIo | kCloneUntraced)) {
    edge.rule = "io-thread";  // io-wq and SQPOLL threads: created for the ring, not for a request
  }
  context_.CountJoined(1);
  context_.AddEdge(&edge);
}

void SchedAdapter::Exec(const Event& event) {
  ThreadRecord& after = context_.Current(event);
  const auto old_tid = static_cast<uint32_t>(event.arg);
  ThreadRecord* before = nullptr;
  if (old_tid != 0 && old_tid != event.tid) before = context_.threads().FindByTid(old_tid);
  if (before != nullptr && before->key.tgid != event.tgid) before = nullptr;
  context_.threads().NextImage(event.tgid);
  if (before == nullptr) {
    for (const auto& adapter : context_.adapters()) adapter->OnExec(after, after, event.time_ns);
    return;
  }
  // Not the leader called exec: the kernel gave it the leader's identity, and the leader is dead.
  const ThreadKey key = after.key;
  const bool is_new = after.node == 0 && after.born_ns == event.time_ns;
  ThreadRecord* life = &after;
  if (!is_new) {
    context_.RemoveThread(after, after.exited ? after.exit_ns : event.time_ns,
                          after.exited ? NodeEnd::kObserved : NodeEnd::kSuperseded);
    life = &context_.threads().Add(key, event.time_ns, true);
  }
  life->birth_seen = true;
  life->followed = before->followed || context_.IsFollowed(key);
  life->comm = before->comm;
  context_.NodeOf(*before);
  life->parent = before->node;
  context_.NodeOf(*life);
  Tell(*before, before->state, before->since_ns, event.time_ns);
  Enter(*life, ThreadState::kRunning, event.time_ns, event.stream);
  before->state = ThreadState::kUnknown;
  for (const auto& adapter : context_.adapters()) adapter->OnExec(*before, *life, event.time_ns);
  context_.RemoveThread(*before, event.time_ns, NodeEnd::kSuperseded);
}

void SchedAdapter::Exit(const Event& event) {
  ThreadRecord& thread = context_.Current(event);
  const NodeId node = context_.NodeOf(thread);
  if (event.arg2 != 0) context_.sink().OnThreadRuntime(node, event.time_ns, event.arg2);
  thread.exited = true;
  thread.exit_ns = event.time_ns;
  Tell(thread, thread.state, thread.since_ns, event.time_ns);
  // It goes on executing until its last switch-out.
  thread.since_ns = event.time_ns;
  context_.sink().OnThreadExit(node, event.time_ns);
  for (const auto& adapter : context_.adapters()) adapter->OnThreadExit(thread, event.time_ns);
}

void SchedAdapter::Runtime(const Event& event) {
  ThreadRecord* thread = context_.FollowedThread(OtherThread(event), event.time_ns);
  if (thread == nullptr) return;
  context_.sink().OnThreadRuntime(context_.NodeOf(*thread), event.time_ns, event.arg);
}

void SchedAdapter::Comm(const Event& event) {
  const ThreadKey key = OtherThread(event);
  if (key.tid == 0) return;
  ThreadRecord& thread = context_.Thread(key, event.time_ns);
  thread.comm = CommOf(event);
  if (thread.node != 0) context_.sink().OnThreadName(thread.node, thread.comm);
}

void SchedAdapter::OnFinal(uint64_t final_ns) {
  size_t kept = 0;
  for (const Departed& departed : departed_) {
    if (departed.left_ns + kAfterlifeNs > final_ns) {
      departed_[kept++] = departed;
      continue;
    }
    ThreadRecord* thread = context_.threads().Find(departed.key);
    // After exec the leader's identity may live on in another thread.
    if (thread != nullptr && thread->exited && thread->exit_ns <= departed.left_ns) {
      context_.RemoveThread(*thread, thread->exit_ns, NodeEnd::kObserved);
    }
  }
  departed_.resize(kept);
}

void SchedAdapter::OnThreadGone(ThreadRecord& thread) {
  if (finishing_) return;
  DropWake(thread, OrphanReason::kSuperseded,
           thread.exited ? "the wakee exited" : "the wakee's identity ended");
}

void SchedAdapter::Finish(uint64_t end_ns) {
  for (ThreadRecord* thread : context_.threads().Sorted()) {
    if (!thread->followed || thread->exited) {
      DropWake(*thread, OrphanReason::kSuperseded, "the wakee exited");
      continue;
    }
    const PendingWake wake = thread->wake;
    if (thread->node != 0 || wake.present) {
      context_.NodeOf(*thread);
      if (thread->state == ThreadState::kBlocked) {
        const uint64_t woken_ns = wake.present ? std::max(wake.time_ns, thread->since_ns) : end_ns;
        TellBlock(*thread, woken_ns, nullptr);
        Tell(*thread, ThreadState::kRunnable, woken_ns, end_ns);
      } else {
        Tell(*thread, thread->state, thread->since_ns, end_ns);
      }
    }
    if (!wake.present) continue;
    const Loss loss = context_.breaks().Lost(wake.time_ns, UINT64_MAX, waking_and_switch_,
                                             SignatureOf(thread->key));
    if (loss.any) {
      DropWake(*thread, OrphanReason::kInCoverageBreak, BreakNames(loss.breaks));
    } else {
      DropWake(*thread, OrphanReason::kOpenAtEnd, "not switched in before the end");
    }
  }
  finishing_ = true;
}

}  // namespace

std::unique_ptr<JoinAdapter> MakeSchedAdapter(JoinContext& context) {
  return std::make_unique<SchedAdapter>(context);
}

}  // namespace cprof
