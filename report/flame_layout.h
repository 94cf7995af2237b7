// A fold tree in drawing order, and where its frames lie.
#ifndef CPROF_REPORT_FLAME_LAYOUT_H_
#define CPROF_REPORT_FLAME_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "report/fold.h"

namespace cprof {

struct FlameFrame {
  uint32_t name = 0;  // in FlatFlame::names
  uint32_t depth = 0;
  uint32_t end = 0;  // the frames after this one and before `end` lie above it
  FrameKind kind = FrameKind::kRoot;
  FoldWeight self;
  FoldWeight total;
};

// Depth first, siblings by name; frames that weigh nothing are left out.
struct FlatFlame {
  std::vector<std::string> names;  // printable, each once, in order of first use
  std::vector<FlameFrame> frames;  // the root first, which is always there
};
FlatFlame Flatten(const FoldTree& tree);

// Lengths are in hundredths of a pixel, so that the same tree gives the same text.
inline constexpr uint64_t kCentipixels = 100;

// One frame, or several neighbours that are too narrow each and stand together.
struct FlameBox {
  uint32_t first = 0;  // in FlatFlame::frames
  uint32_t end = 0;
  bool merged = false;  // else it is frames[first]
  uint32_t depth = 0;
  uint64_t left = 0;
  uint64_t width = 0;
  FoldWeight weight;
};

// At least min_width wide, the root `width`. In one wide parent there is always a box, if only a
// thin one, for what does not fit: so everything can be zoomed into. Not more than kMaxFlameBoxes:
// min_width grows until they suffice. By depth, then from the left.
inline constexpr size_t kMaxFlameBoxes = 20'000;  // what browsers still draw at once
std::vector<FlameBox> LayOut(const FlatFlame& flame, uint64_t width, uint64_t min_width);

}  // namespace cprof

#endif  // CPROF_REPORT_FLAME_LAYOUT_H_
