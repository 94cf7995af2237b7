// Stacks folded into one tree: frames by name, with weights and how well they are known.
#ifndef CPROF_REPORT_FOLD_H_
#define CPROF_REPORT_FOLD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/graph.h"

namespace cprof {

// What a frame stands for; pictures tell them apart by colour.
enum class FrameKind : uint8_t {
  kRoot,
  kRequest,  // or that there was none
  kTask,
  kIo,        // an io_request, or waiting for one
  kWork,      // a work item or timer, or a kernel worker at it
  kResource,  // a resource or lock, or waiting for one
  kThread,
  kRunning,
  kWaiting,  // any other wait: for a CPU, to be taken up, for a wake
  kUser,     // stack frames
  kKernel,
  kNotSampled,  // exact time without a stack to show for it
  kUnknown,     // nothing says what it was
};
inline constexpr size_t kFrameKindCount = 13;
// "request", "user stack": for people.
std::string_view FrameKindName(FrameKind kind);

// An amount in one unit (ns, or a count), and parts of it.
struct FoldWeight {
  uint64_t amount = 0;
  uint64_t reconstructed = 0;  // part of amount that a rule was needed for
  uint64_t unknown = 0;        // part of amount that nothing is known of
  uint64_t before = 0;         // in the recording that this one is compared with; no part of amount

  FoldWeight& operator+=(const FoldWeight& more);
  friend bool operator==(const FoldWeight&, const FoldWeight&) = default;
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
    FoldWeight self;   // its own, without its children's
  };

  FoldTree() { nodes_.push_back({0, FrameKind::kRoot, "all", {}}); }

  NodeIndex Child(NodeIndex parent, FrameKind kind, std::string_view name);
  void Add(NodeIndex node, uint64_t amount, Confidence confidence = Confidence::kObserved);
  // Takes the amounts of `other` as what was before, at the frames of the same names.
  void AddBefore(const FoldTree& other);

  const std::vector<Node>& nodes() const { return nodes_; }
  // By node: its own weight and that of all below it.
  std::vector<FoldWeight> Totals() const;
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
