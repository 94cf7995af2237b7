// `cprof graph`: the causal graph as text, one JSON object a line or DOT.
#ifndef CPROF_REPORT_RENDER_GRAPH_H_
#define CPROF_REPORT_RENDER_GRAPH_H_

#include <memory>
#include <optional>

#include "report/pipeline.h"
#include "report/text_output.h"

namespace cprof {

class GraphRenderer : public ReportSink {
 public:
  // After the pipeline. False: a request was asked for and there is none with its id.
  virtual bool Finish(const ReadSummary& read) = 0;
};

// The lines of cprof-causality(7), "the graph as text", streaming. A node's line comes when its
// life ends, so lines that mention it may come before. Beside the kinds of line given there:
// {"t":"stack"}: the frames of a stack when a sample first has it, addresses as recorded, leaf
// first. Memory: distinct stacks, up to a bound.
std::unique_ptr<GraphRenderer> MakeGraphJsonRenderer(const StringTable& strings, TextOutput& out);

// A digraph for dot(1). Without a request it streams the whole graph; with one it keeps what was
// told while that request lived (up to a bound, said in the output) and prints what belongs to it.
std::unique_ptr<GraphRenderer> MakeGraphDotRenderer(std::optional<Key> request,
                                                    const StringTable& strings, TextOutput& out);

}  // namespace cprof

#endif  // CPROF_REPORT_RENDER_GRAPH_H_
