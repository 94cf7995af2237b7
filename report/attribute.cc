// Pass "attribute": follows the graph, and settles each request once everything up to its end is
// final: wall states, costs, and its end.
//
// States follow the end of a request by one round mark. Its CPU time follows when the scheduler's
// account of every thread that worked for it has been read again, about a second at most for a
// thread that runs; a thread that sleeps from then on keeps it until the end.
#include "report/attribute.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "report/cpu_cost.h"
#include "report/ownership.h"
#include "report/sliding_vector.h"
#include "report/strand.h"
#include "report/wall.h"

namespace cprof {
namespace {

// Requests that wait for the next reading of a CPU time. Beyond it the oldest get an estimate.
constexpr size_t kMaxWaitingCosts = 1 << 16;
// Lists that keep their memory for the next requests.
constexpr size_t kMaxSpareLists = 1 << 12;

class AttributePass : public GraphSink {
 public:
  explicit AttributePass(GraphSink& next)
      : next_(next), graph_(next), strands_(graph_), wall_(graph_) {}

  void OnNode(const Node& node) override;
  void OnNodeEnd(const Node& node) override;
  void OnThreadName(NodeId thread, const std::array<char, 16>& comm) override {
    next_.OnThreadName(thread, comm);
  }
  void OnEdge(const Edge& edge) override {
    next_.OnEdge(edge);
    graph_.AddEdge(edge);
  }
  void OnOrphan(const Orphan& orphan) override { next_.OnOrphan(orphan); }
  void OnBreak(BreakId id, const Break& lost) override { next_.OnBreak(id, lost); }
  void OnThreadSlice(const ThreadSlice& slice) override {
    next_.OnThreadSlice(slice);
    graph_.AddSlice(slice);
    cpu_.AddSlice(slice);
  }
  void OnBinding(const Binding& binding) override { next_.OnBinding(binding); }
  void OnBindingStack(NodeId thread, uint64_t time_ns,
                      std::span<const OpenBinding> stack) override {
    next_.OnBindingStack(thread, time_ns, stack);
    graph_.SetStack(thread, time_ns, stack);
  }
  void OnOwner(const Owner& owner) override { next_.OnOwner(owner); }
  void OnState(const StateSpan& span) override { next_.OnState(span); }
  void OnCost(const Cost& cost) override { next_.OnCost(cost); }
  void OnRequestEnd(const RequestEnd& end) override { next_.OnRequestEnd(end); }
  void OnThreadExit(NodeId thread, uint64_t time_ns) override {
    next_.OnThreadExit(thread, time_ns);
    graph_.ExitThread(thread, time_ns);
  }
  void OnThreadRuntime(NodeId thread, uint64_t time_ns, uint64_t runtime_ns) override {
    next_.OnThreadRuntime(thread, time_ns, runtime_ns);
    cpu_.AddRuntime(thread, time_ns, runtime_ns);
  }
  void OnSample(NodeId node, NodeId thread, const StackSample& sample) override {
    next_.OnSample(node, thread, sample);
  }
  void OnFinal(uint64_t final_ns) override;
  void OnSummary(const GraphSummary& summary) override;

 private:
  // A request that is settled but for its CPU time.
  struct Waiting {
    RequestEnd end;
    uint64_t strand_ns = 0;
    uint64_t resource_wait_ns = 0;
    std::vector<CpuCost::Use> uses;
    size_t ready = 0;  // of uses, from the first on
  };
  void SettleEnded();
  void Settle(NodeId request);
  void TellCosts(bool all);
  bool IsReady(Waiting& waiting) const;
  void Tell(Waiting& waiting);

