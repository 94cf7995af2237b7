// Owners from the graph's edges and bindings, by the table in cprof-causality(7), OWNERSHIP.
//
// What makes an owner here: a submit whose binding covered the submitter unchanged since an earlier
// enter of that ring, a submit that the application names, a queue, spawn, complete or resume edge
// of the application, and the spawn of a thread. A wake, an acquire and a release make none. An
// owner lasts until the node or the request ends; nothing is passed on by a request that has ended.
#include "report/ownership.h"

#include <algorithm>
#include <string_view>

#include "report/mutation.h"

namespace cprof {
namespace {

// Opcodes of io_uring whose completion brings bytes or events of whoever sent them: armed by one
// request, they may serve another. Reads are among them because the type of the file is not
// recorded.
bool Receives(uint8_t opcode) {
  switch (opcode) {
    case 1:   // READV
    case 4:   // READ_FIXED
    case 6:   // POLL_ADD
    case 10:  // RECVMSG
    case 13:  // ACCEPT
    case 22:  // READ
    case 27:  // RECV
    case 30:  // SPLICE
    case 33:  // TEE
    case 49:  // READ_MULTISHOT
    case 50:  // WAITID
    case 51:  // FUTEX_WAIT
    case 53:  // FUTEX_WAITV
    case 58:  // RECV_ZC
    case 59:  // EPOLL_WAIT
    case 60:  // READV_FIXED
      return true;
    default: return false;
  }
}

// Keeps the newer half of a list that reached its limit.
template <typename T>
void Bound(std::vector<T>& list) {
  if (list.size() < kMaxNodeHistory) return;
  list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(kMaxNodeHistory / 2));
}

// So many entries of a list keep their memory for the next node.
constexpr size_t kKeptCapacity = 16;

template <typename T>
std::vector<T> Emptied(std::vector<T>& list) {
  std::vector<T> kept;
  if (list.capacity() <= kKeptCapacity) kept.swap(list);
  kept.clear();
  return kept;
}

}  // namespace

void NodeHistory::Clear() {
  NodeHistory fresh;
  fresh.owners = Emptied(owners);
  fresh.bound = Emptied(bound);
  fresh.in = Emptied(in);
  *this = std::move(fresh);
}

void RequestHistory::Clear() {
  RequestHistory fresh;
  fresh.owned = Emptied(owned);
  fresh.waits = Emptied(waits);
  *this = std::move(fresh);
}

void Ownership::AddNode(const Node& node) {
  switch (node.kind) {
    case NodeKind::kThread: threads_.FindOrAdd(node.id); return;
    case NodeKind::kRequest: {
      RequestHistory& request = requests_.FindOrAdd(node.id);
      request.begin_ns = node.born_ns;
      request.begun = node.birth_seen;
      by_begin_.push_back(node.id);
      ++open_count_;
      break;
    }
    case NodeKind::kRuntimeTask:
    case NodeKind::kResource: break;
    case NodeKind::kIoRequest:
      // Without an open request nobody can own it.
      if (open_count_ == 0) return;
      break;
    default: return;
  }
  NodeHistory& history = nodes_.FindOrAdd(node.id);
  history.kind = node.kind;
  history.opcode = node.attributes.opcode;
  history.ring = node.attributes.ring;
  history.born_ns = node.born_ns;
  history.birth_thread = node.birth_thread;
  if (node.birth_thread != 0 && node.kind != NodeKind::kIoRequest) {
    ThreadHistory* thread = threads_.Find(node.birth_thread);
    if (thread != nullptr) thread->user_ns = std::max(thread->user_ns, node.born_ns);
  }
}

void Ownership::EndNode(const Node& node) {
  if (node.kind == NodeKind::kThread) {
    EndThread(node);
    return;
  }
  NodeHistory* history = nodes_.Find(node.id);
  if (history == nullptr) return;
  history->died_ns = node.died_ns;
  history->death_thread = node.death_thread;
  if (node.kind == NodeKind::kRequest) {
    RequestHistory* request = requests_.Find(node.id);
    if (request == nullptr || request->end_ns != kForever) return;
    request->ended = node.end == NodeEnd::kObserved;
    EndRequest(node.id, node.died_ns);
    return;
  }
  if (!history->owners.empty()) CloseOwners(node.id, &history->owners.back(), node.died_ns);
  if (history->users == 0) nodes_.Erase(node.id);
}

void Ownership::ExitThread(NodeId thread, uint64_t time_ns) {
  ThreadHistory* found = threads_.Find(thread);
  if (found == nullptr) return;
  found->died_ns = time_ns;
  if (!found->inherited.requests.empty()) CloseOwners(thread, &found->inherited, time_ns);
}

