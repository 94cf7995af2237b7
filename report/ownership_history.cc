// What is remembered of threads and requests, for how long, and the questions about it.
#include <algorithm>

#include "report/ownership.h"

namespace cprof {
namespace {

using Entry = StackEntry;

bool Holds(std::span<const Entry> stack, NodeId node) {
  return std::any_of(stack.begin(), stack.end(),
                     [node](const Entry& entry) { return entry.node == node; });
}

bool Inherits(const ThreadHistory& thread, uint64_t time_ns) {
  return !thread.inherited.requests.empty() && thread.inherited.from_ns < time_ns &&
         time_ns <= thread.inherited.to_ns;
}

bool Contains(const OwnerIds& sorted, NodeId node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

}  // namespace

void Ownership::Rebind(NodeId thread, uint64_t time_ns, std::span<const Entry> before,
                       std::span<const Entry> after) {
  for (const Entry& entry : before) {
    if (entry.node == 0 || Holds(after, entry.node)) continue;
    NodeHistory* node = nodes_.Find(entry.node);
    if (node == nullptr) continue;
    for (auto span = node->bound.rbegin(); span != node->bound.rend(); ++span) {
      if (span->thread != thread || span->to_ns != kForever) continue;
      span->to_ns = std::max(time_ns, span->from_ns);
      break;
    }
  }
  for (size_t index = 0; index < after.size(); ++index) {
    const NodeId id = after[index].node;
    if (id == 0 || Holds(before, id) || Holds(after.first(index), id)) continue;
    NodeHistory* node = nodes_.Find(id);
    if (node == nullptr) continue;
    if (node->bound.size() >= kMaxNodeHistory) {
      node->bound.erase(node->bound.begin(),
                        node->bound.begin() + static_cast<ptrdiff_t>(kMaxNodeHistory / 2));
    }
    node->bound.push_back({thread, time_ns, kForever});
  }
}

void Ownership::SetStack(NodeId thread, uint64_t time_ns, std::span<const OpenBinding> stack) {
  ThreadHistory* history = threads_.Find(thread);
  if (history == nullptr) return;
  StackHistory& stacks = history->stacks;
  if (stacks.empty() && stack.empty()) return;
  // Doubt may reach back a little; what was told of the time since then is doubtful with it.
  if (!stacks.empty()) time_ns = std::max(time_ns, stacks.back().from_ns);
  stack_.clear();
  for (const OpenBinding& open : stack) {
    stack_.push_back({open.node, open.confidence, requests_.Contains(open.node)});
  }
  std::span<const Entry> before;
  if (!stacks.empty()) before = stacks.StackOf(stacks.back());
  Rebind(thread, time_ns, before, stack_);
  // Bound otherwise: what came by spawn is over for good.
  if (!stack.empty() && !history->inherited.requests.empty()) {
    CloseOwners(thread, &history->inherited, time_ns);
  }
  stacks.Set(time_ns, stack_);
  if (stacks.size() > kMaxThreadHistory) {
    stacks.PopFront();
    history->given_up_ns = std::max(history->given_up_ns, stacks.front().from_ns);
  }
}

void Ownership::AddSlice(const ThreadSlice& slice) {
  ThreadHistory* found = threads_.Find(slice.thread);
  if (found == nullptr) return;
  ThreadHistory& thread = *found;
  thread.last_state = slice.state;
  thread.covered_ns = std::max(thread.covered_ns, slice.to_ns);
  bool needed = !thread.inherited.requests.empty() && thread.inherited.to_ns > slice.from_ns;
  for (size_t point = thread.stacks.size(); point-- > 0 && !needed;) {
    needed = thread.stacks[point].count != 0;
    if (thread.stacks[point].from_ns < slice.from_ns) break;
  }
  if (!needed) return;
  if (slice.wait == ThreadSlice::Wait::kIoUring && slice.state == ThreadState::kBlocked) {
    thread.rings[slice.wait_object].wait_ns = slice.to_ns;
  }
  thread.slices.push_back(slice);
  if (thread.slices.size() > kMaxThreadHistory) {
    thread.given_up_ns = std::max(thread.given_up_ns, thread.slices.front().to_ns);
    thread.slices.pop_front();
  }
}

const NodeHistory* Ownership::FindNode(NodeId node) const { return nodes_.Find(node); }

const ThreadHistory* Ownership::FindThread(NodeId thread) const { return threads_.Find(thread); }

const RequestHistory* Ownership::FindRequest(NodeId request) const {
  return requests_.Find(request);
}

const SlidingVector<Ownership::Completion>* Ownership::CompletionsOf(const Key& ring) const {
  const auto found = completions_.find(ring);
  return found == completions_.end() ? nullptr : &found->second;
}

Ownership::Owners Ownership::OwnersOf(NodeId node, uint64_t time_ns) const {
  if (const RequestHistory* request = requests_.Find(node)) {
    if (request->begin_ns > time_ns || time_ns > request->end_ns) return {};
    return {{node}, request->begin_ns};
  }
  const NodeHistory* history = nodes_.Find(node);
  if (history == nullptr) return {};
  for (auto span = history->owners.rbegin(); span != history->owners.rend(); ++span) {
    if (span->from_ns >= time_ns) continue;
    if (time_ns > span->to_ns) return {};
    return {span->requests, span->from_ns};
  }
  return {};
}

Ownership::Owners Ownership::OwnersOf(const Entry& entry, uint64_t time_ns) const {
  if (entry.is_request) return {{entry.node}, 0};
  return OwnersOf(entry.node, time_ns);
}

bool Ownership::IsOwnedBefore(NodeId node, uint64_t time_ns, NodeId request) const {
  return Contains(OwnersOf(node, time_ns).requests, request);
}

OwnersNow Ownership::OwnersBefore(NodeId thread, uint64_t time_ns) const {
  const ThreadHistory* found = threads_.Find(thread);
  if (found == nullptr || time_ns <= found->given_up_ns) return {};
  const ThreadHistory& history = *found;
  const StackHistory::Point* point = history.stacks.Before(time_ns);
  if (point != nullptr) {
    const std::span<const Entry> stack = history.stacks.StackOf(*point);
    for (auto entry = stack.rbegin(); entry != stack.rend(); ++entry) {
      if (entry->confidence == Confidence::kUnknown) return {};
      Owners owners = OwnersOf(*entry, time_ns);
      if (owners.requests.empty()) continue;
      return {std::move(owners.requests), std::max(point->from_ns, owners.from_ns), true};
    }
  }
  if (!Inherits(history, time_ns)) return {};
  return {history.inherited.requests, history.inherited.from_ns, false};
}

Relation Ownership::RelationBefore(NodeId thread, uint64_t time_ns, NodeId request) const {
  Relation relation;
  const ThreadHistory* found = threads_.Find(thread);
  if (found == nullptr || time_ns <= found->given_up_ns) {
    relation.kind = Relation::Kind::kUnknown;
    return relation;
  }
  const ThreadHistory& history = *found;
  const StackHistory::Point* point = history.stacks.Before(time_ns);
  relation.from_ns = point == nullptr ? 0 : point->from_ns;
  if (point != nullptr) {
    bool unknown = false;
    const std::span<const Entry> stack = history.stacks.StackOf(*point);
    for (auto entry = stack.rbegin(); entry != stack.rend(); ++entry) {
      unknown = unknown || entry->confidence == Confidence::kUnknown;
      if (entry->node == 0) continue;
      const Owners owners = OwnersOf(*entry, time_ns);
      if (owners.requests.empty()) continue;
      const bool own = Contains(owners.requests, request);
      if (!own) {
        if (relation.child == 0) relation.child = owners.requests.front();
        continue;
      }
      relation.bound = entry->node;
      relation.from_ns = std::max(relation.from_ns, owners.from_ns);
      relation.shared = owners.requests.size() > 1;
      relation.kind = unknown               ? Relation::Kind::kUnknown
                      : relation.child != 0 ? Relation::Kind::kChild
                                            : Relation::Kind::kOwn;
      return relation;
    }
    relation.child = 0;
    if (!stack.empty()) return relation;
  }
  if (Inherits(history, time_ns) && Contains(history.inherited.requests, request)) {
    relation.kind = Relation::Kind::kOwn;
    relation.from_ns = history.inherited.from_ns;
    relation.shared = history.inherited.requests.size() > 1;
  }
  return relation;
}

std::vector<NodeId> Ownership::TakeEnded() {
  std::vector<NodeId> ended;
  ended.swap(ended_);
  return ended;
}

std::vector<NodeId> Ownership::Open() const {
  std::vector<NodeId> open;
  for (NodeId request : by_begin_) {
    const RequestHistory* history = FindRequest(request);
    if (history != nullptr && history->end_ns == kForever) open.push_back(request);
  }
  return open;
}

NodeId Ownership::OldestOpen() const {
  for (NodeId request : by_begin_) {
    const RequestHistory* history = FindRequest(request);
    if (history != nullptr && history->end_ns == kForever) return request;
  }
  return 0;
}

void Ownership::GiveUp(NodeId request, uint64_t time_ns) {
  const RequestHistory* history = FindRequest(request);
  if (history == nullptr || history->end_ns != kForever) return;
  EndRequest(request, time_ns);
}

void Ownership::Settle(NodeId request) {
  RequestHistory* settled = requests_.Find(request);
  if (settled == nullptr) return;
  settled_owned_.swap(settled->owned);
  requests_.Erase(request);
  for (NodeId node : settled_owned_) Unuse(node);
  settled_owned_.clear();
  const NodeHistory* history = FindNode(request);
  if (history != nullptr && history->users == 0) nodes_.Erase(request);
}

uint64_t Ownership::Horizon(uint64_t final_ns) {
  const auto settled = [this](NodeId request) { return !requests_.Contains(request); };
  while (!by_begin_.empty() && settled(by_begin_.front())) by_begin_.pop_front();
  // One request that stays open must not keep the ids of all that came after it.
  if (by_begin_.size() > 2 * requests_.size() + 1024) std::erase_if(by_begin_, settled);
  if (by_begin_.empty()) return final_ns;
  return std::min(final_ns, requests_.Find(by_begin_.front())->begin_ns);
}

// Drops what was over at horizon_ns.
void ThreadHistory::Forget(uint64_t horizon_ns) {
  while (stacks.size() > 1 && stacks[1].from_ns <= horizon_ns) stacks.PopFront();
  if (stacks.size() == 1 && stacks.front().count == 0 && stacks.front().from_ns <= horizon_ns &&
      inherited.requests.empty()) {
    stacks.PopFront();
  }
  size_t over = 0;
  while (over < slices.size() && slices[over].to_ns <= horizon_ns) ++over;
  slices.pop_front(over);
  near_slice -= std::min(near_slice, over);
  while (!resumed.empty() && resumed.front().time_ns <= horizon_ns) resumed.pop_front();
}

uint64_t Ownership::Prune(uint64_t final_ns) {
  const uint64_t horizon_ns = Horizon(final_ns);
  threads_.ForEach([horizon_ns](NodeId, ThreadHistory& thread) { thread.Forget(horizon_ns); });
  while (!dead_threads_.empty()) {
    const ThreadHistory* oldest = threads_.Find(dead_threads_.front());
    const bool over = dead_threads_.size() > kMaxDeadThreads;
    if (oldest != nullptr && oldest->died_ns > horizon_ns && !over) break;
    threads_.Erase(dead_threads_.front());
    dead_threads_.pop_front();
  }
  for (auto ring = completions_.begin(); ring != completions_.end();) {
    SlidingVector<Completion>& list = ring->second;
    while (!list.empty() && list.front().time_ns <= horizon_ns) list.pop_front();
    ring = list.empty() ? completions_.erase(ring) : std::next(ring);
  }
  return horizon_ns;
}

void Ownership::Finish(uint64_t end_ns) {
  threads_.ForEach([&](NodeId id, ThreadHistory& thread) {
    if (thread.inherited.to_ns == kForever && !thread.inherited.requests.empty()) {
      CloseOwners(id, &thread.inherited, end_ns);
    }
  });
  nodes_.ForEach([&](NodeId id, NodeHistory& node) {
    if (!node.owners.empty() && node.owners.back().to_ns == kForever) {
      CloseOwners(id, &node.owners.back(), end_ns);
    }
  });
}

}  // namespace cprof
