// Which folder, and how what it folded is written.
#include "report/render_flame.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "report/escape.h"
#include "report/flame_folder.h"
#include "report/number.h"

namespace cprof {

bool IsFlameFold(const FlameFoldOptions& options) {
  return options.by != FlameBy::kIoRequest || options.weight != FlameWeight::kCpu;
}

std::unique_ptr<FlameFolder> MakeFlameFolder(const FlameFoldOptions& options,
                                             const StringTable& strings) {
  switch (options.by) {
    case FlameBy::kThread: return MakeThreadFolder(options.weight, strings);
    case FlameBy::kIoRequest: return MakeIoFolder(options.weight, strings);
    case FlameBy::kRequest: break;
  }
  if (options.weight == FlameWeight::kCpu) return MakeRequestCpuFolder(strings);
  return MakeRequestWallFolder(options.weight, strings);
}

void WriteFolded(const FoldTree& tree, bool differential, TextOutput& out) {
  const auto& nodes = tree.nodes();
  std::vector<std::string> lines;
  for (FoldTree::NodeIndex i = 0; i < nodes.size(); ++i) {
    const FoldWeight& self = nodes[i].self;
    if (self.amount == 0 && !(differential && self.before > 0)) continue;
    std::vector<FoldTree::NodeIndex> stack;
    for (FoldTree::NodeIndex node = i; node != FoldTree::kRoot; node = nodes[node].parent) {
      stack.push_back(node);
    }
    std::string line;
    for (size_t frame = stack.size(); frame-- > 0;) {
      const FoldTree::Node& node = nodes[stack[frame]];
      if (!line.empty()) line += ';';
      AppendFoldedFrame(node.name, &line);
      if (node.kind == FrameKind::kKernel) line += "_[k]";
    }
    line += ' ';
    if (differential) {
      AppendUnsigned(self.before, &line);
      line += ' ';
    }
    AppendUnsigned(self.amount, &line);
    line += '\n';
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) {
    out.text() += line;
    out.Drain();
  }
}

void WriteFlame(const FlameOptions& options, FlameFolder& folder, TextOutput& out) {
  const FoldTree tree = folder.Fold();
  if (options.folded) {
    WriteFolded(tree, false, out);
    return;
  }
  FlameSvgOptions svg = options.svg;
  if (svg.title.empty()) svg.title = folder.Title();
  svg.subtitle = folder.Subtitle();
  svg.unit = folder.unit();
  svg.counted = folder.counted();
  WriteFlameSvg(tree, svg, out);
}

}  // namespace cprof
