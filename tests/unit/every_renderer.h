// Runs any bytes through the whole line into every renderer at once.
#ifndef CPROF_TESTS_UNIT_EVERY_RENDERER_H_
#define CPROF_TESTS_UNIT_EVERY_RENDERER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "format/writer.h"
#include "report/render_flame.h"
#include "report/render_graph.h"
#include "report/render_report.h"

namespace cprof::testing {

// Hands everything to several sinks, and keeps the summary.
class FanOut : public ReportSink {
 public:
  void Add(ReportSink* sink) { sinks_.push_back(sink); }

  void OnHeader(const SessionHeader& header) override { Tell(&ReportSink::OnHeader, header); }
  void OnStream(const StreamInfo& stream) override { Tell(&ReportSink::OnStream, stream); }
  void OnMappings(std::span<const Mapping> maps) override { Tell(&ReportSink::OnMappings, maps); }
  void OnKernelSymbols(std::span<const KernelSymbol> symbols) override {
    Tell(&ReportSink::OnKernelSymbols, symbols);
  }
  void OnFooter(const Footer& footer) override { Tell(&ReportSink::OnFooter, footer); }
  void OnNode(const Node& node) override { Tell(&ReportSink::OnNode, node); }
  void OnNodeEnd(const Node& node) override { Tell(&ReportSink::OnNodeEnd, node); }
  void OnThreadName(NodeId thread, const std::array<char, 16>& comm) override {
    Tell(&ReportSink::OnThreadName, thread, comm);
  }
  void OnEdge(const Edge& edge) override { Tell(&ReportSink::OnEdge, edge); }
  void OnOrphan(const Orphan& orphan) override { Tell(&ReportSink::OnOrphan, orphan); }
  void OnBreak(BreakId id, const Break& lost) override { Tell(&ReportSink::OnBreak, id, lost); }
  void OnThreadSlice(const ThreadSlice& slice) override { Tell(&ReportSink::OnThreadSlice, slice); }
  void OnBinding(const Binding& binding) override { Tell(&ReportSink::OnBinding, binding); }
  void OnBindingStack(NodeId thread, uint64_t time_ns,
                      std::span<const OpenBinding> stack) override {
    Tell(&ReportSink::OnBindingStack, thread, time_ns, stack);
  }
  void OnOwner(const Owner& owner) override { Tell(&ReportSink::OnOwner, owner); }
  void OnState(const StateSpan& state) override { Tell(&ReportSink::OnState, state); }
  void OnCost(const Cost& cost) override { Tell(&ReportSink::OnCost, cost); }
  void OnRequestEnd(const RequestEnd& end) override { Tell(&ReportSink::OnRequestEnd, end); }
  void OnThreadRuntime(NodeId thread, uint64_t time_ns, uint64_t runtime_ns) override {
    Tell(&ReportSink::OnThreadRuntime, thread, time_ns, runtime_ns);
  }
  void OnSample(NodeId node, NodeId thread, const StackSample& sample) override {
    Tell(&ReportSink::OnSample, node, thread, sample);
  }
  void OnFinal(uint64_t final_ns) override { Tell(&ReportSink::OnFinal, final_ns); }
  void OnSummary(const GraphSummary& told) override {
    summary = told;
    Tell(&ReportSink::OnSummary, told);
  }

  GraphSummary summary;

 private:
  template <typename Method, typename... Arguments>
  void Tell(Method method, const Arguments&... arguments) {
    for (ReportSink* sink : sinks_) (sink->*method)(arguments...);
  }

  std::vector<ReportSink*> sinks_;
};

struct EveryOutput {
  Result<ReadSummary> read = Error{"not read", ""};
  GraphSummary summary;
  std::string text;  // of all renderers, one behind the other
};

inline EveryOutput RenderEverything(std::string bytes) {
  EveryOutput result;
  const auto to_text = MakeStringSink(&result.text);
  // Each renderer writes into its own output, so that streaming ones do not mix.
  std::vector<std::unique_ptr<TextOutput>> outs;
  const auto out = [&]() -> TextOutput& {
    outs.push_back(std::make_unique<TextOutput>(*to_text));
    return *outs.back();
  };
  StringTable strings;
  FanOut all;
  std::vector<std::unique_ptr<ReportRenderer>> reports;
  const auto report = [&](ReportBy by, ReportFormat format, const char* request) {
    ReportOptions options;
    options.by = by;
    options.format = format;
    options.session_header = true;
    options.request = request;
    reports.push_back(MakeReportRenderer(options, strings, out()));
    all.Add(reports.back().get());
  };
  report(ReportBy::kRequest, ReportFormat::kText, "");
  report(ReportBy::kThread, ReportFormat::kCsv, "");
  report(ReportBy::kIoRequest, ReportFormat::kJson, "");
  report(ReportBy::kRequest, ReportFormat::kText, "slowest");
  std::vector<std::unique_ptr<GraphRenderer>> graphs;
  graphs.push_back(MakeGraphJsonRenderer(strings, out()));
  graphs.push_back(MakeGraphDotRenderer(std::nullopt, strings, out()));
  graphs.push_back(MakeGraphDotRenderer(Key{0, 2}, strings, out()));
  for (const auto& graph : graphs) all.Add(graph.get());
  std::vector<std::unique_ptr<FlameFolder>> flames;
  for (const FlameBy by : {FlameBy::kRequest, FlameBy::kThread, FlameBy::kIoRequest}) {
    for (const FlameWeight weight : {FlameWeight::kCpu, FlameWeight::kWall, FlameWeight::kCount}) {
      if (!IsFlameFold({by, weight})) continue;
      flames.push_back(MakeFlameFolder({by, weight}, strings));
      all.Add(flames.back().get());
    }
  }

  const auto source = MakeStringSource(std::move(bytes));
  result.read = RunPipeline(*source, strings, {}, all);
  result.summary = all.summary;
  if (!result.read) return result;
  // What a renderer does not find it says in its text.
  for (const auto& renderer : reports) (void)renderer->Finish(*result.read);
  for (const auto& renderer : graphs) (void)renderer->Finish(*result.read);
  for (const auto& folder : flames) WriteFlame({}, *folder, out());
  for (const auto& each : outs) (void)each->Finish();
  return result;
}

}  // namespace cprof::testing

#endif  // CPROF_TESTS_UNIT_EVERY_RENDERER_H_
