// A fold tree as a self-contained, interactive SVG.
#ifndef CPROF_REPORT_FLAME_SVG_H_
#define CPROF_REPORT_FLAME_SVG_H_

#include <cstdint>
#include <string>

#include "report/fold.h"
#include "report/text_output.h"

namespace cprof {

enum class FlamePalette : uint8_t { kDefault, kColourBlind };
enum class FlameUnit : uint8_t { kNanoseconds, kCount };

struct FlameSvgOptions {
  std::string title;     // raw
  std::string subtitle;  // raw
  FlameUnit unit = FlameUnit::kNanoseconds;
  std::string counted = "";  // of unit kCount: what is counted, in the plural: "requests"
  FlamePalette palette = FlamePalette::kDefault;
  bool icicle = false;                  // root at the top
  uint32_t min_width_centipixels = 50;  // narrower frames are drawn only once zoomed into
  // Frames are coloured by how their weight differs from what it was before: red grew, blue shrank.
  // Widths are those of now, or, at a button, those of before, so that what is gone shows too. The
  // weights are taken as they are: what is to be compared per request has been divided by then.
  bool differential = false;
};

// Siblings by name. Frames that are wide enough are drawn, with name, weight and share in a title,
// and stay right where no script runs; a script lays out the rest from data in the file when it is
// zoomed into, and searches all of them. Names are raw and cannot act.
void WriteFlameSvg(const FoldTree& tree, const FlameSvgOptions& options, TextOutput& out);

}  // namespace cprof

#endif  // CPROF_REPORT_FLAME_SVG_H_
