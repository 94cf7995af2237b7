// The lives of nodes that applications name: by process image, domain, kind and id.
#ifndef CPROF_REPORT_ADAPTERS_APP_LIVES_H_
#define CPROF_REPORT_ADAPTERS_APP_LIVES_H_

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "report/adapters/adapter.h"

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

struct Life {
  Node node;
  // Begins of this id that have not ended. More than one: the id was reused while open, and until
  // all have ended no event that names it can be told apart.
  uint32_t open = 1;
  bool contested = false;
  NodeId rival = 0;  // contested: the life that was open before
  // What breaks may have lost of this id, from the birth up to checked_ns.
  uint64_t checked_ns = 0;
  bool end_lost = false;
  bool begin_lost = false;
};

// Tells births and ends to the graph.
class LifeTable {
 public:
  explicit LifeTable(JoinContext& context) : context_(context) {}

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
  uint32_t NextGeneration(const AppKey& key);

  JoinContext& context_;
  std::unordered_map<AppKey, Life, AppKeyHash> lives_;
  std::deque<std::pair<NodeId, AppKey>> by_birth_;          // also of lives that have ended since
  std::unordered_map<AppKey, uint32_t, AppKeyHash> ended_;  // last generation
  std::deque<AppKey> ended_order_;
  uint32_t floor_ = 0;  // highest generation that was forgotten
};

}  // namespace cprof::app

#endif  // CPROF_REPORT_ADAPTERS_APP_LIVES_H_