void Ownership::EndThread(const Node& node) {
  ThreadHistory* thread = threads_.Find(node.id);
  if (thread == nullptr) return;
  thread->died_ns = node.died_ns;
  if (!thread->inherited.requests.empty()) {
    CloseOwners(node.id, &thread->inherited, node.died_ns);
  }
  if (thread->stacks.empty() && thread->inherited.requests.empty()) {
    threads_.Erase(node.id);
  } else {
    dead_threads_.push_back(node.id);
  }
}

// Tells the interval that ends; a span that has ended already stays as it is.
void Ownership::CloseOwners(NodeId node, OwnerSpan* span, uint64_t time_ns) {
  if (span->to_ns != kForever) return;
  span->to_ns = std::max(time_ns, span->from_ns);
  if (span->to_ns == span->from_ns) return;
  told_.node = node;
  told_.requests.assign(span->requests.begin(), span->requests.end());
  told_.from_ns = span->from_ns;
  told_.to_ns = span->to_ns;
  told_.source = span->source;
  told_.confidence = span->confidence;
  told_.rule = span->rule;
  sink_.OnOwner(told_);
}

void Ownership::Own(NodeId request, NodeId node) {
  RequestHistory* owner = requests_.Find(request);
  if (owner == nullptr) return;
  std::vector<NodeId>& owned = owner->owned;
  // Latest first: it is nearly always the one just made.
  if (std::find(owned.rbegin(), owned.rend(), node) != owned.rend()) return;
  if (owned.size() >= kMaxNodeHistory) {
    const auto half = owned.begin() + static_cast<ptrdiff_t>(kMaxNodeHistory / 2);
    const std::vector<NodeId> dropped(owned.begin(), half);
    owned.erase(owned.begin(), half);
    for (NodeId old : dropped) Unuse(old);
  }
  owned.push_back(node);
  if (NodeHistory* history = nodes_.Find(node)) ++history->users;
}

void Ownership::Unuse(NodeId node) {
  NodeHistory* history = nodes_.Find(node);
  if (history == nullptr || history->users == 0) return;
  --history->users;
  if (history->users == 0 && history->died_ns != kForever && !requests_.Contains(node)) {
    nodes_.Erase(node);
  }
}

void Ownership::AddOwners(NodeId node, NodeHistory& history, const OwnerIds& requests,
                          uint64_t time_ns, Source source, const char* rule) {
  if (requests.empty()) return;
  OwnerSpan next;
  next.from_ns = time_ns;
  next.requests = requests;
  next.source = source;
  next.rule = rule;
  if (!history.owners.empty() && history.owners.back().to_ns == kForever) {
    OwnerSpan& open = history.owners.back();
    // Work for several owners belongs to all of them.
    for (NodeId request : open.requests) {
      if (!std::binary_search(next.requests.begin(), next.requests.end(), request)) {
        next.requests.insert(std::upper_bound(next.requests.begin(), next.requests.end(), request),
                             request);
      }
    }
    if (next.requests == open.requests) return;
    CloseOwners(node, &open, time_ns);
  }
  Bound(history.owners);
  history.owners.push_back(std::move(next));
  for (NodeId request : requests) Own(request, node);
  DropEnded(node, requests);
}

// From time_ns on the request is no owner of the node any more; others may stay.
void Ownership::DropOwner(NodeId node, NodeId request, uint64_t time_ns) {
  NodeHistory* history = nodes_.Find(node);
  if (history == nullptr) {
    ThreadHistory* thread = threads_.Find(node);
    if (thread == nullptr) return;
    const OwnerIds& owners = thread->inherited.requests;
    if (!std::binary_search(owners.begin(), owners.end(), request)) return;
    CloseOwners(node, &thread->inherited, time_ns);
    return;
  }
  if (history->owners.empty() || history->owners.back().to_ns != kForever) return;
  OwnerSpan rest = history->owners.back();
  const auto at = std::find(rest.requests.begin(), rest.requests.end(), request);
  if (at == rest.requests.end()) return;
  const bool over = history->complete_ns != 0 && history->complete_ns < time_ns;
  CloseOwners(node, &history->owners.back(), over ? history->complete_ns : time_ns);
  rest.requests.erase(at);
  rest.from_ns = std::max(time_ns, rest.from_ns);
  if (!rest.requests.empty()) history->owners.push_back(rest);
}

// For edges that are told after their owner's end.
void Ownership::DropEnded(NodeId node, const OwnerIds& requests) {
  for (NodeId request : requests) {
    const RequestHistory* owner = requests_.Find(request);
    if (owner == nullptr || owner->end_ns == kForever) continue;
    DropOwner(node, request, owner->end_ns);
  }
}

