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

Life* LifeTable::Find(const AppKey& key) {
  const auto found = lives_.find(key);
  return found == lives_.end() ? nullptr : &found->second;
}

uint32_t LifeTable::NextGeneration(const AppKey& key) {
  const auto ended = ended_.find(key);
  return (ended == ended_.end() ? floor_ : ended->second) + 1;
}

Life& LifeTable::Begin(const AppKey& key, uint64_t time_ns, NodeId thread, StringId name,
                       bool birth_seen) {
  Life& life = lives_[key];
  life = Life{};
  life.checked_ns = time_ns;
  Node& node = life.node;
  node.kind = KindOf(key.kind);
  node.scope = key.scope;
  node.key = key.id;
  node.generation = NextGeneration(key);
  node.born_ns = time_ns;
  node.birth_seen = birth_seen;
  node.birth_thread = thread;
  node.attributes.tgid = key.scope.a;
  node.attributes.name = name;
  node.attributes.domain = key.scope.domain;
  context_.AddNode(&node);
  if (by_birth_.size() > 2 * lives_.size() + 1024) {
    std::erase_if(by_birth_, [this](const auto& entry) {
      const Life* found = Find(entry.second);
      return found == nullptr || found->node.id != entry.first;
    });
  }
  by_birth_.emplace_back(node.id, key);
  return life;
}

void LifeTable::End(const AppKey& key, uint64_t time_ns, NodeId thread, NodeEnd end) {
  const auto found = lives_.find(key);
  if (found == lives_.end()) return;
  Node node = found->second.node;
  lives_.erase(found);
  node.died_ns = std::max(time_ns, node.born_ns);
  node.end = end;
  node.death_thread = thread;
  context_.EndNode(node);
  if (ended_.insert_or_assign(key, node.generation).second) ended_order_.push_back(key);
  if (ended_order_.size() > kMaxEnded) {
    const auto oldest = ended_.find(ended_order_.front());
    floor_ = std::max(floor_, oldest->second);
    ended_.erase(oldest);
    ended_order_.pop_front();
  }
}

std::vector<AppKey> LifeTable::All() const {
  std::vector<AppKey> keys;
  for (const auto& [id, key] : by_birth_) {
    const auto found = lives_.find(key);
    if (found != lives_.end() && found->second.node.id == id) keys.push_back(key);
  }
  return keys;
}

std::vector<AppKey> LifeTable::OfProcess(uint32_t tgid) const {
  std::vector<AppKey> keys = All();
  std::erase_if(keys, [tgid](const AppKey& key) { return key.scope.a != tgid; });
  return keys;
}

const AppKey* LifeTable::Excess() {
  if (lives_.size() <= kMaxLives) return nullptr;
  while (!by_birth_.empty()) {
    const auto& [id, key] = by_birth_.front();
    const Life* found = Find(key);
    if (found != nullptr && found->node.id == id) return &key;
    by_birth_.pop_front();
  }
  return nullptr;
}

}  // namespace cprof::app
