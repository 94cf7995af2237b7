// Wall time by a walk back from the request's end, along the strand that executed it.
//
// The cursor is (time, strand). A strand is a thread at work for the request, an io_request of it
// in flight, or a request nested in it. Each step either
//   - gives the stretch before the cursor a state and moves the cursor to the stretch's beginning;
//   or
//   - moves to another strand at the same instant: the one that woke this one (fan-in), the one
//   that
//     handed the work over, the one that was born from it, or, where no edge says how the work came
//     here, the strand of this request that was active last. In that last case the time in between
//     is `unknown`: a missing edge stays missing.
// It ends: time never increases, at one instant no strand is entered twice, and strands are finite.
// Every instant gets one state because the cursor only moves down by giving a state to what it
// leaves behind.
#include "report/wall.h"

#include <algorithm>
#include <utility>

#include "format/result.h"
#include "report/strand.h"

namespace cprof {
namespace {

bool PreferredAtGap(const Activity& a, const Activity& b) {
  if (a.strand.kind != b.strand.kind) return a.strand.kind < b.strand.kind;
  if (a.from_ns != b.from_ns) return a.from_ns > b.from_ns;
  return a.strand.id < b.strand.id;
}

// How many bindings back a hand-over is checked for having been taken up already.
constexpr size_t kMaxLookBack = 64;

constexpr uint8_t kOpTimeout = 11;
constexpr uint8_t kOpLinkTimeout = 15;

bool IsTimer(const NodeHistory& io) {
  return io.opcode == kOpTimeout || io.opcode == kOpLinkTimeout;
}

// What is handed over is an io_request that had completed before it was handled.
bool HandsCompletion(const HandOver& hand_over) {
  return hand_over.src_time_ns < hand_over.time_ns && hand_over.type != EdgeType::kSubmit &&
         hand_over.wanted_ns == 0;
}

class WallWalk {
 public:
  WallWalk(const Ownership& graph, NodeId request, const std::vector<Activity>& activities,
           WallPartition::Lists* lists)
      : graph_(graph),
        id_(request),
        request_(*graph.FindRequest(request)),
        begin_ns_(request_.begin_ns),
        now_ns_(request_.end_ns),
        entered_(lists->entered),
        spans_(lists->spans),
        unsorted_(activities),
        activities_(lists->activities),
        active_(lists->active) {
    entered_.clear();
    spans_.clear();
    active_.clear();
  }

  void Run();

 private:
  struct Label {
    WallState state = WallState::kUnknown;
    NodeId node = 0;
    EdgeId edge = 0;
    NodeId cause = 0;
    Confidence confidence = Confidence::kObserved;
  };

  void Emit(uint64_t from_ns, const Label& label);
  void EmitWithWaits(uint64_t from_ns, const Label& label, NodeId thread);
  void Go(Strand strand);
  bool Works(NodeId thread, uint64_t time_ns) const;
  void StepThread();
  void StepSlice(const ThreadHistory& thread, uint64_t floor_ns);
  void StepBlocked(const ThreadHistory& thread, size_t index, uint64_t floor_ns);
  bool EndedByOwnIo(const ThreadHistory& thread, size_t index, Label* label) const;
  void StepIo();
  void StepChild();
  void TakeUp(NodeId thread, NodeId node);
  void Follow(const HandOver& hand_over);
  const HandOver* LatestHandOver(NodeId thread, NodeId node, uint64_t* time_ns,
                                 BoundSpan* busy) const;
  bool IsBlockedAt(NodeId id, uint64_t time_ns) const;
  bool IsStillWaiting(const NodeHistory& node, NodeId id, const HandOver& hand_over,
                      BoundSpan* busy) const;
  void FallBack();
  void SortActivities();

