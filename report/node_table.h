// What renderers remember of each node: little, and only while something may still mention it.
#ifndef CPROF_REPORT_NODE_TABLE_H_
#define CPROF_REPORT_NODE_TABLE_H_

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "format/reader.h"
#include "report/graph.h"

namespace cprof {

// By what a node is known in tables: its kind and name, never its identity. Equal labels fold.
struct Label {
  NodeKind kind = NodeKind::kThread;
  bool known = false;  // false: no node, or one that nothing is known of any more
  uint8_t opcode = 0;  // io_request; kIoUringOpcodeUnknown where its submit was not seen
  StringId name = 0;
  StringId domain = 0;
  std::array<char, 16> comm{};  // thread
  uint64_t id = 0;              // resource without a name: the application's id
  bool begin_seen = true;       // request, task: false where the recording does not hold its begin
  friend auto operator<=>(const Label&, const Label&) = default;
};

Label LabelOf(const Node& node);

// "request cache/GET", "thread worker", "io READ", "resource cache/shard-3". The names in it are
// raw: escape for the output at hand.
void AppendLabel(const Label& label, const StringTable& strings, std::string* out);
// Without the kind: "cache/GET".
void AppendLabelName(const Label& label, const StringTable& strings, std::string* out);

struct LabelHash {
  size_t operator()(const Label& label) const noexcept {
    uint64_t hash = static_cast<uint64_t>(label.kind) | uint64_t{label.known} << 8 |
                    uint64_t{label.opcode} << 16;
    hash = (hash + label.name + (uint64_t{label.domain} << 32)) * 0x9e3779b97f4a7c15ULL;
    hash += label.id + (label.begin_seen ? 0 : 1);
    const auto halves = std::bit_cast<std::array<uint64_t, 2>>(label.comm);
    hash = (hash ^ halves[0]) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ halves[1] ^ (hash >> 32)) * 0x9e3779b97f4a7c15ULL;
    return hash ^ (hash >> 32);
  }
};

struct NodeBrief {
  Label label;
  uint32_t tid = 0;  // thread
  uint32_t tgid = 0;
  uint32_t generation = 0;
  bool dead = false;
  uint32_t name_index = 0;  // free for the owner of the table; 0 again when the name changes
  bool mark = false;        // free for the owner of the table
};

// Nodes by id in pages of consecutive ids. A page goes when all its nodes are dead and Forget has
// passed its last death; so memory follows what is alive, not what has been.
class NodeTable {
 public:
  void Add(const Node& node);
  // Also takes final attributes.
  void End(const Node& node);
  void Rename(NodeId thread, const std::array<char, 16>& comm);
  // Null for 0, an id never told, and one forgotten. Valid until the next Add or Forget.
  NodeBrief* Find(NodeId id);
  const NodeBrief* Find(NodeId id) const;
  Label LabelOf(NodeId id) const;
  // Nothing that ended before time_ns will be asked for again. Dead pages beyond a bound go even
  // where they are younger.
  void Forget(uint64_t time_ns);

 private:
  static constexpr size_t kPageNodes = 1024;
  static constexpr size_t kMaxDeadPages = 1024;  // about 32 MiB

  struct Page {
    std::array<NodeBrief, kPageNodes> nodes;
    std::array<bool, kPageNodes> told{};
    uint32_t alive = 0;
    uint64_t last_death_ns = 0;
    bool queued = false;
  };

  void QueueDead(size_t index);

  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<std::unique_ptr<Page>> free_pages_;  // as new
  std::deque<size_t> dead_pages_;                  // indexes, in the order in which they died out
};

}  // namespace cprof

#endif  // CPROF_REPORT_NODE_TABLE_H_
