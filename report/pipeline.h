// The pass line, from recording to sink: load, order, join, attribute.
#ifndef CPROF_REPORT_PIPELINE_H_
#define CPROF_REPORT_PIPELINE_H_

#include "format/reader.h"
#include "report/attribute.h"
#include "report/graph.h"
#include "report/join.h"

namespace cprof {

// What a renderer may also want of the recording, beside the graph.
class ReportSink : public GraphSink {
 public:
  virtual void OnHeader(const SessionHeader&) {}
  virtual void OnStream(const StreamInfo&) {}
  virtual void OnMappings(std::span<const Mapping>) {}
  virtual void OnKernelSymbols(std::span<const KernelSymbol>) {}
  virtual void OnFooter(const Footer&) {}
};

struct PipelineOptions {
  JoinOptions join;
  // Load, order and join in a thread of their own, beside attribute and the sink. The sink is told
  // the same in the same order, in the calling thread as always.
  bool two_threads = false;
};

// Runs the whole line over a recording (binary, or the text of `cprof script`). Streaming.
Result<ReadSummary> RunPipeline(ByteSource& source, StringTable& strings,
                                const PipelineOptions& options, ReportSink& sink);

}  // namespace cprof

#endif  // CPROF_REPORT_PIPELINE_H_
