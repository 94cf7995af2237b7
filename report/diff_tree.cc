// Scales two fold trees to as many requests, and lays one over the other.
#include "report/diff_tree.h"

#include <cmath>
#include <string_view>
#include <vector>

#include "report/number.h"

namespace cprof {
namespace {

constexpr std::string_view kRequestWord = "request ";

// By node: the frame beneath the root that it belongs to.
std::vector<FoldTree::NodeIndex> Tops(const FoldTree& tree) {
  const auto& nodes = tree.nodes();
  std::vector<FoldTree::NodeIndex> tops(nodes.size(), FoldTree::kRoot);
  for (size_t i = 1; i < nodes.size(); ++i) {
    const FoldTree::NodeIndex parent = nodes[i].parent;
    tops[i] = parent == FoldTree::kRoot ? static_cast<FoldTree::NodeIndex>(i) : tops[parent];
  }
  return tops;
}

FoldTree Scaled(const FoldTree& tree, const RequestScale& scale, bool is_b) {
  const auto& nodes = tree.nodes();
  const std::vector<FoldTree::NodeIndex> tops = Tops(tree);
  const std::vector<FoldWeight> totals = tree.Totals();
  // Running sums per part of the tree, so that rounding loses nothing.
  struct Part {
    uint64_t target = 0, before = 0, after = 0;
  };
  std::vector<Part> parts(nodes.size());
  for (size_t i = 1; i < nodes.size(); ++i) {
    if (tops[i] != i) continue;
    const double own = scale.Own(nodes[i], is_b);
    const double target =
        own > 0 ? static_cast<double>(totals[i].amount) * (scale.Both(nodes[i]) / own) : 0;
    parts[i].target = target < 1e18 ? static_cast<uint64_t>(std::llround(target)) : 0;
  }
  FoldTree scaled;
  std::vector<FoldTree::NodeIndex> here(nodes.size(), FoldTree::kRoot);
  for (size_t i = 1; i < nodes.size(); ++i) {
    Part& part = parts[tops[i]];
    if (part.target == 0) continue;
    here[i] = scaled.Child(here[nodes[i].parent], nodes[i].kind, nodes[i].name);
    const FoldWeight& self = nodes[i].self;
    if (self.amount == 0) continue;
    part.before += self.amount;
    const uint64_t after = MultiplyDivide(part.target, part.before, 0, totals[tops[i]].amount);
    const uint64_t amount = after - part.after;
    part.after = after;
    const uint64_t reconstructed = MultiplyDivide(amount, self.reconstructed, 0, self.amount);
    const uint64_t unknown = MultiplyDivide(amount, self.unknown, 0, self.amount);
    scaled.Add(here[i], reconstructed, Confidence::kReconstructed);
    scaled.Add(here[i], unknown, Confidence::kUnknown);
    scaled.Add(here[i], amount - reconstructed - unknown);
  }
  return scaled;
}

}  // namespace

double RequestScale::Own(const FoldTree::Node& top, bool is_b) const {
  const DiffProfile& side = is_b ? b_ : a_;
  const std::string_view name = top.name;
  if (top.kind == FrameKind::kRequest && name.starts_with(kRequestWord)) {
    const auto found = side.kinds.find(std::string(name.substr(kRequestWord.size())));
    if (found != side.kinds.end()) return static_cast<double>(found->second.count());
    return 0;
  }
  if (ByTime()) return static_cast<double>(side.coverage.DurationNs());
  return static_cast<double>(side.requests);
}

FoldTree MergePerRequest(const FoldTree& a, const FoldTree& b, const RequestScale& scale) {
  FoldTree merged = Scaled(b, scale, true);
  merged.AddBefore(Scaled(a, scale, false));
  return merged;
}

void WriteFlameDiff(const FlameOptions& options, const DiffProfile& a, const DiffProfile& b,
                    TextOutput& out) {
  const RequestScale scale(a, b);
  const FoldTree tree = MergePerRequest(a.tree, b.tree, scale);
  if (options.folded) {
    WriteFolded(tree, true, out);
    return;
  }
  FlameSvgOptions svg = options.svg;
  svg.differential = true;
  svg.unit = b.tree_unit;
  svg.counted = b.tree_counted;
  if (svg.title.empty()) svg.title = b.tree_title + ", before and after";
  svg.subtitle = "each kind of request counted as often in both: ";
  AppendGrouped((a.requests + b.requests) / 2, &svg.subtitle);
  svg.subtitle += " requests in all; before ";
  AppendGrouped(a.requests, &svg.subtitle);
  svg.subtitle += " were recorded, after ";
  AppendGrouped(b.requests, &svg.subtitle);
  if (scale.ByTime()) svg.subtitle = "before and after counted as if they had been as long";
  WriteFlameSvg(tree, svg, out);
}

}  // namespace cprof
