// The lives of nodes that applications name: by process image, domain, kind and id.
#ifndef CPROF_REPORT_ADAPTERS_APP_LIVES_H_
#define CPROF_REPORT_ADAPTERS_APP_LIVES_H_

#include <tsl/robin_set.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "report/adapters/adapter.h"
#include "report/sliding_vector.h"

namespace cprof::app {

// A program that begins and never ends must not make memory grow; the oldest life is given up.
inline constexpr size_t kMaxLives = 1 << 18;
// Ids that ended are remembered for their generation; beyond it all ids count on from the highest.
inline constexpr size_t kMaxEnded = 1 << 16;

struct AppKey {
  Scope scope;
  AppKind kind = AppKind::kNone;
  Key id;
  friend bool operator==(const AppKey&, const AppKey&) = default;
};
struct AppKeyHash {
  size_t operator()(const AppKey& key) const noexcept {
    const uint64_t scope = uint64_t{key.scope.a} | uint64_t{key.scope.b} << 32;
    const uint64_t rest = uint64_t{key.scope.domain} | static_cast<uint64_t>(key.kind) << 32;
    return std::hash<Key>{}(key.id) ^ std::hash<Key>{}({scope, rest});
  }
};

// What is kept of a node; with its key it makes the Node again.
struct Life {
  NodeId node = 0;  // 0: the id is not open
  uint32_t generation = 0;
  uint64_t born_ns = 0;
  NodeId birth_thread = 0;
  StringId name = 0;
  // Begins of this id that have not ended. More than one: the id was reused while open, and until
  // all have ended no event that names it can be told apart.
  uint32_t open = 1;
  NodeId rival = 0;  // contested: the life that was open before
  bool contested = false;
  bool birth_seen = false;
  // What breaks may have lost of this id, from the birth up to checked_ns.
  bool end_lost = false;
  bool begin_lost = false;
  uint64_t checked_ns = 0;
};

// Tells births and ends to the graph.
class LifeTable {
 public:
  explicit LifeTable(JoinContext& context);
  LifeTable(const LifeTable&) = delete;
  LifeTable& operator=(const LifeTable&) = delete;

  // Null where the id is not open. Valid until the next Begin or End.
  Life* Find(const AppKey& key);
  // A new life; there must be none under that key.
  Life& Begin(const AppKey& key, uint64_t time_ns, NodeId thread, StringId name, bool birth_seen);
  void End(const AppKey& key, uint64_t time_ns, NodeId thread, NodeEnd end);
  // All lives of a process, oldest first.
  std::vector<AppKey> OfProcess(uint32_t tgid) const;
  std::vector<AppKey> All() const;
  // The oldest, where there are too many; else null.
  const AppKey* Excess();

 private:
  using SlotIndex = uint32_t;
  // An id that is open or remembered, or both.
  struct Slot {
    AppKey key;
    Life life;
    uint32_t ended_generation = 0;  // the last that ended; 0: not remembered
  };
  // The index holds numbers of slots and compares by their keys, so that it stays small.
  struct SlotHash {
    const std::vector<Slot>* slots;
    size_t operator()(SlotIndex slot) const { return AppKeyHash{}((*slots)[slot].key); }
    size_t operator()(const AppKey& key) const { return AppKeyHash{}(key); }
  };
  struct SlotEqual {
    using is_transparent = void;
    const std::vector<Slot>* slots;
    bool operator()(SlotIndex a, SlotIndex b) const { return a == b; }
    bool operator()(const AppKey& key, SlotIndex slot) const { return key == (*slots)[slot].key; }
    bool operator()(SlotIndex slot, const AppKey& key) const { return key == (*slots)[slot].key; }
  };
  struct Birth {
    NodeId node = 0;
    SlotIndex slot = 0;
  };

  SlotIndex SlotOf(const AppKey& key);
  void Drop(SlotIndex slot);
  bool IsOpen(const Birth& birth) const { return slots_[birth.slot].life.node == birth.node; }
  static Node NodeOf(const Slot& slot);

  JoinContext& context_;
  std::vector<Slot> slots_;
  std::vector<SlotIndex> free_;
  tsl::robin_set<SlotIndex, SlotHash, SlotEqual, std::allocator<SlotIndex>, true> index_;
  SlidingVector<Birth> by_birth_;  // also of lives that have ended since
  SlidingVector<SlotIndex> ended_order_;
  size_t open_count_ = 0;
  uint32_t floor_ = 0;  // highest generation that was forgotten
};

}  // namespace cprof::app

#endif  // CPROF_REPORT_ADAPTERS_APP_LIVES_H_
