// Births, ends and generations of what applications name.
#include "report/adapters/app_lives.h"

#include <algorithm>

namespace cprof::app {
namespace {

NodeKind KindOf(AppKind kind) {
  switch (kind) {
    case AppKind::kTask: return NodeKind::kRuntimeTask;
    case AppKind::kResource: return NodeKind::kResource;
    default: return NodeKind::kRequest;
  }
}

}  // namespace

LifeTable::LifeTable(JoinContext& context)
    : context_(context), index_(0, SlotHash{&slots_}, SlotEqual{&slots_}) {}

Life* LifeTable::Find(const AppKey& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  Life& life = slots_[*found].life;
  return life.node == 0 ? nullptr : &life;
}

LifeTable::SlotIndex LifeTable::SlotOf(const AppKey& key) {
  const size_t hash = AppKeyHash{}(key);
  const auto found = index_.find(key, hash);
  if (found != index_.end()) return *found;
  SlotIndex slot = 0;
  if (free_.empty()) {
    slot = static_cast<SlotIndex>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot] = {key, {}, 0};
  index_.insert(slot);
  return slot;
}

// Lets go of a slot whose id is neither open nor remembered.
void LifeTable::Drop(SlotIndex slot) {
  index_.erase(slots_[slot].key);
  free_.push_back(slot);
}

Node LifeTable::NodeOf(const Slot& slot) {
  Node node;
  node.id = slot.life.node;
  node.kind = KindOf(slot.key.kind);
  node.scope = slot.key.scope;
  node.key = slot.key.id;
  node.generation = slot.life.generation;
  node.born_ns = slot.life.born_ns;
  node.birth_seen = slot.life.birth_seen;
  node.birth_thread = slot.life.birth_thread;
  node.attributes.tgid = slot.key.scope.a;
  node.attributes.name = slot.life.name;
  node.attributes.domain = slot.key.scope.domain;
  return node;
}

Life& LifeTable::Begin(const AppKey& key, uint64_t time_ns, NodeId thread, StringId name,
                       bool birth_seen) {
  const SlotIndex index = SlotOf(key);
  Slot& slot = slots_[index];
  Life& life = slot.life;
  if (life.node == 0) ++open_count_;
  life = Life{};
  life.generation = (slot.ended_generation == 0 ? floor_ : slot.ended_generation) + 1;
  life.born_ns = life.checked_ns = time_ns;
  life.birth_seen = birth_seen;
  life.birth_thread = thread;
  life.name = name;
  Node node = NodeOf(slot);
  life.node = context_.AddNode(&node);
  while (!by_birth_.empty() && !IsOpen(by_birth_.front())) by_birth_.pop_front();
  if (by_birth_.size() > 2 * open_count_ + 1024) {
    SlidingVector<Birth> open;
    for (const Birth& birth : by_birth_) {
      if (IsOpen(birth)) open.push_back(birth);
    }
    by_birth_ = std::move(open);
  }
  by_birth_.push_back({life.node, index});
  return life;
}

void LifeTable::End(const AppKey& key, uint64_t time_ns, NodeId thread, NodeEnd end) {
  const auto found = index_.find(key);
  if (found == index_.end() || slots_[*found].life.node == 0) return;
  const SlotIndex index = *found;
  Slot& slot = slots_[index];
  Node node = NodeOf(slot);
  node.died_ns = std::max(time_ns, node.born_ns);
  node.end = end;
  node.death_thread = thread;
  slot.life.node = 0;
  --open_count_;
  context_.EndNode(node);
  if (slot.ended_generation == 0) ended_order_.push_back(index);
  slot.ended_generation = node.generation;
  if (ended_order_.size() <= kMaxEnded) return;
  Slot& oldest = slots_[ended_order_.front()];
  floor_ = std::max(floor_, oldest.ended_generation);
  oldest.ended_generation = 0;
  if (oldest.life.node == 0) Drop(ended_order_.front());
  ended_order_.pop_front();
}

std::vector<AppKey> LifeTable::All() const {
  std::vector<AppKey> keys;
  for (const Birth& birth : by_birth_) {
    if (IsOpen(birth)) keys.push_back(slots_[birth.slot].key);
  }
  return keys;
}

std::vector<AppKey> LifeTable::OfProcess(uint32_t tgid) const {
  std::vector<AppKey> keys = All();
  std::erase_if(keys, [tgid](const AppKey& key) { return key.scope.a != tgid; });
  return keys;
}

const AppKey* LifeTable::Excess() {
  if (open_count_ <= kMaxLives) return nullptr;
  while (!by_birth_.empty()) {
    const Birth& oldest = by_birth_.front();
    if (IsOpen(oldest)) return &slots_[oldest.slot].key;
    by_birth_.pop_front();
  }
  return nullptr;
}

}  // namespace cprof::app
