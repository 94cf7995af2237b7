// A small graph told by hand to the attribute pass, and what the pass says about it.
#ifndef CPROF_TESTS_UNIT_ATTRIBUTE_GRAPH_H_
#define CPROF_TESTS_UNIT_ATTRIBUTE_GRAPH_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "report/attribute.h"
#include "report/binding.h"

namespace cprof {

// Keeps everything it is told.
class Told : public GraphSink {
 public:
  void OnBinding(const Binding& binding) override { bindings.push_back(binding); }
  void OnOwner(const Owner& owner) override { owners.push_back(owner); }
  void OnState(const StateSpan& span) override { spans.push_back(span); }
  void OnCost(const Cost& cost) override { costs.push_back(cost); }
  void OnRequestEnd(const RequestEnd& end) override { ends.push_back(end); }

  std::vector<Binding> bindings;
  std::vector<Owner> owners;
  std::vector<StateSpan> spans;
  std::vector<Cost> costs;
  std::vector<RequestEnd> ends;
};

inline constexpr Key kRing{0, 0x9000};
inline constexpr uint8_t kOpWrite = 23;
inline constexpr uint8_t kOpRecv = 27;

class TinyGraph {
 public:
  TinyGraph() : pass_(MakeAttributePass(told)), bindings(*pass_) {}

  NodeId Thread() { return Add(NodeKind::kThread, 0, 0); }
  NodeId Request(uint64_t begin_ns, NodeId thread = 0) {
    return Add(NodeKind::kRequest, begin_ns, thread);
  }
  NodeId Task(uint64_t born_ns, NodeId thread = 0) {
    return Add(NodeKind::kRuntimeTask, born_ns, thread);
  }
  NodeId Resource() { return Add(NodeKind::kResource, 0, 0); }
  NodeId Io(uint64_t submit_ns, NodeId thread, uint8_t opcode = kOpWrite) {
    Node node;
    node.kind = NodeKind::kIoRequest;
    node.born_ns = submit_ns;
    node.attributes.opcode = opcode;
    node.attributes.ring = kRing;
    const NodeId io = Add(node);
    submits_[io] = submit_ns;
    KernelEdge(EdgeType::kSubmit, thread, io, submit_ns, submit_ns, thread);
    return io;
  }
  void Complete(NodeId io, NodeId thread, uint64_t time_ns) {
    KernelEdge(EdgeType::kComplete, io, thread, submits_.at(io), time_ns, thread);
    End(io, time_ns);
  }
  void End(NodeId node, uint64_t time_ns, NodeId thread = 0, NodeEnd end = NodeEnd::kObserved) {
    bindings.EndNode(node, time_ns);
    Node& life = nodes_.at(node);
    life.died_ns = time_ns;
    life.end = end;
    life.death_thread = thread;
    pass_->OnNodeEnd(life);
  }

