// What is remembered of threads and requests, for how long, and the questions about it.
#include <algorithm>

#include "report/ownership.h"

namespace cprof {
namespace {

using Entry = StackPoint::Entry;

bool Holds(std::span<const Entry> stack, NodeId node) {
  return std::any_of(stack.begin(), stack.end(),
                     [node](const Entry& entry) { return entry.node == node; });
}

// The last point that begins before time_ns; null where there is none.
const StackPoint* PointBefore(const ThreadHistory& thread, uint64_t time_ns) {
  const auto after =
      std::lower_bound(thread.stacks.begin(), thread.stacks.end(), time_ns,
                       [](const StackPoint& point, uint64_t t) { return point.from_ns < t; });
  return after == thread.stacks.begin() ? nullptr : &*std::prev(after);
}

bool Inherits(const ThreadHistory& thread, uint64_t time_ns) {
  return !thread.inherited.requests.empty() && thread.inherited.from_ns < time_ns &&
         time_ns <= thread.inherited.to_ns;
}

bool Contains(const std::vector<NodeId>& sorted, NodeId node) {
  return std::binary_search(sorted.begin(), sorted.end(), node);
}

}  // namespace

void Ownership::Rebind(NodeId thread, uint64_t time_ns, std::span<const Entry> before,
                       std::span<const Entry> after) {
  for (const Entry& entry : before) {
    if (entry.node == 0 || Holds(after, entry.node)) continue;
    NodeHistory* node = Find(entry.node);
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
    NodeHistory* node = Find(id);
    if (node == nullptr) continue;
    if (node->bound.size() >= kMaxNodeHistory) {
      node->bound.erase(node->bound.begin(),
                        node->bound.begin() + static_cast<ptrdiff_t>(kMaxNodeHistory / 2));
    }
    node->bound.push_back({thread, time_ns, kForever});
  }
}

void Ownership::SetStack(NodeId thread, uint64_t time_ns, std::span<const OpenBinding> stack) {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return;
  ThreadHistory& history = found->second;
  if (history.stacks.empty() && stack.empty()) return;
  // Doubt may reach back a little; what was told of the time since then is doubtful with it.
  if (!history.stacks.empty()) time_ns = std::max(time_ns, history.stacks.back().from_ns);
  std::vector<Entry> entries;
  for (const OpenBinding& open : stack) {
    entries.push_back({open.node, open.confidence, requests_.contains(open.node)});
  }
  std::span<const Entry> before;
  if (!history.stacks.empty()) before = history.stacks.back().stack;
  Rebind(thread, time_ns, before, entries);
  // Bound otherwise: what came by spawn is over for good.
  if (!stack.empty() && !history.inherited.requests.empty()) {
    CloseOwners(thread, &history.inherited, time_ns);
  }
  if (!history.stacks.empty() && history.stacks.back().from_ns == time_ns) {
    history.stacks.back().stack = std::move(entries);
  } else {
    history.stacks.push_back({time_ns, std::move(entries)});
  }
  if (history.stacks.size() > kMaxThreadHistory) {
    history.stacks.pop_front();
    history.given_up_ns = std::max(history.given_up_ns, history.stacks.front().from_ns);
  }
}

void Ownership::AddSlice(const ThreadSlice& slice) {
  const auto found = threads_.find(slice.thread);
  if (found == threads_.end()) return;
  ThreadHistory& thread = found->second;
  thread.last_state = slice.state;
  thread.covered_ns = std::max(thread.covered_ns, slice.to_ns);
  bool needed = !thread.inherited.requests.empty() && thread.inherited.to_ns > slice.from_ns;
  for (auto point = thread.stacks.rbegin(); point != thread.stacks.rend() && !needed; ++point) {
    needed = !point->stack.empty();
    if (point->from_ns < slice.from_ns) break;
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

const NodeHistory* Ownership::FindNode(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

const ThreadHistory* Ownership::FindThread(NodeId thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? nullptr : &found->second;
}

const RequestHistory* Ownership::FindRequest(NodeId request) const {
  const auto found = requests_.find(request);
  return found == requests_.end() ? nullptr : &found->second;
}

const std::deque<Ownership::Completion>* Ownership::CompletionsOf(const Key& ring) const {
  const auto found = completions_.find(ring);
  return found == completions_.end() ? nullptr : &found->second;
}

Ownership::Owners Ownership::OwnersOf(NodeId node, uint64_t time_ns) const {
  if (const auto request = requests_.find(node); request != requests_.end()) {
    const RequestHistory& history = request->second;
    if (history.begin_ns > time_ns || time_ns > history.end_ns) return {};
    return {{node}, history.begin_ns};
  }
  const NodeHistory* history = FindNode(node);
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
  const auto found = threads_.find(thread);
  if (found == threads_.end() || time_ns <= found->second.given_up_ns) return {};
  const ThreadHistory& history = found->second;
  const StackPoint* point = PointBefore(history, time_ns);
  if (point != nullptr) {
    for (auto entry = point->stack.rbegin(); entry != point->stack.rend(); ++entry) {
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
  const auto found = threads_.find(thread);
  if (found == threads_.end() || time_ns <= found->second.given_up_ns) {
    relation.kind = Relation::Kind::kUnknown;
    return relation;
  }
  const ThreadHistory& history = found->second;
  const StackPoint* point = PointBefore(history, time_ns);
  relation.from_ns = point == nullptr ? 0 : point->from_ns;
  if (point != nullptr) {
    bool unknown = false;
    for (auto entry = point->stack.rbegin(); entry != point->stack.rend(); ++entry) {
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
    if (!point->stack.empty()) return relation;
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
    const auto found = requests_.find(request);
    if (found != requests_.end() && found->second.end_ns == kForever) open.push_back(request);
  }
  return open;
}

NodeId Ownership::OldestOpen() const {
  for (NodeId request : by_begin_) {
    const auto found = requests_.find(request);
    if (found != requests_.end() && found->second.end_ns == kForever) return request;
  }
  return 0;
}

void Ownership::GiveUp(NodeId request, uint64_t time_ns) {
  const auto found = requests_.find(request);
  if (found == requests_.end() || found->second.end_ns != kForever) return;
  EndRequest(request, time_ns);
}

void Ownership::Settle(NodeId request) {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  const std::vector<NodeId> owned = std::move(found->second.owned);
  requests_.erase(found);
  for (NodeId node : owned) Unuse(node);
  const NodeHistory* history = FindNode(request);
  if (history != nullptr && history->users == 0) nodes_.erase(request);
}

uint64_t Ownership::Horizon(uint64_t final_ns) {
  const auto settled = [this](NodeId request) { return !requests_.contains(request); };
  while (!by_begin_.empty() && settled(by_begin_.front())) by_begin_.pop_front();
  // One request that stays open must not keep the ids of all that came after it.
  if (by_begin_.size() > 2 * requests_.size() + 1024) std::erase_if(by_begin_, settled);
  if (by_begin_.empty()) return final_ns;
  return std::min(final_ns, requests_.at(by_begin_.front()).begin_ns);
}

uint64_t Ownership::Prune(uint64_t final_ns) {
  const uint64_t horizon_ns = Horizon(final_ns);
  for (auto& [id, thread] : threads_) {
    while (thread.stacks.size() > 1 && thread.stacks[1].from_ns <= horizon_ns) {
      thread.stacks.pop_front();
    }
    if (thread.stacks.size() == 1 && thread.stacks.front().stack.empty() &&
        thread.stacks.front().from_ns <= horizon_ns && thread.inherited.requests.empty()) {
      thread.stacks.pop_front();
    }
    while (!thread.slices.empty() && thread.slices.front().to_ns <= horizon_ns) {
      thread.slices.pop_front();
    }
    while (!thread.resumed.empty() && thread.resumed.front().time_ns <= horizon_ns) {
      thread.resumed.pop_front();
    }
  }
  while (!dead_threads_.empty()) {
    const auto oldest = threads_.find(dead_threads_.front());
    const bool over = dead_threads_.size() > kMaxDeadThreads;
    if (oldest != threads_.end() && oldest->second.died_ns > horizon_ns && !over) break;
    if (oldest != threads_.end()) threads_.erase(oldest);
    dead_threads_.pop_front();
  }
  for (auto ring = completions_.begin(); ring != completions_.end();) {
    std::deque<Completion>& list = ring->second;
    while (!list.empty() && list.front().time_ns <= horizon_ns) list.pop_front();
    ring = list.empty() ? completions_.erase(ring) : std::next(ring);
  }
  return horizon_ns;
}

void Ownership::Finish(uint64_t end_ns) {
  std::vector<NodeId> open;
  for (const auto& [id, thread] : threads_) {
    if (thread.inherited.to_ns == kForever && !thread.inherited.requests.empty())
      open.push_back(id);
  }
  std::sort(open.begin(), open.end());
  for (NodeId id : open) CloseOwners(id, &threads_.at(id).inherited, end_ns);
  open.clear();
  for (const auto& [id, node] : nodes_) {
    if (!node.owners.empty() && node.owners.back().to_ns == kForever) open.push_back(id);
  }
  std::sort(open.begin(), open.end());
  for (NodeId id : open) CloseOwners(id, &nodes_.at(id).owners.back(), end_ns);
}

}  // namespace cprof
