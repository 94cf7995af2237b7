// The tables behind io_uring_lives.h.
#include "report/adapters/io_uring_lives.h"

#include <algorithm>

namespace cprof::io_uring {

LifeTable::Object& LifeTable::ObjectOf(uint64_t request) {
  return objects_.try_emplace(request).first.value();
}

LifeIndex LifeTable::Add() {
  if (!free_.empty()) {
    const LifeIndex index = free_.back();
    free_.pop_back();
    lives_[index] = Life{};
    lives_[index].used = true;
    return index;
  }
  lives_.emplace_back();
  lives_.back().used = true;
  return static_cast<LifeIndex>(lives_.size() - 1);
}

void LifeTable::Remove(LifeIndex index) {
  lives_[index].used = false;
  free_.push_back(index);
}

void LifeTable::Link(Ring& ring, LifeIndex index) {
  Life& life = lives_[index];
  life.previous_open = kNone;
  life.next_open = ring.first_open;
  if (ring.first_open != kNone) lives_[ring.first_open].previous_open = index;
  ring.first_open = index;
  ++ring.open;
  ring.most_open = std::max(ring.most_open, ring.open);
  if (ring.indexed) LinkSame(ring, index);
}

void LifeTable::LinkSame(Ring& ring, LifeIndex index) {
  Life& life = lives_[index];
  life.ring_indexed = true;
  auto [head, inserted] = ring.by_user_data.try_emplace(life.user_data, index);
  life.previous_same = kNone;
  life.next_same = kNone;
  if (inserted) return;
  life.next_same = head->second;
  lives_[head->second].previous_same = index;
  head.value() = index;
}

void LifeTable::Unlink(Ring& ring, LifeIndex index) {
  Life& life = lives_[index];
  if (life.previous_open != kNone) {
    lives_[life.previous_open].next_open = life.next_open;
  } else {
    ring.first_open = life.next_open;
  }
  if (life.next_open != kNone) lives_[life.next_open].previous_open = life.previous_open;
  --ring.open;
  if (!life.ring_indexed) return;
  if (life.next_same != kNone) lives_[life.next_same].previous_same = life.previous_same;
  if (life.previous_same != kNone) {
    lives_[life.previous_same].next_same = life.next_same;
  } else if (life.next_same != kNone) {
    ring.by_user_data[life.user_data] = life.next_same;
  } else {
    ring.by_user_data.erase(life.user_data);
  }
}

void LifeTable::IndexByUserData(Ring& ring) {
  if (ring.indexed) return;
  ring.indexed = true;
  for (LifeIndex index = ring.first_open; index != kNone; index = lives_[index].next_open) {
    LinkSame(ring, index);
  }
}

std::vector<LifeIndex> LifeTable::Find(Ring& ring, uint64_t user_data) {
  IndexByUserData(ring);
  std::vector<LifeIndex> found;
  const auto head = ring.by_user_data.find(user_data);
  if (head == ring.by_user_data.end()) return found;
  for (LifeIndex index = head->second; index != kNone; index = lives_[index].next_same) {
    found.push_back(index);
  }
  std::sort(found.begin(), found.end(),
            [this](LifeIndex a, LifeIndex b) { return lives_[a].node < lives_[b].node; });
  return found;
}

}  // namespace cprof::io_uring
