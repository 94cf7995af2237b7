// Stacks folded into one tree: frames by name, weights in ns.
#ifndef CPROF_REPORT_FOLD_H_
#define CPROF_REPORT_FOLD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cprof {

enum class FrameKind : uint8_t {
  kRoot,
  kRequest,  // or that there was none
  kCausal,   // task, io, resource ...: between a request and the thread that works for it
  kThread,
  kUser,
  kKernel,
  kNotSampled,  // exact time without a stack to show for it
};

// Children of one node differ in name or kind. Bounded: beyond kMaxNodes a new frame is folded into
// "[other]".
class FoldTree {
 public:
  using NodeIndex = uint32_t;
  static constexpr NodeIndex kRoot = 0;
  static constexpr size_t kMaxNodes = 1 << 20;

  struct Node {
    NodeIndex parent = 0;
    FrameKind kind = FrameKind::kRoot;
    std::string name;  // raw
    uint64_t self_ns = 0;
  };

  FoldTree() { nodes_.push_back({0, FrameKind::kRoot, "all", 0}); }

  NodeIndex Child(NodeIndex parent, FrameKind kind, std::string_view name);
  void Add(NodeIndex node, uint64_t weight_ns) { nodes_[node].self_ns += weight_ns; }

  const std::vector<Node>& nodes() const { return nodes_; }
  // By node: its own weight and that of all below it.
  std::vector<uint64_t> Totals() const;
  // By node: its children, by name.
  std::vector<std::vector<NodeIndex>> Children() const;

 private:
  struct Key {
    NodeIndex parent;
    FrameKind kind;
    std::string name;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept {
      return std::hash<std::string>()(key.name) ^
             ((uint64_t{key.parent} << 8 | static_cast<uint64_t>(key.kind)) *
              0x9e3779b97f4a7c15ULL);
    }
  };

  std::vector<Node> nodes_;  // a parent comes before its children
  std::unordered_map<Key, NodeIndex, Hash> index_;
};

// Parts that are in proportion to `weights` and add up to exactly `total`; empty weights stay so.
std::vector<uint64_t> ScaleToTotal(const std::vector<uint64_t>& weights, uint64_t total);

}  // namespace cprof

#endif  // CPROF_REPORT_FOLD_H_
