// `cprof flame`: CPU time by causal frames and stacks, as SVG or folded lines.
#ifndef CPROF_REPORT_RENDER_FLAME_H_
#define CPROF_REPORT_RENDER_FLAME_H_

#include <memory>

#include "report/pipeline.h"
#include "report/text_output.h"

namespace cprof {

struct FlameOptions {
  bool folded = false;  // "frame;frame;... ns" lines instead of SVG
};

// From the root: the kind of request, the tasks and the like between it and the thread that worked
// for it, the thread, its user stack, its kernel stack. Each kind of request has the CPU time that
// the scheduler accounted to it, divided by the samples taken in it; one that was never hit by a
// sample shows its exact time as "[not sampled]". CPU time that no request owns is under
// "[no request]", its size again by the scheduler's account.
class FlameRenderer : public ReportSink {
 public:
  virtual void Finish(const ReadSummary& read) = 0;
};

std::unique_ptr<FlameRenderer> MakeFlameRenderer(const FlameOptions& options,
                                                 const StringTable& strings, TextOutput& out);

}  // namespace cprof

#endif  // CPROF_REPORT_RENDER_FLAME_H_
