// Queues of items, each with a thread that it belongs to and a bell that wakes it.
#ifndef CPROF_TESTS_CAUSALITY_WORKLOADS_CHANNEL_H_
#define CPROF_TESTS_CAUSALITY_WORKLOADS_CHANNEL_H_

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "tests/causality/workloads/bell.h"
#include "tests/causality/workloads/spin_lock.h"

namespace cprof::causality {

// What lies in a queue. Items come from and go back to a pool: the same few addresses again.
struct Item {
  Life task;
  OracleRecord* queued = nullptr;  // the hand-over; whoever enters the task takes it up
  uint64_t taken_ns = 0;           // before it was taken out
  Bracket told;                    // when the program said so
  uint64_t work_ns = 0;
  uint32_t hops = 0;  // still to come
  bool with_state = false;
  void* context = nullptr;
};

// kinds: of the bell of each queue.
class Channels {
 public:
  explicit Channels(const std::vector<BellKind>& kinds) : queues_(kinds.size()) {
    for (const BellKind kind : kinds) bells_.push_back(MakeBell(kind));
  }

  size_t count() const { return queues_.size(); }

  // Puts the item into the queue of `index`, and rings there if told to.
  void Push(TruthThread& self, size_t index, Item* item, bool rings) {
    const uint64_t operation = item->task.id, owner = item->task.owner;
    OracleRecord* queued = item->queued;
    {
      std::lock_guard lock(lock_);
      queues_[index].push_back(item);
    }
    // From here on the item may be anybody's.
    if (queued != nullptr) queued->inner_from_ns = NowNs();
    if (rings) bells_[index]->Ring(self, operation, owner);
  }
  void Ring(TruthThread& self, size_t index) { bells_[index]->Ring(self, 0, 0); }

  // Takes an item back that nobody has taken yet.
  bool Cancel(size_t index, const Item* item) {
    std::lock_guard lock(lock_);
    std::deque<Item*>& queue = queues_[index];
    const auto found = std::find(queue.begin(), queue.end(), item);
    if (found == queue.end()) return false;
    queue.erase(found);
    return true;
  }

  // Up to max_count items of the own queue, else of another's if it steals, in order unless random
  // is given. Waits for the own bell where there is none; false once the channels are closed.
  bool Take(TruthThread& self, size_t index, size_t max_count, bool steals, std::mt19937_64* random,
            std::vector<Item*>* taken) {
    taken->clear();
    while (true) {
      const uint64_t before_ns = NowNs();
      {
        std::lock_guard lock(lock_);
        for (size_t i = 0; i < (steals ? queues_.size() : 1) && taken->empty(); ++i) {
          TakeFrom(queues_[(index + i) % queues_.size()], max_count, random, taken);
        }
        if (taken->empty() && is_closed_) return false;
      }
      for (Item* item : *taken) item->taken_ns = before_ns;
      if (!taken->empty()) return true;
      bells_[index]->Wait(self);
    }
  }

  void Close(TruthThread& self) {
    {
      std::lock_guard lock(lock_);
      is_closed_ = true;
    }
    for (size_t i = 0; i < bells_.size(); ++i) Ring(self, i);
  }

 private:
  static void TakeFrom(std::deque<Item*>& queue, size_t max_count, std::mt19937_64* random,
                       std::vector<Item*>* taken) {
    while (!queue.empty() && taken->size() < max_count) {
      const size_t place = random == nullptr ? 0 : (*random)() % queue.size();
      taken->push_back(queue[place]);
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }

  SpinLock lock_;
  std::vector<std::deque<Item*>> queues_;
  std::vector<std::unique_ptr<Bell>> bells_;
  bool is_closed_ = false;
};

// Items that are free; the one freed last is given out next.
class ItemPool {
 public:
  Item* Take() {
    std::lock_guard lock(lock_);
    if (free_.empty()) return &items_.emplace_back();
    Item* item = free_.back();
    free_.pop_back();
    *item = Item{};
    return item;
  }
  void Free(Item* item) {
    std::lock_guard lock(lock_);
    free_.push_back(item);
  }

 private:
  SpinLock lock_;
  std::deque<Item> items_;
  std::vector<Item*> free_;
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_WORKLOADS_CHANNEL_H_