void Ownership::EndRequest(NodeId request, uint64_t time_ns) {
  RequestHistory& history = *requests_.Find(request);
  history.end_ns = std::max(time_ns, history.begin_ns);
  if (NodeHistory* node = nodes_.Find(request)) node->died_ns = history.end_ns;
  --open_count_;
  ended_.push_back(request);
  for (NodeId node : history.owned) DropOwner(node, request, history.end_ns);
}

void Ownership::AddEdge(const Edge& edge) {
  const bool application = edge.source == Source::kApplication;
  if (application && edge.src_thread != 0) {
    ThreadHistory* thread = threads_.Find(edge.src_thread);
    if (thread != nullptr) thread->user_ns = std::max(thread->user_ns, edge.src_time_ns);
  }
  if (requests_.empty()) return;
  if (application) {
    OnApplicationEdge(edge);
    return;
  }
  switch (edge.type) {
    case EdgeType::kSubmit:
      if (NodeHistory* io = nodes_.Find(edge.dst)) OnSubmit(edge, *io);
      break;
    case EdgeType::kComplete:
    case EdgeType::kResume: OnComplete(edge); break;
    case EdgeType::kSpawn: OnSpawn(edge); break;
    default:
      // A wake is a dependency only.
      break;
  }
}

// The SQE was filled at some time between the previous enter of that ring and this one; its owner
// is the binding that held all that time, or nobody that can be named.
void Ownership::OnSubmit(const Edge& edge, NodeHistory& io) {
  io.submit_ns = edge.dst_time_ns;
  io.submit_thread = edge.src_thread;
  ThreadHistory* found = threads_.Find(edge.src_thread);
  if (found == nullptr) return;
  ThreadHistory& thread = *found;
  const auto used = thread.rings.find(io.ring);
  ThreadHistory::RingUse use;
  if (used != thread.rings.end()) use = used->second;
  const OwnersNow now = OwnersBefore(edge.src_thread, edge.src_time_ns);
  if (now.bound) thread.rings[io.ring].submit_ns = edge.src_time_ns;

  if (io.named || now.requests.empty() || !now.bound) return;
  if (CPROF_RULE_REMOVED(kOwnershipFlow)) {
    AddOwners(edge.dst, io, now.requests, edge.dst_time_ns, Source::kKernel, "unchanged-binding");
    return;
  }
  if (Receives(io.opcode) || edge.confidence != Confidence::kObserved || !edge.breaks.empty()) {
    return;
  }
  // An earlier wait in the kernel on that ring ended an enter. An earlier submit may belong to the
  // same enter as this one, unless the thread was seen in user space in between.
  const bool after_wait = use.wait_ns != 0 && use.wait_ns >= now.from_ns;
  const bool after_submit = use.submit_ns != 0 && use.submit_ns >= now.from_ns &&
                            thread.user_ns > use.submit_ns && thread.user_ns < edge.src_time_ns;
  if (!after_wait && !after_submit) return;
  AddOwners(edge.dst, io, now.requests, edge.dst_time_ns, Source::kKernel, "unchanged-binding");
}

void Ownership::OnComplete(const Edge& edge) {
  NodeHistory* io = nodes_.Find(edge.src);
  if (io == nullptr || io->kind != NodeKind::kIoRequest) return;
  if (edge.type == EdgeType::kComplete) {
    io->complete_edge = edge.id;
    io->complete_ns = std::max(io->complete_ns, edge.dst_time_ns);
    SlidingVector<Completion>& list = completions_[io->ring];
    list.push_back({edge.dst_time_ns, edge.src, edge.dst_thread, edge.id});
    if (list.size() > kMaxThreadHistory) list.pop_front();
    return;
  }
  ThreadHistory* thread = threads_.Find(edge.dst);
  if (thread == nullptr || io->owners.empty()) return;
  HandOver resumed;
  resumed.time_ns = edge.dst_time_ns;
  resumed.src_time_ns = edge.src_time_ns;
  resumed.edge = edge.id;
  resumed.src = edge.src;
  resumed.thread = edge.dst;
  resumed.type = edge.type;
  resumed.confidence = edge.confidence;
  thread->resumed.push_back(resumed);
  if (thread->resumed.size() > kMaxNodeHistory) thread->resumed.pop_front();
}

void Ownership::OnSpawn(const Edge& edge) {
  if (edge.rule != nullptr && std::string_view(edge.rule) == kKernelWorkerRule) return;
  ThreadHistory* child = threads_.Find(edge.dst);
  if (child == nullptr || edge.confidence != Confidence::kObserved) return;
  if (!child->stacks.empty()) return;  // bound otherwise already
  const OwnersNow now = OwnersBefore(edge.src_thread, edge.src_time_ns);
  if (now.requests.empty()) return;
  ThreadHistory& thread = *child;
  thread.inherited.from_ns = edge.dst_time_ns;
  thread.inherited.to_ns = kForever;
  thread.inherited.requests = now.requests;
  thread.inherited.source = Source::kKernel;
  thread.inherited.rule = "spawn";
  thread.parent = edge.src_thread;
  thread.spawn_ns = edge.src_time_ns;
  thread.spawn_edge = edge.id;
  for (NodeId request : now.requests) Own(request, edge.dst);
  DropEnded(edge.dst, now.requests);
}