  const Ownership& graph_;
  const NodeId id_;
  const RequestHistory& request_;
  const uint64_t begin_ns_;
  uint64_t now_ns_;
  Strand strand_;
  NodeId bound_ = 0;  // by what the thread strand is bound, as last seen
  std::vector<Strand>& entered_;
  std::vector<StateSpan>& spans_;
  const std::vector<Activity>& unsorted_;
  bool sorted_ = false;
  std::vector<Activity>& activities_;
  size_t next_activity_ = 0;
  std::vector<Activity>& active_;
};

// [from_ns, now) gets the label; now becomes from_ns.
void WallWalk::Emit(uint64_t from_ns, const Label& label) {
  from_ns = std::max(from_ns, begin_ns_);
  if (from_ns >= now_ns_) return;
  StateSpan span;
  span.request = id_;
  span.state = label.state;
  span.from_ns = from_ns;
  span.to_ns = now_ns_;
  span.edge = label.edge;
  span.node = label.node;
  span.cause = label.cause;
  span.confidence = label.state == WallState::kUnknown ? Confidence::kUnknown : label.confidence;
  now_ns_ = from_ns;
  entered_.clear();
  if (!spans_.empty()) {
    StateSpan& later = spans_.back();
    if (later.state == span.state && later.edge == span.edge && later.node == span.node &&
        later.cause == span.cause && later.confidence == span.confidence) {
      later.from_ns = from_ns;
      return;
    }
  }
  spans_.push_back(span);
}

// As Emit, but where the request waited for a resource, that is the state. thread: only waits that
// this thread told; 0: any.
void WallWalk::EmitWithWaits(uint64_t from_ns, const Label& label, NodeId thread) {
  from_ns = std::max(from_ns, begin_ns_);
  for (auto wait = request_.waits.rbegin(); wait != request_.waits.rend(); ++wait) {
    if (wait->wanted_ns >= now_ns_ || (thread != 0 && wait->thread != thread)) continue;
    if (wait->got_ns <= from_ns) break;
    Emit(std::max(from_ns, wait->got_ns), label);
    Label resource;
    resource.state = WallState::kResource;
    resource.node = label.node;
    resource.edge = wait->edge;
    resource.cause = wait->cause;
    Emit(std::max(from_ns, wait->wanted_ns), resource);
  }
  Emit(from_ns, label);
}

void WallWalk::Go(Strand strand) {
  if (std::find(entered_.begin(), entered_.end(), strand) != entered_.end()) {
    FallBack();
    return;
  }
  entered_.push_back(strand);
  strand_ = strand;
  bound_ = id_;
}

// Whether the thread was at work for the request, or for one nested in it, just before time_ns.
bool WallWalk::Works(NodeId thread, uint64_t time_ns) const {
  if (thread == 0) return false;
  const Relation::Kind kind = graph_.RelationBefore(thread, time_ns, id_).kind;
  return kind == Relation::Kind::kOwn || kind == Relation::Kind::kChild;
}

void WallWalk::StepThread() {
  const ThreadHistory* thread = graph_.FindThread(strand_.id);
  if (thread != nullptr && thread->died_ns < now_ns_) {
    StepSlice(*thread, thread->died_ns);
    return;
  }
  const Relation relation = graph_.RelationBefore(strand_.id, now_ns_, id_);
  Label label;
  label.node = strand_.id;
  switch (relation.kind) {
    case Relation::Kind::kOwn:
      bound_ = relation.bound;
      StepSlice(*thread, relation.from_ns);
      return;
    case Relation::Kind::kChild:
      bound_ = relation.bound;
      label.state = WallState::kInChild;
      label.cause = relation.child;
      Emit(relation.from_ns, label);
      return;
    case Relation::Kind::kUnknown: Emit(relation.from_ns, label); return;
    case Relation::Kind::kNone: break;
  }
  // Here the thread began to work for the request: by birth, or by taking something up.
  if (thread->inherited.from_ns == now_ns_ && bound_ == 0 && thread->parent != 0) {
    label.state = WallState::kRunnable;
    label.edge = thread->spawn_edge;
    Emit(thread->spawn_ns, label);
    if (now_ns_ <= begin_ns_) return;
    if (Works(thread->parent, now_ns_)) {
      Go({Strand::Kind::kThread, thread->parent});
    } else {
      FallBack();
    }
    return;
  }
  TakeUp(strand_.id, bound_ == 0 ? id_ : bound_);
}

// The stretch before now on a thread that works for the request at least since floor_ns.
void WallWalk::StepSlice(const ThreadHistory& thread, uint64_t floor_ns) {
  Label label;
  label.node = strand_.id;
  const size_t after =
      thread.FindSlice([this](const ThreadSlice& slice) { return slice.from_ns < now_ns_; });
  const uint64_t known_to_ns = after == 0 ? 0 : thread.slices[after - 1].to_ns;
  if (known_to_ns < now_ns_) {
    // Beyond the last slice that closed only this is sure: what became runnable and closed as such
    // is running since.
    const uint64_t open_ns = std::max(thread.covered_ns, known_to_ns);
    if (open_ns < now_ns_ && thread.last_state == ThreadState::kRunnable) {
      label.state = WallState::kRunning;
      Emit(std::max(open_ns, floor_ns), label);
      return;
    }
    Emit(std::max(known_to_ns, floor_ns), label);
    return;
  }
  const size_t index = after - 1;
  const ThreadSlice& slice = thread.slices[index];
  if (slice.doubtful) label.confidence = Confidence::kReconstructed;
  switch (slice.state) {
    case ThreadState::kRunning: label.state = WallState::kRunning; break;
    case ThreadState::kRunnable: label.state = WallState::kRunnable; break;
    case ThreadState::kBlocked: StepBlocked(thread, index, floor_ns); return;
    case ThreadState::kUnknown: break;
  }
  Emit(std::max(slice.from_ns, floor_ns), label);
}

void WallWalk::StepBlocked(const ThreadHistory& thread, size_t index, uint64_t floor_ns) {
  const ThreadSlice& slice = thread.slices[index];
  const uint64_t from_ns = std::max(slice.from_ns, floor_ns);
  Label label;
  label.node = strand_.id;
  if (slice.doubtful) label.confidence = Confidence::kReconstructed;
  // A wait that outlasts this instant was ended by nothing that matters here.
  const bool ended = slice.to_ns == now_ns_;
  if (ended && slice.own_timeout) {
    label.state = WallState::kTimer;
    label.edge = slice.wake;
    EmitWithWaits(from_ns, label, strand_.id);
    return;
  }
  const bool by_thread =
      ended && slice.waker != 0 && slice.wake_level == Level::kTask && slice.waker != strand_.id;
  const ThreadHistory* waking = by_thread ? graph_.FindThread(slice.waker) : nullptr;
  if (waking != nullptr) {
    label.edge = slice.wake;
    // A thread wakes who waits for its end when it has exited, and for what it worked for till
    // then.
    const uint64_t worked_ns = std::min(now_ns_, waking->died_ns);
    switch (graph_.RelationBefore(slice.waker, worked_ns, id_).kind) {
      case Relation::Kind::kOwn:
      case Relation::Kind::kChild: {
        const Strand waker{Strand::Kind::kThread, slice.waker};
        if (std::find(entered_.begin(), entered_.end(), waker) == entered_.end()) {
          Go(waker);
          return;
        }
        break;
      }
      case Relation::Kind::kNone: label.state = WallState::kBlocked; break;
      case Relation::Kind::kUnknown: break;
    }
  }
  if (ended && slice.wait == ThreadSlice::Wait::kIoUring) {
    if (!EndedByOwnIo(thread, index, &label)) label.state = WallState::kUnknown;
  }
  EmitWithWaits(from_ns, label, strand_.id);
}

// Whether every completion that can have ended this wait for a ring belongs to the request.
bool WallWalk::EndedByOwnIo(const ThreadHistory& thread, size_t index, Label* label) const {
  const ThreadSlice& slice = thread.slices[index];
  const auto* completions = graph_.CompletionsOf(slice.wait_object);
  if (completions == nullptr) return false;
  // With task work the completion is posted by the waiter itself after it was woken, at the latest
  // before it waits again.
  uint64_t until_ns = kForever;
  for (size_t next = index + 1; next < thread.slices.size(); ++next) {
    if (thread.slices[next].state == ThreadState::kRunnable) continue;
    until_ns = thread.slices[next].to_ns;
    break;
  }
  auto completion = std::upper_bound(
      completions->begin(), completions->end(), slice.from_ns,
      [](uint64_t time_ns, const Ownership::Completion& entry) { return time_ns < entry.time_ns; });
  bool any = false;
  bool timers = true;
  for (; completion != completions->end(); ++completion) {
    if (completion->time_ns > slice.to_ns && (any || completion->time_ns > until_ns)) break;
    if (!graph_.IsOwnedBefore(completion->node, completion->time_ns, id_)) return false;
    const NodeHistory* io = graph_.FindNode(completion->node);
    timers = timers && io != nullptr && IsTimer(*io);
    label->edge = completion->edge;
    any = true;
  }
  if (!any) return false;
  label->state = timers ? WallState::kTimer : WallState::kIo;
  return true;
}

void WallWalk::StepIo() {
  const NodeHistory& io = *graph_.FindNode(strand_.id);
  uint64_t submit_ns = io.submit_ns != 0 ? io.submit_ns : io.born_ns;
  submit_ns = std::min(submit_ns, now_ns_);
  Label label;
  label.node = strand_.id;
  label.edge = io.complete_edge;
  label.state = IsTimer(io) ? WallState::kTimer : WallState::kIo;
  // A kernel worker that is bound to the request executes it.
  for (auto span = io.bound.rbegin(); span != io.bound.rend(); ++span) {
    if (span->from_ns >= now_ns_ || span->to_ns <= submit_ns) continue;
    Emit(std::max(submit_ns, span->to_ns), label);
    Label work = label;
    work.state = WallState::kKernelWork;
    work.node = span->thread;
    Emit(std::max(submit_ns, span->from_ns), work);
  }
  Emit(submit_ns, label);
  if (now_ns_ <= begin_ns_) return;
  if (Works(io.submit_thread, now_ns_)) {
    Go({Strand::Kind::kThread, io.submit_thread});
    return;
  }
  // Named by the program earlier than it was submitted.
  if (io.in.empty() || io.in.back().time_ns > now_ns_) {
    FallBack();
    return;
  }
  Label queued;
  queued.state = WallState::kQueued;
  queued.node = strand_.id;
  queued.edge = io.in.back().edge;
  const NodeId thread = io.in.back().thread;
  Emit(io.in.back().time_ns, queued);
  if (now_ns_ > begin_ns_ && Works(thread, now_ns_)) {
    Go({Strand::Kind::kThread, thread});
  } else if (now_ns_ > begin_ns_) {
    FallBack();
  }
}

// A nested request is one stretch: its inside is its own.
void WallWalk::StepChild() {
  const NodeHistory& child = *graph_.FindNode(strand_.id);
  const HandOver* first = child.in.empty() ? nullptr : &child.in.front();
  // Begun first and handed over afterwards, it starts with the hand-over.
  uint64_t from_ns = child.born_ns;
  NodeId thread = child.birth_thread;
  if (first != nullptr && first->time_ns < now_ns_ && first->time_ns >= from_ns) {
    from_ns = first->time_ns;
    thread = first->thread;
  }
  Label label;
  label.node = strand_.id;
  label.state = WallState::kInChild;
  label.cause = strand_.id;
  Emit(std::min(from_ns, now_ns_), label);
  if (now_ns_ <= begin_ns_) return;
  if (Works(thread, now_ns_)) {
    Go({Strand::Kind::kThread, thread});
  } else {
    FallBack();
  }
}

// Whether the thread was blocked at time_ns: then it waited in place for what came.
bool WallWalk::IsBlockedAt(NodeId id, uint64_t time_ns) const {
  const ThreadHistory* thread = graph_.FindThread(id);
  if (thread == nullptr) return true;
  const size_t index =
      thread->FindSlice([time_ns](const ThreadSlice& slice) { return slice.to_ns < time_ns; });
  if (index == thread->slices.size()) return true;
  const ThreadSlice& slice = thread->slices[index];
  return slice.from_ns > time_ns || slice.state == ThreadState::kBlocked ||
         slice.state == ThreadState::kUnknown;
}

// A hand-over is still waiting at now if nobody took the node up since. Who was bound to it already
// took nothing up, unless it waited in place; it may take a while to leave: *busy and its leave.
bool WallWalk::IsStillWaiting(const NodeHistory& node, NodeId id, const HandOver& hand_over,
                              BoundSpan* busy) const {
  size_t looked = 0;
  for (auto span = node.bound.rbegin(); span != node.bound.rend() && looked < kMaxLookBack;
       ++span, ++looked) {
    if (span->from_ns >= now_ns_ || span->to_ns <= hand_over.time_ns) continue;
    if (span->from_ns > hand_over.time_ns) return false;
    if (span->thread == hand_over.thread) {
      // The giver may stay at work for what it gave away. Others tell here what they took up.
      if (hand_over.src != id) return false;
      continue;
    }
    if (IsBlockedAt(span->thread, hand_over.time_ns)) return false;
    if (span->to_ns > busy->to_ns) *busy = *span;
  }
  return true;
}

// The hand-over that `thread` took up at now by beginning to work for `node`: the latest one, since
// work begins when the last thing it needs is there. *time_ns: since when it waited.
const HandOver* WallWalk::LatestHandOver(NodeId thread, NodeId node, uint64_t* time_ns,
                                         BoundSpan* busy) const {
  const HandOver* best = nullptr;
  const NodeHistory* history = graph_.FindNode(node);
  if (history == nullptr) return nullptr;
  const auto after =
      std::upper_bound(history->in.begin(), history->in.end(), now_ns_,
                       [](uint64_t t, const HandOver& hand_over) { return t < hand_over.time_ns; });
  *busy = {0, 0, 0};
  BoundSpan at_work{0, 0, 0};
  if (after != history->in.begin() && IsStillWaiting(*history, node, *std::prev(after), &at_work)) {
    best = &*std::prev(after);
    *time_ns = best->time_ns;
    *busy = at_work;
  }
  // Programs also tell what they resume just after they enter the node it belongs to.
  uint64_t left_ns = 0;
  for (auto span = history->bound.rbegin(); span != history->bound.rend(); ++span) {
    if (span->from_ns < now_ns_) break;
    if (span->from_ns == now_ns_ && span->thread == thread) left_ns = span->to_ns;
  }
  for (auto inside = after; inside != history->in.end() && inside->time_ns < left_ns; ++inside) {
    if (inside->thread != thread || inside->src_time_ns > now_ns_) continue;
    if (inside->src_time_ns == inside->time_ns) continue;
    if (best != nullptr && inside->src_time_ns <= *time_ns) continue;
    best = &*inside;
    *time_ns = inside->src_time_ns;
    *busy = {0, 0, 0};
  }
  // What the kernel shows that this thread took up.
  const ThreadHistory* taker = graph_.FindThread(thread);
  if (taker == nullptr) return best;
  for (auto resumed = taker->resumed.rbegin(); resumed != taker->resumed.rend(); ++resumed) {
    if (resumed->time_ns > now_ns_) continue;
    if (best != nullptr && resumed->time_ns <= *time_ns) break;
    if (!graph_.IsOwnedBefore(resumed->src, resumed->src_time_ns, id_)) break;
    at_work = {0, 0, 0};
    if (!IsStillWaiting(*history, node, *resumed, &at_work)) break;
    best = &*resumed;
    *time_ns = resumed->time_ns;
    *busy = at_work;
    break;
  }
  return best;
}

void WallWalk::TakeUp(NodeId thread, NodeId node) {
  uint64_t waiting_ns = 0;
  BoundSpan busy{0, 0, 0};
  const HandOver* hand_over = LatestHandOver(thread, node, &waiting_ns, &busy);
  if (hand_over == nullptr) {
    FallBack();
    return;
  }
  Label queued;
  queued.state = WallState::kQueued;
  queued.node = node;
  queued.edge = hand_over->edge;
  queued.confidence = hand_over->confidence;
  if (busy.thread != 0) {
    // What was still at work for the node when it was handed over explains that time best.
    Emit(std::min(busy.to_ns, now_ns_), queued);
    if (now_ns_ > begin_ns_) Go({Strand::Kind::kThread, busy.thread});
    return;
  }
  if (HandsCompletion(*hand_over)) waiting_ns = std::min(waiting_ns, hand_over->src_time_ns);
  Emit(waiting_ns, queued);
  if (now_ns_ > begin_ns_) Follow(*hand_over);
}

// now is where the hand-over was made, or what it hands over was completed.
void WallWalk::Follow(const HandOver& hand_over) {
  Label label;
  label.edge = hand_over.edge;
  label.confidence = hand_over.confidence;
  label.node = hand_over.src;
  if (hand_over.wanted_ns != 0) {
    label.state = WallState::kResource;
    label.cause = hand_over.cause;
    Emit(hand_over.wanted_ns, label);
    if (now_ns_ > begin_ns_) FallBack();
    return;
  }
  const NodeHistory* src = graph_.FindNode(hand_over.src);
  if (HandsCompletion(hand_over)) {
    if (src != nullptr && graph_.IsOwnedBefore(hand_over.src, now_ns_, id_)) {
      Go({Strand::Kind::kIo, hand_over.src});
    } else {
      FallBack();
    }
    return;
  }
  const auto& owned = request_.owned;
  if (src != nullptr && src->kind == NodeKind::kRequest && hand_over.src != id_ &&
      std::find(owned.begin(), owned.end(), hand_over.src) != owned.end()) {
    Go({Strand::Kind::kChild, hand_over.src});
    return;
  }
  if (Works(hand_over.thread, now_ns_)) {
    Go({Strand::Kind::kThread, hand_over.thread});
  } else {
    FallBack();
  }
}

void WallWalk::SortActivities() {
  sorted_ = true;
  activities_ = unsorted_;
  std::sort(activities_.begin(), activities_.end(), [](const Activity& a, const Activity& b) {
    if (a.to_ns != b.to_ns) return a.to_ns > b.to_ns;
    return PreferredAtGap(a, b);
  });
}

// No edge says how the request came to be here: on to its strand that was active last.
void WallWalk::FallBack() {
  if (!sorted_) SortActivities();
  while (next_activity_ < activities_.size() && activities_[next_activity_].to_ns >= now_ns_) {
    active_.push_back(activities_[next_activity_++]);
  }
  std::erase_if(active_, [this](const Activity& a) { return a.from_ns >= now_ns_; });
  const Activity* best = nullptr;
  for (const Activity& activity : active_) {
    if (std::find(entered_.begin(), entered_.end(), activity.strand) != entered_.end()) continue;
    if (best == nullptr || PreferredAtGap(activity, *best)) best = &activity;
  }
  if (best == nullptr && next_activity_ < activities_.size()) {
    best = &activities_[next_activity_];
  }
  if (best == nullptr) {
    EmitWithWaits(begin_ns_, Label{}, 0);
    return;
  }
  const Strand strand = best->strand;
  EmitWithWaits(std::min(best->to_ns, now_ns_), Label{}, 0);
  entered_.push_back(strand);
  strand_ = strand;
  bound_ = id_;
}

void WallWalk::Run() {
  const NodeHistory& node = *graph_.FindNode(id_);
  const uint64_t end_ns = now_ns_;
  if (now_ns_ > begin_ns_) {
    if (Works(node.death_thread, now_ns_)) {
      Go({Strand::Kind::kThread, node.death_thread});
    } else {
      TakeUp(node.death_thread, id_);
    }
  }
  while (now_ns_ > begin_ns_) {
    switch (strand_.kind) {
      case Strand::Kind::kThread: StepThread(); break;
      case Strand::Kind::kChild: StepChild(); break;
      case Strand::Kind::kIo: StepIo(); break;
    }
  }
  std::reverse(spans_.begin(), spans_.end());
  uint64_t total_ns = 0;
  for (const StateSpan& span : spans_) total_ns += span.to_ns - span.from_ns;
  CPROF_CHECK(total_ns == end_ns - begin_ns_);
}

}  // namespace

const std::vector<StateSpan>& WallPartition::Of(NodeId request,
                                                const std::vector<Activity>& activities) {
  WallWalk(graph_, request, activities, &lists_).Run();
  return lists_.spans;
}

}  // namespace cprof
