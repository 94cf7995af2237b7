// `cprof flame`: where time went, by causal frames and stacks, as SVG or folded lines.
#ifndef CPROF_REPORT_RENDER_FLAME_H_
#define CPROF_REPORT_RENDER_FLAME_H_

#include <memory>
#include <string>

#include "report/flame_svg.h"
#include "report/fold.h"
#include "report/pipeline.h"
#include "report/text_output.h"

namespace cprof {

enum class FlameBy : uint8_t { kRequest, kThread, kIoRequest };
enum class FlameWeight : uint8_t { kCpu, kWall, kCount };

struct FlameFoldOptions {
  FlameBy by = FlameBy::kRequest;
  FlameWeight weight = FlameWeight::kCpu;
};
// Whether there is a folder for both together: an io_request has no CPU time of its own.
bool IsFlameFold(const FlameFoldOptions& options);

// Gathers a recording into a tree.
class FlameFolder : public ReportSink {
 public:
  // Once, after the pipeline.
  virtual FoldTree Fold() = 0;
  // What the tree shows, for people: "CPU time by request" and "12.10 ms of CPU time, 2 samples".
  // After Fold.
  virtual std::string Title() const = 0;
  virtual std::string Subtitle() const = 0;
  virtual FlameUnit unit() const { return FlameUnit::kNanoseconds; }
  virtual std::string counted() const { return ""; }  // of unit kCount
};

// The first frames are kinds of request, threads by name, or io_uring operations. Sums are those of
// `cprof report` with the same --by, to the nanosecond:
//
// CPU by request: the kind of request, the tasks and the like between it and the thread that worked
//   for it, the thread, its stack. Each kind has the CPU time that the scheduler accounted to it,
//   divided by the samples taken in it; one that was never hit by a sample shows it as "[not
//   sampled]". Requests seen only in part stand apart. What no request owns is "[no request]", its
//   size again by the scheduler's account.
// Wall by request: the kind, the tasks, the state of its wall time, what was waited for, who held
//   it and what the holder did meanwhile; running time is divided by the samples taken in it.
// Count by request: each once, at the frame that had the most of its wall time.
// By thread: CPU as for requests, each thread by its own account, with the request below the stack;
//   wall by state, what was waited on and who ended it; count as above.
// By io_request: from submit to completion, by operation and the request that owns it.
std::unique_ptr<FlameFolder> MakeFlameFolder(const FlameFoldOptions& options,
                                             const StringTable& strings);

// "frame;frame;... amount" lines, sorted; kernel frames end in "_[k]". differential: "before
// amount" in place of the amount.
void WriteFolded(const FoldTree& tree, bool differential, TextOutput& out);

struct FlameOptions {
  bool folded = false;  // lines instead of SVG
  FlameFoldOptions fold;
  FlameSvgOptions svg;  // an empty title is replaced by the folder's; subtitle and unit always are
};

// Folds `folder` and writes it.
void WriteFlame(const FlameOptions& options, FlameFolder& folder, TextOutput& out);

}  // namespace cprof

#endif  // CPROF_REPORT_RENDER_FLAME_H_