void Ownership::OnApplicationEdge(const Edge& edge) {
  NodeHistory* src = nodes_.Find(edge.src);
  NodeHistory* dst = nodes_.Find(edge.dst);
  if (edge.type == EdgeType::kAcquire || edge.type == EdgeType::kRelease) {
    // Either end may be the resource; programs write it both ways.
    if (src != nullptr && src->kind == NodeKind::kResource) {
      OnResourceEdge(edge, edge.src, edge.dst);
    } else if (dst != nullptr && dst->kind == NodeKind::kResource) {
      OnResourceEdge(edge, edge.dst, edge.src);
    }
    return;
  }
  if (dst == nullptr || edge.type == EdgeType::kWake) return;
  const uint64_t time_ns = dst->kind == NodeKind::kIoRequest ? edge.dst_time_ns : edge.src_time_ns;
  const OwnerIds owners = OwnersOf(edge.src, time_ns).requests;
  if (dst->kind == NodeKind::kIoRequest) {
    // A named owner replaces what a rule found for the same submit.
    if (!dst->named && !dst->owners.empty()) dst->owners.clear();
    dst->named = true;
    AddOwners(edge.dst, *dst, owners, edge.dst_time_ns, Source::kApplication, nullptr);
  } else if (dst->kind == NodeKind::kRuntimeTask) {
    AddOwners(edge.dst, *dst, owners, edge.dst_time_ns, Source::kApplication, nullptr);
  } else if (dst->kind == NodeKind::kRequest && edge.type != EdgeType::kComplete &&
             edge.type != EdgeType::kResume && edge.src != edge.dst) {
    // A request that another one began or queued is nested in it.
    for (NodeId parent : owners) {
      if (parent != edge.dst) Own(parent, edge.dst);
    }
  }
  HandOver hand_over;
  hand_over.time_ns = dst->kind == NodeKind::kIoRequest ? edge.src_time_ns : edge.dst_time_ns;
  hand_over.src_time_ns = edge.src_time_ns;
  hand_over.edge = edge.id;
  hand_over.src = edge.src;
  hand_over.thread =
      dst->kind == NodeKind::kIoRequest || edge.dst_thread == 0 ? edge.src_thread : edge.dst_thread;
  hand_over.type = edge.type;
  hand_over.confidence = edge.confidence;
  Bound(dst->in);
  dst->in.push_back(hand_over);
}

void Ownership::OnResourceEdge(const Edge& edge, NodeId resource, NodeId user) {
  NodeHistory& held = *nodes_.Find(resource);
  const uint64_t time_ns = edge.dst_time_ns;
  if (edge.type == EdgeType::kRelease) {
    held.released_ns = time_ns;
    held.releaser = user;
    return;
  }
  NodeHistory* waiter = nodes_.Find(user);
  if (waiter == nullptr || edge.wanted_ns == 0 || edge.wanted_ns >= time_ns) return;
  ResourceWait wait;
  wait.wanted_ns = edge.wanted_ns;
  wait.got_ns = time_ns;
  wait.thread = edge.dst_thread;
  wait.resource = resource;
  wait.edge = edge.id;
  // The last release before it was got satisfied it, if there was one while it was waited for.
  if (held.released_ns > edge.wanted_ns) wait.cause = held.releaser;
  const OwnerIds owners = OwnersOf(user, time_ns).requests;
  for (NodeId request : owners) {
    RequestHistory* owner = requests_.Find(request);
    if (owner == nullptr) continue;
    Bound(owner->waits);
    owner->waits.push_back(wait);
  }
  // Told by a thread at work for the waiter, it waited in place; else the waiter is handed over.
  const OwnersNow now = OwnersBefore(edge.dst_thread, time_ns);
  if (!now.requests.empty() && now.requests == owners) return;
  HandOver hand_over;
  hand_over.time_ns = time_ns;
  hand_over.src_time_ns = time_ns;
  hand_over.wanted_ns = edge.wanted_ns;
  hand_over.edge = edge.id;
  hand_over.src = resource;
  hand_over.thread = edge.dst_thread;
  hand_over.cause = wait.cause;
  hand_over.type = edge.type;
  hand_over.confidence = edge.confidence;
  Bound(waiter->in);
  waiter->in.push_back(hand_over);
}

}  // namespace cprof
