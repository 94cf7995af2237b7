// The paths of CPU time of two recordings against each other.
//
// Where CPU time went within a request is known by samples alone: a path that n samples hit has
// what n of them stand for. How many would hit it again is bounded as for counts of rare events
// (the score interval), and the CPU time of a request by its own bounds; both are put together.
#include <algorithm>
#include <cmath>
#include <map>

#include "report/diff.h"
#include "report/diff_tree.h"

namespace cprof {
namespace {

using NodeIndex = FoldTree::NodeIndex;

// One side of a kind: what a path's time is made from.
struct PathSide {
  double requests = 0;   // that both sides were brought to
  double sample_ns = 0;  // of a request that one sample stands for
  double spread = 0;     // bounds of a request's CPU time, as a part of it

  Estimate Of(double amount_ns, double bound) const {
    Estimate estimate;
    estimate.value = amount_ns / requests;
    if (sample_ns <= 0 || !std::isfinite(spread)) return estimate;
    const double samples = estimate.value / sample_ns;
    const double middle = samples + bound * bound / 2;
    const double half = bound * std::sqrt(samples + bound * bound / 4);
    const double cpu_ns = estimate.value * spread;
    estimate.low = estimate.value - std::hypot((samples - (middle - half)) * sample_ns, cpu_ns);
    estimate.high = estimate.value + std::hypot((middle + half - samples) * sample_ns, cpu_ns);
    return estimate;
  }
};

// CPU time that one sample stands for.
double PeriodOf(const DiffProfile& profile) {
  if (profile.samples == 0) return 0;
  const double all_ns = static_cast<double>(profile.tree.Totals()[FoldTree::kRoot].amount);
  return all_ns / static_cast<double>(profile.samples);
}

double SpreadOf(const Estimate& cpu) {
  return cpu.value > 0 ? std::max(cpu.high - cpu.value, cpu.value - cpu.low) / cpu.value : 0;
}

struct KindOfPath {
  std::string name;
  PathSide a, b;
  double weight = 0;  // of all requests
  uint64_t fewest = 0;
};

class PathComparer {
 public:
  PathComparer(const DiffProfile& a, const DiffProfile& b, const std::vector<KindChange>& kinds)
      : a_(a), b_(b), scale_(a, b), tree_(MergePerRequest(a.tree, b.tree, scale_)) {
    for (const KindChange& kind : kinds) kinds_["request " + kind.kind] = &kind;
  }

  std::vector<PathChange> Run() {
    const auto& nodes = tree_.nodes();
    std::vector<NodeIndex> ends;
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (nodes[i].self.amount + nodes[i].self.before > 0) {
        ends.push_back(static_cast<NodeIndex>(i));
      }
    }
    bound_ = NormalBound(kDiffAlpha / static_cast<double>(std::max<size_t>(ends.size(), 1)));
    std::vector<PathChange> paths;
    for (const NodeIndex end : ends) paths.push_back(CompareAt(end));
    // Words are made for those that are kept; ties stay in the order of the tree, which is that of
    // the recordings.
    std::vector<size_t> order(paths.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
      return IsLargerChange(paths[x].change, paths[y].change);
    });
    if (order.size() > kMaxDiffPaths) order.resize(kMaxDiffPaths);
    std::vector<PathChange> kept;
    for (const size_t i : order) {
      Name(ends[i], &paths[i]);
      kept.push_back(std::move(paths[i]));
    }
    return kept;
  }

 private:
  NodeIndex TopOf(NodeIndex node) const {
    while (tree_.nodes()[node].parent != FoldTree::kRoot) node = tree_.nodes()[node].parent;
    return node;
  }

  const KindOfPath& KindAt(NodeIndex top) {
    const auto found = by_top_.find(top);
    if (found != by_top_.end()) return found->second;
    const FoldTree::Node& node = tree_.nodes()[top];
    KindOfPath kind;
    kind.name = node.name;
    const double both = scale_.Both(node);
    const auto side = [&](const DiffProfile& profile, bool is_b) {
      const double own = scale_.Own(node, is_b);
      return PathSide{both, own > 0 ? PeriodOf(profile) / own : 0, 0};
    };
    kind.a = side(a_, false);
    kind.b = side(b_, true);
    const double all = static_cast<double>(a_.requests + b_.requests) / 2;
    kind.weight = all > 0 && !scale_.ByTime() ? std::min(1.0, both / all) : 1;
    kind.fewest = std::min(a_.requests, b_.requests);
    if (const auto change = kinds_.find(node.name); change != kinds_.end()) {
      kind.name = change->second->kind;
      kind.fewest = std::min(change->second->count_a, change->second->count_b);
      kind.a.spread = SpreadOf(change->second->cpu.a);
      kind.b.spread = SpreadOf(change->second->cpu.b);
    }
    return by_top_.emplace(top, std::move(kind)).first->second;
  }

  PathChange CompareAt(NodeIndex end) {
    const KindOfPath& kind = KindAt(TopOf(end));
    const FoldWeight& self = tree_.nodes()[end].self;
    PathChange path;
    path.kind = kind.name;
    path.change.a = kind.a.Of(static_cast<double>(self.before), bound_);
    path.change.b = kind.b.Of(static_cast<double>(self.amount), bound_);
    path.change.difference = Difference(path.change.a, path.change.b);
    const Estimate& difference = path.change.difference;
    path.change.verdict = kind.fewest < kMinDiffRequests
                              ? (kind.fewest == 0 ? DiffVerdict::kOnlyOne : DiffVerdict::kTooFew)
                          : difference.low > 0 || difference.high < 0 ? DiffVerdict::kCertain
                                                                      : DiffVerdict::kNoise;
    path.change.impact_ns = difference.value * kind.weight;
    return path;
  }

  void Name(NodeIndex end, PathChange* path) const {
    std::vector<NodeIndex> stack;
    for (NodeIndex node = end; tree_.nodes()[node].parent != FoldTree::kRoot;
         node = tree_.nodes()[node].parent) {
      stack.push_back(node);
    }
    for (size_t i = stack.size(); i-- > 0;) {
      const FoldTree::Node& node = tree_.nodes()[stack[i]];
      std::string frame = node.name;
      if (node.kind == FrameKind::kKernel) frame += "_[k]";
      path->frames.push_back(std::move(frame));
    }
  }

  const DiffProfile& a_;
  const DiffProfile& b_;
  const RequestScale scale_;
  const FoldTree tree_;
  std::map<std::string, const KindChange*> kinds_;
  std::map<NodeIndex, KindOfPath> by_top_;
  double bound_ = 0;
};

}  // namespace

std::vector<PathChange> ComparePaths(const DiffProfile& a, const DiffProfile& b,
                                     const std::vector<KindChange>& kinds) {
  if (a.samples == 0 || b.samples == 0) return {};
  return PathComparer(a, b, kinds).Run();
}

}  // namespace cprof