  GraphSink& next_;
  Ownership graph_;
  StrandCollector strands_;
  WallPartition wall_;
  CpuCost cpu_;
  SlidingVector<Waiting> waiting_;                      // by settlement
  std::vector<std::vector<CpuCost::Use>> spare_lists_;  // with memory for the next
  uint64_t final_ns_ = 0;
};

// How long the request, with all its tasks, waited for resources; waits that overlap count once
// each.
uint64_t ResourceWaitNs(const RequestHistory& request) {
  uint64_t sum_ns = 0;
  for (const ResourceWait& wait : request.waits) {
    const uint64_t from_ns = std::max(wait.wanted_ns, request.begin_ns);
    const uint64_t to_ns = std::min(wait.got_ns, request.end_ns);
    if (from_ns < to_ns) sum_ns += to_ns - from_ns;
  }
  return sum_ns;
}

void AttributePass::OnNode(const Node& node) {
  next_.OnNode(node);
  if (node.kind == NodeKind::kRequest && graph_.open_count() >= kMaxOpenRequests) {
    graph_.GiveUp(graph_.OldestOpen(), node.born_ns);
  }
  graph_.AddNode(node);
}

void AttributePass::OnNodeEnd(const Node& node) {
  graph_.EndNode(node);
  if (node.kind == NodeKind::kThread) cpu_.EndThread(node.id);
  next_.OnNodeEnd(node);
}

void AttributePass::OnFinal(uint64_t final_ns) {
  final_ns_ = std::max(final_ns_, final_ns);
  SettleEnded();
  TellCosts(false);
  cpu_.Prune(graph_.Prune(final_ns_));
  next_.OnFinal(final_ns);
}

void AttributePass::SettleEnded() {
  for (NodeId request : graph_.TakeEnded()) Settle(request);
}

void AttributePass::Settle(NodeId request) {
  const RequestHistory* history = graph_.FindRequest(request);
  if (history == nullptr) return;
  const std::vector<Activity>& activities = strands_.Activities(request);
  for (const StateSpan& span : wall_.Of(request, activities)) next_.OnState(span);

  Waiting waiting;
  waiting.end = {request, history->ended, history->begun, history->begin_ns, history->end_ns};
  waiting.resource_wait_ns = ResourceWaitNs(*history);
  const std::vector<OwnPiece>& pieces = strands_.OwnPieces(request, activities);
  for (const OwnPiece& piece : pieces) waiting.strand_ns += piece.to_ns - piece.from_ns;
  for (const Activity& activity : activities) {
    if (activity.strand.kind != Strand::Kind::kIo) continue;
    waiting.strand_ns += activity.to_ns - activity.from_ns;
  }
  if (!spare_lists_.empty()) {
    waiting.uses.swap(spare_lists_.back());
    spare_lists_.pop_back();
  }
  cpu_.Measure(graph_, pieces, &waiting.uses);
  waiting_.push_back(std::move(waiting));
  graph_.Settle(request);
}

void AttributePass::Tell(Waiting& waiting) {
  const NodeId request = waiting.end.request;
  next_.OnCost(cpu_.Divide(request, waiting.uses));
  const auto tell = [this, request](const char* kind, uint64_t value_ns) {
    next_.OnCost({request, kind, value_ns, value_ns, value_ns});
  };
  tell("strand_ns", waiting.strand_ns);
  if (waiting.resource_wait_ns != 0) tell("resource_wait_ns", waiting.resource_wait_ns);
  next_.OnRequestEnd(waiting.end);
  if (spare_lists_.size() < kMaxSpareLists) spare_lists_.push_back(std::move(waiting.uses));
}

bool AttributePass::IsReady(Waiting& waiting) const {
  while (waiting.ready < waiting.uses.size() && cpu_.IsReady(waiting.uses[waiting.ready])) {
    ++waiting.ready;
  }
  return waiting.ready == waiting.uses.size();
}

// In the order in which they were settled, but for those that cannot be told yet.
void AttributePass::TellCosts(bool all) {
  const size_t bound = all ? 0 : kMaxWaitingCosts;
  for (; waiting_.size() > bound; waiting_.pop_front()) Tell(waiting_.front());
  size_t kept = 0;
  for (Waiting& waiting : waiting_) {
    if (IsReady(waiting)) {
      Tell(waiting);
      continue;
    }
    Waiting& place = waiting_[kept++];
    if (&place != &waiting) place = std::move(waiting);
  }
  while (waiting_.size() > kept) waiting_.pop_back();
}

void AttributePass::OnSummary(const GraphSummary& summary) {
  SettleEnded();
  for (NodeId request : graph_.Open()) graph_.GiveUp(request, final_ns_);
  SettleEnded();
  TellCosts(true);
  graph_.Finish(final_ns_);
  next_.OnSummary(summary);
}

}  // namespace

std::unique_ptr<GraphSink> MakeAttributePass(GraphSink& next) {
  return std::make_unique<AttributePass>(next);
}

}  // namespace cprof
