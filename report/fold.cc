// The fold tree.
#include "report/fold.h"

#include <algorithm>
#include <numeric>

#include "report/number.h"

namespace cprof {

std::string_view FrameKindName(FrameKind kind) {
  switch (kind) {
    case FrameKind::kRoot: return "all";
    case FrameKind::kRequest: return "request";
    case FrameKind::kTask: return "task";
    case FrameKind::kIo: return "io";
    case FrameKind::kWork: return "work";
    case FrameKind::kResource: return "resource";
    case FrameKind::kThread: return "thread";
    case FrameKind::kRunning: return "running";
    case FrameKind::kWaiting: return "waiting";
    case FrameKind::kUser: return "user stack";
    case FrameKind::kKernel: return "kernel stack";
    case FrameKind::kNotSampled: return "not sampled";
    case FrameKind::kUnknown: return "unknown";
  }
  return "?";
}

FoldWeight& FoldWeight::operator+=(const FoldWeight& more) {
  amount += more.amount;
  reconstructed += more.reconstructed;
  unknown += more.unknown;
  before += more.before;
  return *this;
}

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
  nodes_.push_back({parent, kind, key.name, {}});
  index_.emplace(std::move(key), index);
  return index;
}

void FoldTree::Add(NodeIndex node, uint64_t amount, Confidence confidence) {
  FoldWeight& self = nodes_[node].self;
  self.amount += amount;
  if (confidence == Confidence::kReconstructed) self.reconstructed += amount;
  if (confidence == Confidence::kUnknown) self.unknown += amount;
}

void FoldTree::AddBefore(const FoldTree& other) {
  std::vector<NodeIndex> here(other.nodes_.size(), kRoot);
  for (size_t i = 0; i < other.nodes_.size(); ++i) {
    const Node& node = other.nodes_[i];
    if (i > 0) here[i] = Child(here[node.parent], node.kind, node.name);
    nodes_[here[i]].self.before += node.self.amount;
  }
}

std::vector<FoldWeight> FoldTree::Totals() const {
  std::vector<FoldWeight> totals(nodes_.size());
  for (size_t i = nodes_.size(); i-- > 0;) {
    totals[i] += nodes_[i].self;
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