  void Enter(NodeId thread, NodeId node, uint64_t time_ns) {
    bindings.Enter(thread, node, time_ns, Source::kApplication);
  }
  void Leave(NodeId thread, NodeId node, uint64_t time_ns) {
    bindings.Leave(thread, node, time_ns);
  }
  void Slice(NodeId thread, ThreadState state, uint64_t from_ns, uint64_t to_ns) {
    ThreadSlice slice;
    slice.thread = thread;
    slice.state = state;
    slice.from_ns = from_ns;
    slice.to_ns = to_ns;
    Slice(slice);
  }
  // Slices are told when they close, which is after most of what happens in them: at the next
  // Final.
  void Slice(const ThreadSlice& slice) { slices_.push_back(slice); }
  void TellSlices() {
    for (const ThreadSlice& slice : slices_) pass_->OnThreadSlice(slice);
    slices_.clear();
  }
  void Runs(NodeId thread, uint64_t from_ns, uint64_t to_ns) {
    Slice(thread, ThreadState::kRunning, from_ns, to_ns);
  }
  void Waits(NodeId thread, uint64_t from_ns, uint64_t to_ns) {
    Slice(thread, ThreadState::kRunnable, from_ns, to_ns);
  }
  void Blocks(NodeId thread, uint64_t from_ns, uint64_t to_ns, NodeId waker,
              ThreadSlice::Wait wait = ThreadSlice::Wait::kNone) {
    ThreadSlice slice;
    slice.thread = thread;
    slice.state = ThreadState::kBlocked;
    slice.from_ns = from_ns;
    slice.to_ns = to_ns;
    slice.wait = wait;
    if (wait == ThreadSlice::Wait::kIoUring) slice.wait_object = kRing;
    if (waker != 0) {
      slice.wake = KernelEdge(EdgeType::kWake, waker, thread, to_ns, to_ns, waker);
      slice.waker = waker;
    }
    Slice(slice);
  }
  EdgeId AppEdge(EdgeType type, NodeId src, NodeId dst, uint64_t time_ns, NodeId thread,
                 uint64_t src_time_ns = 0, uint64_t wanted_ns = 0) {
    Edge edge;
    edge.id = ++last_edge_;
    edge.type = type;
    edge.src = src;
    edge.dst = dst;
    edge.src_time_ns = src_time_ns == 0 ? time_ns : src_time_ns;
    edge.dst_time_ns = time_ns;
    edge.src_thread = edge.dst_thread = thread;
    edge.source = Source::kApplication;
    edge.wanted_ns = wanted_ns;
    pass_->OnEdge(edge);
    return edge.id;
  }
  EdgeId KernelEdge(EdgeType type, NodeId src, NodeId dst, uint64_t src_time_ns,
                    uint64_t dst_time_ns, NodeId thread, const char* rule = nullptr) {
    Edge edge;
    edge.id = ++last_edge_;
    edge.type = type;
    edge.src = src;
    edge.dst = dst;
    edge.src_time_ns = src_time_ns;
    edge.dst_time_ns = dst_time_ns;
    edge.src_thread = edge.dst_thread = thread;
    edge.rule = rule;
    pass_->OnEdge(edge);
    return edge.id;
  }
  void Runtime(NodeId thread, uint64_t time_ns, uint64_t runtime_ns) {
    pass_->OnThreadRuntime(thread, time_ns, runtime_ns);
  }
  void Final(uint64_t final_ns) {
    TellSlices();
    pass_->OnFinal(final_ns);
  }
  // The end of the recording.
  void Finish(uint64_t end_ns = 1000) {
    Final(end_ns);
    pass_->OnSummary({});
  }

  // "running 10-20, queued 20-25": the states of a request.
  std::string States(NodeId request) const {
    std::string text;
    uint64_t last_ns = 0;
    for (const StateSpan& span : told.spans) {
      if (span.request != request) continue;
      if (!text.empty()) {
        text += ", ";
        EXPECT_EQ(span.from_ns, last_ns);
      }
      last_ns = span.to_ns;
      text += std::string(WallStateName(span.state)) + " " + std::to_string(span.from_ns) + "-" +
              std::to_string(span.to_ns);
    }
    return text;
  }
  const StateSpan* Find(NodeId request, WallState state) const {
    for (const StateSpan& span : told.spans) {
      if (span.request == request && span.state == state) return &span;
    }
    return nullptr;
  }
  // "7: 3 4 10-20": who owned a node.
  std::string Owners(NodeId node) const {
    std::string text;
    for (const Owner& owner : told.owners) {
      if (owner.node != node) continue;
      if (!text.empty()) text += ", ";
      for (NodeId request : owner.requests) text += "r" + std::to_string(request) + " ";
      text += std::to_string(owner.from_ns) + "-" + std::to_string(owner.to_ns);
    }
    return text;
  }
  const Cost* FindCost(NodeId request, const std::string& kind) const {
    for (const Cost& cost : told.costs) {
      if (cost.request == request && cost.kind == kind) return &cost;
    }
    return nullptr;
  }

  Told told;

 private:
  NodeId Add(NodeKind kind, uint64_t born_ns, NodeId thread) {
    Node node;
    node.kind = kind;
    node.born_ns = born_ns;
    node.birth_thread = thread;
    return Add(node);
  }
  NodeId Add(Node node) {
    node.id = ++last_node_;
    node.birth_seen = true;
    nodes_[node.id] = node;
    pass_->OnNode(node);
    return node.id;
  }

  std::unique_ptr<GraphSink> pass_;
  std::map<NodeId, Node> nodes_;
  std::map<NodeId, uint64_t> submits_;
  std::vector<ThreadSlice> slices_;
  NodeId last_node_ = 0;
  EdgeId last_edge_ = 0;

 public:
  BindingTable bindings;
};

}  // namespace cprof

#endif  // CPROF_TESTS_UNIT_ATTRIBUTE_GRAPH_H_
