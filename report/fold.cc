// The fold tree.
#include "report/fold.h"

#include <algorithm>
#include <numeric>

#include "report/number.h"

namespace cprof {

FoldTree::NodeIndex FoldTree::Child(NodeIndex parent, FrameKind kind, std::string_view name) {
  Key key{parent, kind, std::string(name)};
  if (const auto found = index_.find(key); found != index_.end()) return found->second;
  if (nodes_.size() >= kMaxNodes) {
    // One more node for each parent at most; its own children fold into it.
    if (nodes_[parent].name == "[other]") return parent;
    key.name = "[other]";
    if (const auto found = index_.find(key); found != index_.end()) return found->second;
    if (nodes_.size() >= 2 * kMaxNodes) return parent;
  }
  const auto index = static_cast<NodeIndex>(nodes_.size());
  nodes_.push_back({parent, kind, key.name, 0});
  index_.emplace(std::move(key), index);
  return index;
}

std::vector<uint64_t> FoldTree::Totals() const {
  std::vector<uint64_t> totals(nodes_.size());
  for (size_t i = nodes_.size(); i-- > 0;) {
    totals[i] += nodes_[i].self_ns;
    if (i > 0) totals[nodes_[i].parent] += totals[i];
  }
  return totals;
}

std::vector<std::vector<FoldTree::NodeIndex>> FoldTree::Children() const {
  std::vector<std::vector<NodeIndex>> children(nodes_.size());
  for (size_t i = 1; i < nodes_.size(); ++i) {
    children[nodes_[i].parent].push_back(static_cast<NodeIndex>(i));
  }
  for (std::vector<NodeIndex>& list : children) {
    std::sort(list.begin(), list.end(), [this](NodeIndex a, NodeIndex b) {
      if (nodes_[a].name != nodes_[b].name) return nodes_[a].name < nodes_[b].name;
      return nodes_[a].kind < nodes_[b].kind;
    });
  }
  return children;
}

std::vector<uint64_t> ScaleToTotal(const std::vector<uint64_t>& weights, uint64_t total) {
  const uint64_t sum = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  std::vector<uint64_t> parts(weights.size());
  if (sum == 0) return parts;
  // Differences of rounded running sums: each part is off by less than one, and none is lost.
  uint64_t running = 0;
  uint64_t before = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    running += weights[i];
    const uint64_t after = MultiplyDivide(total, running, 0, sum);
    parts[i] = after - before;
    before = after;
  }
  return parts;
}

}  // namespace cprof
