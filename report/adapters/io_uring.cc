// The io_uring adapter: lives of requests, joined by the request object. A life opens at submit (or
// req_failed) and closes at the completion of that object without "more"; the object is then reused
// at once, so that only the generation tells two requests apart.
#include "report/adapters/io_uring.h"

#include <algorithm>
#include <utility>

#include "report/mutation.h"

namespace cprof {
namespace io_uring {
namespace {

constexpr Verb kBirthVerbs[] = {verbs::kIoUringSubmit, verbs::kIoUringReqFailed};
constexpr Verb kCompleteVerbs[] = {verbs::kIoUringComplete};
constexpr Verb kOverflowVerbs[] = {verbs::kIoUringOverflow};
constexpr Verb kCreateVerbs[] = {verbs::kIoUringCreate};
constexpr Verb kRunVerbs[] = {verbs::kIoUringComplete, verbs::kIoUringWorkRun};
constexpr Verb kQueueVerbs[] = {verbs::kIoUringComplete, verbs::kIoUringOverflow,
                                verbs::kIoUringCqWait};
constexpr size_t kCompletedKept = 256;

void Merge(std::vector<BreakId>* into, const std::vector<BreakId>& more) {
  into->insert(into->end(), more.begin(), more.end());
  std::sort(into->begin(), into->end());
  into->erase(std::unique(into->begin(), into->end()), into->end());
}

}  // namespace

IoUringAdapter::IoUringAdapter(JoinContext& context)
    : context_(context),
      births_(MakeVerbSet(kBirthVerbs)),
      completions_(MakeVerbSet(kCompleteVerbs)),
      overflows_(MakeVerbSet(kOverflowVerbs)),
      creates_(MakeVerbSet(kCreateVerbs)),
      runs_(MakeVerbSet(kRunVerbs)),
      queue_(MakeVerbSet(kQueueVerbs)) {
  context.io_requests = this;
}

void IoUringAdapter::Apply(const Event& event) {
  switch (event.verb) {
    case verbs::kIoUringSubmit: Submit(event); break;
    case verbs::kIoUringComplete: Complete(event); break;
    case verbs::kIoUringCreate: Create(event); break;
    case verbs::kIoUringReqFailed: Failed(event); break;
    case verbs::kIoUringOverflow: Overflow(event); break;
    case verbs::kIoUringCqWait: CqWait(event); break;
    case verbs::kIoUringWorkRun: WorkRun(event); break;
    case verbs::kIoUringRingExit:
      rings_[RingOf(event.key2.lo, event.time_ns)]->exiting = true;
      break;
    default: break;  // detours of a request that no rule needs
  }
}

// One object on two CPUs at one instant: an open life ends before the next begins, a closed object
// is handed out before it completes.
bool IoUringAdapter::MustSwap(const Event& first, const Event& second) {
  if (first.key.lo == 0 || first.key.lo != second.key.lo) return false;
  const auto is_birth = [](Verb verb) {
    return verb == verbs::kIoUringSubmit || verb == verbs::kIoUringReqFailed;
  };
  const LifeIndex open = lives_.ObjectOf(first.key.lo).open;
  if (is_birth(first.verb) && second.verb == verbs::kIoUringComplete) {
    return open != kNone && (lives_[open].sqe_flags & kSqeSkipSuccess) == 0 &&
           AttributesAgree(lives_[open], second);
  }
  return first.verb == verbs::kIoUringComplete && is_birth(second.verb) && open == kNone;
}

RingIndex IoUringAdapter::RingOf(uint64_t key, uint64_t time_ns) {
  if (last_ring_ != kNone && last_ring_key_ == key) return last_ring_;
  const auto found = ring_of_key_.find(key);
  if (found != ring_of_key_.end()) {
    last_ring_ = found->second;
  } else {
    AddRing(key, time_ns).preexisting = true;
    last_ring_ = ring_of_key_[key];
  }
  last_ring_key_ = key;
  return last_ring_;
}

Ring& IoUringAdapter::AddRing(uint64_t key, uint64_t time_ns) {
  ring_of_key_[key] = static_cast<RingIndex>(rings_.size());
  rings_.push_back(std::make_unique<Ring>());
  rings_.back()->key = key;
  rings_.back()->born_ns = time_ns;
  return *rings_.back();
}

void IoUringAdapter::Create(const Event& event) {
  const uint64_t key = event.key2.lo;
  Ring* ring = nullptr;
  if (const auto found = ring_of_key_.find(key); found != ring_of_key_.end()) {
    // The memory of a ring that is gone. Whatever was open on it has ended.
    ring = rings_[found->second].get();
    while (ring->first_open != kNone) CloseOlder(ring->first_open, event);
    DropEmptyPoint(*ring);
    *ring = Ring{};
    ring->key = key;
    ring->born_ns = event.time_ns;
  } else {
    ring = &AddRing(key, event.time_ns);
  }
  ring->fd = static_cast<uint32_t>(event.arg);
  ring->generation = ++rings_of_fd_[ring->fd];
  ring->tgid = event.tgid;
}

void IoUringAdapter::OnExistingRing(const Event& event) {
  Ring& ring = *rings_[RingOf(event.key2.lo, event.time_ns)];
  if (!ring.preexisting) return;
  ring.fd = static_cast<uint32_t>(event.arg);
  ring.tgid = event.tgid;
}

Node IoUringAdapter::NodeOf(const Life& life) const {
  const Ring& ring = *rings_[life.ring];
  Node node;
  node.id = life.node;
  node.kind = NodeKind::kIoRequest;
  node.scope = {Scope::Kind::kRing, ring.fd, ring.generation, 0};
  node.key.lo = life.request;
  node.generation = life.generation;
  node.born_ns = life.submit_ns;
  node.birth_seen = true;
  node.birth_thread = life.submit_thread;
  node.attributes.user_data = life.user_data;
  node.attributes.ring.lo = ring.key;
  node.attributes.opcode = life.opcode;
  node.attributes.result = life.result;
  node.attributes.has_result = life.has_result;
  node.attributes.tgid = life.tgid;
  return node;
}

IoRequestView IoUringAdapter::ViewOf(const Life& life) const {
  const Ring& ring = *rings_[life.ring];
  IoRequestView view;
  view.node = life.node;
  view.tgid = ring.tgid != 0 ? ring.tgid : life.tgid;
  view.fd = ring.fd;
  view.user_data = life.user_data;
  view.submit_ns = life.submit_ns;
  view.submit_event = life.submit_event;
  view.submit_thread = life.submit_thread;
  return view;
}

void IoUringAdapter::Submit(const Event& event) {
  if (const LifeIndex older = lives_.ObjectOf(event.key.lo).open; older != kNone) {
    if (CPROF_RULE_REMOVED(kGeneration)) return context_.CountJoined(1);
    CloseOlder(older, event);
  }
  LifeTable::Object& object = lives_.ObjectOf(event.key.lo);
  const RingIndex ring_index = RingOf(event.key2.lo, event.time_ns);
  Ring& ring = *rings_[ring_index];
  const LifeIndex index = lives_.Add();
  Life& life = lives_[index];
  life.request = event.key.lo;
  life.user_data = event.arg;
  life.ring = ring_index;
  life.generation = ++object.generation;
  life.opcode = static_cast<uint8_t>(event.arg2);
  life.sqe_flags = static_cast<uint8_t>(event.arg2 >> 8);
  life.tgid = event.tgid;
  life.submit_ns = event.time_ns;
  life.submit_event = {event.stream, event.sequence};
  const NodeId cause = context_.CauseOf(event, &life.submit_thread);
  object.open = index;
  object.last_ns = event.time_ns;
  ring.user_data.Note(life.user_data, index, [&](LifeIndex older) {
    const Life& other = lives_[older];
    return other.used && other.ring == ring_index && other.user_data == life.user_data &&
           older != index;
  });
  lives_.Link(ring, index);
  if (life.opcode == kMsgRing) {
    saw_post_request_ = true;
    open_posts_.push_back(index);
  }
  if (life.opcode == kPollRemove) saw_poll_update_ = true;

  Node node = NodeOf(life);
  life.node = context_.AddNode(&node);
  Edge edge;
  edge.type = EdgeType::kSubmit;
  edge.src = cause;
  edge.dst = life.node;
  edge.src_time_ns = edge.dst_time_ns = event.time_ns;
  edge.src_event = edge.dst_event = life.submit_event;
  edge.src_thread = edge.dst_thread = life.submit_thread;
  edge.level = event.level;
  context_.AddEdge(&edge);
  if (!context_.io_watchers().empty()) {
    const IoRequestView view = ViewOf(life);
    for (JoinAdapter* watcher : context_.io_watchers()) watcher->OnIoRequest(view);
  }
}

void IoUringAdapter::Failed(const Event& event) {
  const LifeTable::Object& object = lives_.ObjectOf(event.key.lo);
  if (object.open != kNone) {
    Life& life = lives_[object.open];
    // Kernels before 6.4 may find the failure after they traced the submit: the same life.
    if (life.user_data == event.arg && rings_[life.ring]->key == event.key2.lo && !life.joined &&
        life.failed_ns == 0 && (life.sqe_flags & kSqeSkipSuccess) == 0 &&
        !context_.breaks().MayOverlap(life.submit_ns, event.time_ns)) {
      life.failed_ns = event.time_ns;
      life.failed_event = {event.stream, event.sequence};
      return;
    }
  }
  Submit(event);
}

bool IoUringAdapter::AttributesAgree(const Life& life, const Event& event) {
  if (rings_[life.ring]->key != event.key2.lo) return false;
  // A poll may be given other user_data while it is live (IORING_POLL_UPDATE_USER_DATA).
  return life.user_data == event.arg || (life.opcode == kPollAdd && saw_poll_update_);
}

Verdict IoUringAdapter::CheckObject(const Life& life, const Event& event) {
  Verdict verdict;
  const BreakTable& breaks = context_.breaks();
  if (context_.cpus_left_out()) {
    // Ends and births on those CPUs are as unseen as lost ones, and nobody counted them.
    const Ring& ring = *rings_[life.ring];
    verdict.join = AttributesAgree(life, event) && ring.user_data.IsUnique(ring.most_open, {});
    verdict.confidence = Confidence::kReconstructed;
    verdict.rule = "user-data-unique";
    verdict.reason = OrphanReason::kFiltered;
    verdict.proof = "not all CPUs are recorded";
    return verdict;
  }
  if (!breaks.MayOverlap(life.submit_ns, event.time_ns)) {
    if (AttributesAgree(life, event)) return verdict;
    verdict.join = false;
    verdict.proof = "user_data or ring is not that of the open request";
    return verdict;
  }
  const uint64_t object_bit = SignatureBit(life.request);
  const Loss births = breaks.Lost(life.submit_ns, event.time_ns, births_, object_bit);
  const bool agrees = AttributesAgree(life, event);
  if (!births.any) {
    verdict.join = agrees;
    if (!agrees) verdict.proof = "user_data or ring is not that of the open request";
    return verdict;
  }
  // An overflow carries no object, so that its loss shows in the ring's bit only.
  const Loss ends = breaks.Lost(life.submit_ns, event.time_ns, completions_, object_bit);
  const Loss overflows =
      breaks.Lost(life.submit_ns, event.time_ns, overflows_, SignatureBit(rings_[life.ring]->key));
  const bool may_end_unseen = (life.sqe_flags & kSqeSkipSuccess) != 0 || life.maybe_ended;
  if (agrees && !ends.any && !overflows.any && !may_end_unseen) return verdict;
  verdict.breaks = births.breaks;
  Merge(&verdict.breaks, ends.breaks);
  Merge(&verdict.breaks, overflows.breaks);
  const Ring& ring = *rings_[life.ring];
  if (agrees && ring.user_data.IsUnique(ring.most_open, births)) {
    verdict.confidence = Confidence::kReconstructed;
    verdict.rule = "user-data-unique";
    return verdict;
  }
  verdict.join = false;
  verdict.reason = OrphanReason::kInCoverageBreak;
  verdict.proof = BreakNames(verdict.breaks) +
                  (agrees ? ": user_data may be used again" : ": user_data or ring differs");
  return verdict;
}

void IoUringAdapter::Complete(const Event& event) {
  const uint32_t flags = CqeFlags(event);
  if ((flags & kCqeNotification) != 0) {
    CompleteNotification(event);
    return;
  }
  if (event.key.lo == 0) {
    CompleteWithoutObject(event);
    return;
  }
  const bool misses = context_.options().planted_bug == JoinOptions::PlantedBug::kMissesRequests &&
                      event.sequence % 16 == 0;
  LifeTable::Object& object = lives_.ObjectOf(misses ? ~event.key.lo : event.key.lo);
  if (object.open == kNone) {
    OrphanWithoutLife(event, object);
    object.last_ns = event.time_ns;
    NoteCompletion(*rings_[RingOf(event.key2.lo, event.time_ns)], event, 0);
    return;
  }
  const LifeIndex index = object.open;
  const Verdict verdict = CheckObject(lives_[index], event);
  if (!verdict.join) {
    // The object belongs to a life whose birth was not seen; the one that was is over.
    AddTakeUpOrphan(event, 0, verdict.reason, verdict.proof);
    CloseOlder(index, event);
    NoteCompletion(*rings_[RingOf(event.key2.lo, event.time_ns)], event, 0);
    return;
  }
  object.last_ns = event.time_ns;
  Join(index, event, verdict);
}

void IoUringAdapter::Join(LifeIndex index, const Event& event, const Verdict& verdict) {
  Life& life = lives_[index];
  Ring& ring = *rings_[life.ring];
  context_.CountJoined(life.joined ? 1 : (life.failed_ns != 0 ? 3 : 2));
  life.joined = true;
  if ((CqeFlags(event) & kCqeNotification) == 0) {
    life.result = CqeResult(event);
    life.has_result = true;
  }
  Edge edge;
  edge.type = EdgeType::kComplete;
  edge.src = life.node;
  edge.dst = context_.CauseOf(event, &edge.dst_thread);
  edge.src_time_ns = life.submit_ns;
  edge.dst_time_ns = event.time_ns;
  edge.src_event = life.submit_event;
  edge.dst_event = {event.stream, event.sequence};
  edge.src_thread = life.submit_thread;
  edge.level = event.level;
  edge.confidence = verdict.confidence;
  edge.rule = verdict.rule;
  edge.breaks = verdict.breaks;
  context_.AddEdge(&edge);
  NoteCompletion(ring, event, life.node);
  if (!context_.io_watchers().empty()) {
    IoRequestView view = ViewOf(life);
    view.completed = true;
    view.complete_ns = event.time_ns;
    view.complete_event = edge.dst_event;
    view.complete_thread = edge.dst_thread;
    if (ring.completed.size() < kCompletedKept) {
      ring.completed.push_back({life.user_data, view});
    } else {
      ring.completed[ring.next_completed] = {life.user_data, view};
      ring.next_completed = (ring.next_completed + 1) % kCompletedKept;
    }
    for (JoinAdapter* watcher : context_.io_watchers()) watcher->OnIoRequest(view);
  }
  const uint32_t flags = CqeFlags(event);
  const bool is_notification = (flags & kCqeNotification) != 0;
  if (CPROF_RULE_REMOVED(kGeneration)) return;
  if ((flags & kCqeMore) == 0 || is_notification) {
    End(index, event.time_ns, NodeEnd::kObserved, edge.dst_thread);
  } else if (life.opcode == kSendZc || life.opcode == kSendmsgZc) {
    // The kernel frees the object here; "more" announces the notification, which has another.
    life.object_released = true;
    StopWorker(life, event.time_ns);
    lives_.ObjectOf(life.request).open = kNone;
  }
}

void IoUringAdapter::End(LifeIndex index, uint64_t time_ns, NodeEnd end, NodeId death_thread) {
  Life& life = lives_[index];
  Ring& ring = *rings_[life.ring];
  StopWorker(life, time_ns);
  Node node = NodeOf(life);
  node.died_ns = time_ns;
  node.end = end;
  node.death_thread = death_thread;
  if (!life.object_released) {
    LifeTable::Object& object = lives_.ObjectOf(life.request);
    if (object.open == index) object.open = kNone;
  }
  if (life.opcode == kMsgRing) std::erase(open_posts_, index);
  lives_.Unlink(ring, index);
  lives_.Remove(index);
  // A node that a resume edge may still leave is told as ended after it.
  if (ring.empty.valid && ring.empty.node == node.id) {
    ring.empty.ended = node;
  } else {
    context_.EndNode(node);
  }
}

void IoUringAdapter::CloseOlder(LifeIndex index, const Event& event) {
  Life& life = lives_[index];
  if (life.joined) {
    End(index, event.time_ns, NodeEnd::kSuperseded, 0);
    return;
  }
  if ((life.sqe_flags & kSqeSkipSuccess) != 0) {
    // Success posts nothing: that the object is in use again is the proof of the end.
    context_.CountJoined(life.failed_ns != 0 ? 2 : 1);
    End(index, event.time_ns, NodeEnd::kSilent, 0);
    return;
  }
  AddSubmitOrphans(life, WhyOpen(life, event.time_ns, true));
  End(index, event.time_ns, NodeEnd::kSuperseded, 0);
}

Verdict IoUringAdapter::WhyOpen(const Life& life, uint64_t until_ns, bool must_have_ended) {
  Verdict verdict;
  Loss loss =
      context_.breaks().Lost(life.submit_ns, until_ns, completions_, SignatureBit(life.request));
  const Loss overflows = context_.breaks().Lost(life.submit_ns, until_ns, overflows_,
                                                SignatureBit(rings_[life.ring]->key));
  Merge(&loss.breaks, overflows.breaks);
  if (!loss.breaks.empty()) {
    verdict.reason = OrphanReason::kInCoverageBreak;
    verdict.proof = BreakNames(loss.breaks);
  } else if (life.maybe_ended) {
    verdict.reason = OrphanReason::kAmbiguous;
    verdict.proof = "an overflow that several requests may own";
  } else if (context_.cpus_left_out()) {
    verdict.reason = OrphanReason::kFiltered;
    verdict.proof = "not all CPUs are recorded";
  } else if (must_have_ended) {
    verdict.proof = "the object was used again without a completion";
  } else {
    verdict.reason = OrphanReason::kOpenAtEnd;
    verdict.proof = rings_[life.ring]->exiting ? "its ring was being torn down" : "no completion";
  }
  return verdict;
}

void IoUringAdapter::AddSubmitOrphans(const Life& life, const Verdict& verdict) {
  Orphan orphan;
  orphan.type = EdgeType::kSubmit;
  orphan.half = Role::kHandOut;
  orphan.node = life.node;
  orphan.thread = life.submit_thread;
  orphan.event = life.submit_event;
  orphan.time_ns = life.submit_ns;
  orphan.reason = verdict.reason;
  orphan.proof = verdict.proof;
  context_.AddOrphan(&orphan);
  if (life.failed_ns == 0) return;
  orphan.event = life.failed_event;
  orphan.time_ns = life.failed_ns;
  context_.AddOrphan(&orphan);
}

void IoUringAdapter::AddTakeUpOrphan(const Event& event, NodeId node, OrphanReason reason,
                                     std::string proof) {
  Orphan orphan;
  orphan.type = EdgeType::kComplete;
  orphan.half = Role::kTakeUp;
  orphan.node = node;
  context_.CauseOf(event, &orphan.thread);
  orphan.event = {event.stream, event.sequence};
  orphan.time_ns = event.time_ns;
  orphan.reason = reason;
  orphan.proof = std::move(proof);
  context_.AddOrphan(&orphan);
}

void IoUringAdapter::OrphanWithoutLife(const Event& event, const LifeTable::Object& object) {
  const Loss births =
      context_.breaks().Lost(object.last_ns, event.time_ns, births_, SignatureBit(event.key.lo));
  if (births.any) {
    AddTakeUpOrphan(event, 0, OrphanReason::kInCoverageBreak, BreakNames(births.breaks));
    return;
  }
  if (context_.cpus_left_out()) {
    AddTakeUpOrphan(event, 0, OrphanReason::kFiltered, "not all CPUs are recorded");
    return;
  }
  const Ring& ring = *rings_[RingOf(event.key2.lo, event.time_ns)];
  const bool create_lost =
      context_.breaks().Lost(0, event.time_ns, creates_, SignatureBit(ring.key)).any;
  if (object.last_ns == 0 && ring.preexisting && !create_lost) {
    AddTakeUpOrphan(event, 0, OrphanReason::kBeforeRecording,
                    "the ring existed at arming, and the request has not been seen since");
    return;
  }
  AddTakeUpOrphan(event, 0, OrphanReason::kUnexplained, "no live request has that object");
}

void IoUringAdapter::WorkRun(const Event& event) {
  const LifeTable::Object& object = lives_.ObjectOf(event.key.lo);
  ThreadRecord& worker = context_.Current(event);
  const LifeIndex index = object.open;
  const auto bound = workers_.find(&worker);
  if (bound != workers_.end()) {
    if (bound->second == index) return;
    StopWorker(lives_[bound->second], event.time_ns);
  }
  if (index == kNone) return;  // it began before the recording or in a break
  Life& life = lives_[index];
  StopWorker(life, event.time_ns);
  context_.NodeOf(worker);
  life.worker = &worker;
  life.worker_from_ns = event.time_ns;
  workers_[&worker] = index;
}

void IoUringAdapter::StopWorker(Life& life, uint64_t time_ns) {
  if (life.worker == nullptr) return;
  Binding binding;
  binding.thread = life.worker->node;
  binding.node = life.node;
  binding.from_ns = life.worker_from_ns;
  binding.to_ns = time_ns;
  binding.source = Source::kKernel;
  const Loss loss =
      context_.breaks().Lost(binding.from_ns, time_ns, runs_, SignatureBit(life.request));
  if (loss.any) binding.confidence = Confidence::kUnknown;
  workers_.erase(life.worker);
  life.worker = nullptr;
  context_.sink().OnBinding(binding);
}

void IoUringAdapter::OnThreadGone(ThreadRecord& thread) {
  const auto bound = workers_.find(&thread);
  if (bound != workers_.end()) {
    Life& life = lives_[bound->second];
    StopWorker(life, std::max(life.worker_from_ns, thread.exit_ns));
  }
  for (const auto& ring : rings_) {
    if (ring->empty.valid && ring->empty.thread == &thread) DropEmptyPoint(*ring);
  }
}

std::vector<IoRequestView> IoUringAdapter::FindIoRequests(uint32_t tgid, uint32_t fd,
                                                          uint64_t user_data) {
  std::vector<IoRequestView> found;
  for (const auto& ring : rings_) {
    if (ring->fd != fd || ring->tgid != tgid || ring->exiting) continue;
    for (const LifeIndex index : lives_.Find(*ring, user_data)) {
      found.push_back(ViewOf(lives_[index]));
    }
    const CompletedView* latest = nullptr;
    for (const CompletedView& completed : ring->completed) {
      if (completed.user_data != user_data) continue;
      if (latest == nullptr || latest->view.complete_ns <= completed.view.complete_ns) {
        latest = &completed;
      }
    }
    if (latest != nullptr) found.push_back(latest->view);
  }
  return found;
}

void IoUringAdapter::Finish(uint64_t end_ns) {
  std::vector<LifeIndex> open;
  for (LifeIndex index = 0; index < lives_.size(); ++index) {
    if (lives_[index].used) open.push_back(index);
  }
  std::sort(open.begin(), open.end(),
            [this](LifeIndex a, LifeIndex b) { return lives_[a].node < lives_[b].node; });
  for (const LifeIndex index : open) {
    Life& life = lives_[index];
    NodeEnd end = NodeEnd::kOpen;
    if (!life.joined) {
      const bool silent = (life.sqe_flags & kSqeSkipSuccess) != 0 && rings_[life.ring]->exiting;
      if (silent) {
        context_.CountJoined(life.failed_ns != 0 ? 2 : 1);
        end = NodeEnd::kSilent;
      } else {
        AddSubmitOrphans(life, WhyOpen(life, UINT64_MAX, false));
      }
    }
    End(index, end_ns, end, 0);
  }
  for (const auto& ring : rings_) DropEmptyPoint(*ring);
}

}  // namespace io_uring

std::unique_ptr<JoinAdapter> MakeIoUringAdapter(JoinContext& context) {
  return std::make_unique<io_uring::IoUringAdapter>(context);
}

}  // namespace cprof
