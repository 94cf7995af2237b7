// Hands what the pass line tells to several sinks, in one order.
#ifndef CPROF_REPORT_SINK_FAN_OUT_H_
#define CPROF_REPORT_SINK_FAN_OUT_H_

#include <vector>

#include "report/pipeline.h"

namespace cprof {

class SinkFanOut : public ReportSink {
 public:
  // The sink outlives this one.
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
  void OnSummary(const GraphSummary& summary) override { Tell(&ReportSink::OnSummary, summary); }

 private:
  template <typename Method, typename... Arguments>
  void Tell(Method method, const Arguments&... arguments) {
    for (ReportSink* sink : sinks_) (sink->*method)(arguments...);
  }

  std::vector<ReportSink*> sinks_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_SINK_FAN_OUT_H_
