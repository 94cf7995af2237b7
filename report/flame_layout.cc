// Layout of flames. report/flame.js does the same for what is zoomed into: keep them alike.
#include "report/flame_layout.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "report/escape.h"
#include "report/number.h"

namespace cprof {
namespace {

constexpr uint64_t kMergedWidth = 3 * kCentipixels;  // narrow neighbours gather until it is reached
constexpr uint64_t kLeastWidth = kCentipixels;       // of what has to be there to be clicked on
constexpr uint64_t kWideParent = 20 * kCentipixels;  // in which it has to

bool Weighs(const FoldWeight& weight) { return weight.amount != 0 || weight.before != 0; }

class Layout {
 public:
  Layout(const FlatFlame& flame, uint64_t width, uint64_t min_width)
      : frames_(flame.frames), width_(width), min_width_(min_width) {}

  // False: more than kMaxFlameBoxes.
  bool Run() {
    for (uint32_t i = 0; i < frames_.size();) {
      const FlameFrame& frame = frames_[i];
      while (open_.size() > frame.depth + 1) Close();
      if (frame.depth == 0) open_.push_back({0, 0, width_, {}});
      Level& level = open_[frame.depth];
      const uint64_t begin = level.next;
      level.next += frame.total.amount;
      const uint64_t left = Position(begin);
      const uint64_t right = Position(level.next);
      if (frame.total.amount != 0 && right - left < min_width_ && frame.depth != 0) {
        Gather(level, i, left, right);
      } else if (frame.total.amount != 0 || frame.depth == 0) {
        Flush(level);
        boxes_.push_back({i, frame.end, false, frame.depth, left, right - left, frame.total});
        open_.push_back({begin, left, right - left, {}});
        ++i;
        if (boxes_.size() > kMaxFlameBoxes) return false;
        continue;
      }
      i = frame.end;
    }
    while (!open_.empty()) Close();
    return boxes_.size() <= kMaxFlameBoxes;
  }

  std::vector<FlameBox> Take() {
    std::sort(boxes_.begin(), boxes_.end(), [](const FlameBox& a, const FlameBox& b) {
      return a.depth != b.depth ? a.depth < b.depth : a.first < b.first;
    });
    return std::move(boxes_);
  }

 private:
  // The children of one frame that is being laid out.
  struct Level {
    uint64_t next = 0;  // sum of all weights to the left
    uint64_t left = 0;  // of the parent
    uint64_t width = 0;
    FlameBox gathered;  // width 0 and merged false: nothing is
  };

  uint64_t Position(uint64_t amount) const {
    const uint64_t whole = frames_[0].total.amount;
    return whole == 0 ? 0 : MultiplyDivide(amount, width_, 0, whole);
  }

  void Gather(Level& level, uint32_t i, uint64_t left, uint64_t right) {
    FlameBox& box = level.gathered;
    if (!box.merged) box = {i, i, true, frames_[i].depth, left, 0, {}};
    box.end = frames_[i].end;
    box.width = right - box.left;
    box.weight += frames_[i].total;
    if (box.width >= kMergedWidth) Flush(level);
  }

  void Flush(Level& level) {
    FlameBox& box = level.gathered;
    if (!box.merged) return;
    if (box.width < min_width_ && level.width >= kWideParent) {
      box.width = kLeastWidth;
      box.left = std::min(box.left, level.left + level.width - kLeastWidth);
    }
    if (box.width >= std::min(min_width_, kLeastWidth)) boxes_.push_back(box);
    box = {};
  }

  void Close() {
    Flush(open_.back());
    open_.pop_back();
  }

  const std::vector<FlameFrame>& frames_;
  const uint64_t width_;
  const uint64_t min_width_;
  std::vector<Level> open_;  // by depth
  std::vector<FlameBox> boxes_;
};

}  // namespace

FlatFlame Flatten(const FoldTree& tree) {
  FlatFlame flat;
  std::unordered_map<std::string, uint32_t> index;
  const std::vector<FoldWeight> totals = tree.Totals();
  const std::vector<std::vector<FoldTree::NodeIndex>> children = tree.Children();
  // Depth first without recursion: stacks may be as deep as a file says.
  std::vector<std::pair<FoldTree::NodeIndex, uint32_t>> open{{FoldTree::kRoot, 0}};
  while (!open.empty()) {
    const auto [node, depth] = open.back();
    open.pop_back();
    const FoldTree::Node& told = tree.nodes()[node];
    std::string name;
    AppendPrintable(told.name, &name);
    const auto [entry, added] = index.try_emplace(name, static_cast<uint32_t>(flat.names.size()));
    if (added) flat.names.push_back(std::move(name));
    flat.frames.push_back({entry->second, depth, 0, told.kind, told.self, totals[node]});
    const std::vector<FoldTree::NodeIndex>& above = children[node];
    for (size_t i = above.size(); i-- > 0;) {
      if (Weighs(totals[above[i]])) open.push_back({above[i], depth + 1});
    }
  }
  // A frame ends where one of its depth or less begins.
  std::vector<uint32_t> path;
  for (uint32_t i = 0; i <= flat.frames.size(); ++i) {
    const uint32_t depth = i < flat.frames.size() ? flat.frames[i].depth : 0;
    while (path.size() > depth) {
      flat.frames[path.back()].end = i;
      path.pop_back();
    }
    path.push_back(i);
  }
  return flat;
}

std::vector<FlameBox> LayOut(const FlatFlame& flame, uint64_t width, uint64_t min_width) {
  for (;; min_width = std::max(min_width, kCentipixels / 4) * 2) {
    Layout layout(flame, width, min_width);
    if (layout.Run()) return layout.Take();
  }
}

}  // namespace cprof
