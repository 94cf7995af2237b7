// What a pass tells its sink, kept in order and told again by another thread.
#ifndef CPROF_REPORT_SINK_QUEUE_H_
#define CPROF_REPORT_SINK_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "report/pipeline.h"

namespace cprof {

// Calls in the order in which they came, by kind: a list of what was called, and a list of
// arguments for each of them. What is rare is kept as a function.
class SinkTape {
 public:
  void OnNode(const Node& node) { Keep(Call::kNode, nodes_, node); }
  void OnNodeEnd(const Node& node) { Keep(Call::kNodeEnd, nodes_, node); }
  void OnEdge(const Edge& edge) { Keep(Call::kEdge, edges_, edge); }
  void OnOrphan(const Orphan& orphan) { Keep(Call::kOrphan, orphans_, orphan); }
  void OnThreadSlice(const ThreadSlice& slice) { Keep(Call::kThreadSlice, slices_, slice); }
  void OnBinding(const Binding& binding) { Keep(Call::kBinding, bindings_, binding); }
  void OnBindingStack(NodeId thread, uint64_t time_ns, std::span<const OpenBinding> stack) {
    Keep(Call::kBindingStack, stacks_, {thread, time_ns, stack.size()});
    open_.insert(open_.end(), stack.begin(), stack.end());
  }
  using Other = std::function<void(GraphSink& graph, ReportSink& facts)>;
  void OnOther(Other other) { Keep(Call::kOther, others_, std::move(other)); }

  // Texts that the calls may mention; ids count on.
  void AddTexts(const StringTable& strings, StringId from);

  size_t size() const { return calls_.size(); }
  // Interns the texts, then makes the calls.
  void Play(StringTable& strings, GraphSink& graph, ReportSink& facts) const;
  // Keeps the memory.
  void Clear();

 private:
  enum class Call : uint8_t {
    kNode,
    kNodeEnd,
    kEdge,
    kOrphan,
    kThreadSlice,
    kBinding,
    kBindingStack,
    kOther,
  };
  struct Stack {
    NodeId thread = 0;
    uint64_t time_ns = 0;
    size_t count = 0;  // of open_
  };
  template <typename T>
  void Keep(Call call, std::vector<T>& list, T argument) {
    calls_.push_back(call);
    list.push_back(std::move(argument));
  }

  std::vector<std::string> texts_;
  std::vector<Call> calls_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Orphan> orphans_;
  std::vector<ThreadSlice> slices_;
  std::vector<Binding> bindings_;
  std::vector<Stack> stacks_;
  std::vector<OpenBinding> open_;
  std::vector<Other> others_;
};

// One thread tells, another one delivers. Holds a few tapes at most: who tells waits while they are
// full. What it tells of the recording beside the graph keeps its place among the rest. The threads
// share no table of strings: texts go along, and get the same ids on the other side.
class SinkQueue : public ReportSink {
 public:
  // `strings` is the table of the thread that tells, from which names come.
  explicit SinkQueue(const StringTable& strings);

  // The last call of the thread that tells.
  void Close();
  // Tells everything to graph, and what is no part of the graph to facts; returns once the queue is
  // closed and empty. The other thread; `strings` is its table, and held the same when both began.
  void Deliver(StringTable& strings, GraphSink& graph, ReportSink& facts);

  void OnNode(const Node& node) override { Tape().OnNode(node); }
  void OnNodeEnd(const Node& node) override { Tape().OnNodeEnd(node); }
  void OnEdge(const Edge& edge) override { Tape().OnEdge(edge); }
  void OnOrphan(const Orphan& orphan) override { Tape().OnOrphan(orphan); }
  void OnThreadSlice(const ThreadSlice& slice) override { Tape().OnThreadSlice(slice); }
  void OnBinding(const Binding& binding) override { Tape().OnBinding(binding); }
  void OnBindingStack(NodeId thread, uint64_t time_ns,
                      std::span<const OpenBinding> stack) override {
    Tape().OnBindingStack(thread, time_ns, stack);
  }

  void OnThreadName(NodeId thread, const std::array<char, 16>& comm) override {
    Graph(&GraphSink::OnThreadName, thread, comm);
  }
  void OnBreak(BreakId id, const Break& lost) override { Graph(&GraphSink::OnBreak, id, lost); }
  void OnOwner(const Owner& owner) override { Graph(&GraphSink::OnOwner, owner); }
  void OnState(const StateSpan& span) override { Graph(&GraphSink::OnState, span); }
  void OnCost(const Cost& cost) override { Graph(&GraphSink::OnCost, cost); }
  void OnRequestEnd(const RequestEnd& end) override { Graph(&GraphSink::OnRequestEnd, end); }
  void OnThreadExit(NodeId thread, uint64_t time_ns) override {
    Graph(&GraphSink::OnThreadExit, thread, time_ns);
  }
  void OnThreadRuntime(NodeId thread, uint64_t time_ns, uint64_t runtime_ns) override {
    Graph(&GraphSink::OnThreadRuntime, thread, time_ns, runtime_ns);
  }
  void OnSample(NodeId node, NodeId thread, const StackSample& sample) override {
    Graph(&GraphSink::OnSample, node, thread, sample);
  }
  void OnFinal(uint64_t final_ns) override { Graph(&GraphSink::OnFinal, final_ns); }
  void OnSummary(const GraphSummary& summary) override { Graph(&GraphSink::OnSummary, summary); }

  void OnHeader(const SessionHeader& header) override { Fact(&ReportSink::OnHeader, header); }
  void OnStream(const StreamInfo& stream) override { Fact(&ReportSink::OnStream, stream); }
  void OnMappings(std::span<const Mapping> mappings) override {
    Fact(&ReportSink::OnMappings, std::vector<Mapping>(mappings.begin(), mappings.end()));
  }
  void OnKernelSymbols(std::span<const KernelSymbol> symbols) override {
    Fact(&ReportSink::OnKernelSymbols, std::vector<KernelSymbol>(symbols.begin(), symbols.end()));
  }
  void OnFooter(const Footer& footer) override { Fact(&ReportSink::OnFooter, footer); }

 private:
  // The tape with room for one more call.
  SinkTape& Tape() {
    if (tape_->size() >= kTapeCalls) Pass();
    return *tape_;
  }
  void Pass();
  template <typename Method, typename... Arguments>
  void Graph(Method method, Arguments... arguments) {
    Tape().OnOther([=](GraphSink& graph, ReportSink&) { (graph.*method)(arguments...); });
  }
  template <typename Method, typename... Arguments>
  void Fact(Method method, Arguments... arguments) {
    Tape().OnOther([=](GraphSink&, ReportSink& facts) { (facts.*method)(arguments...); });
  }

  // A tape is about half a megabyte: large enough that handing it over costs nothing beside it,
  // small enough for the caches.
  static constexpr size_t kTapeCalls = 4096;
  static constexpr size_t kMaxFull = 4;

  // Of the thread that tells:
  const StringTable& strings_;
  StringId next_text_;
  std::unique_ptr<SinkTape> tape_;
  // Of both:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<SinkTape>> full_;
  std::vector<std::unique_ptr<SinkTape>> free_;
  bool closed_ = false;
};

}  // namespace cprof

#endif  // CPROF_REPORT_SINK_QUEUE_H_
