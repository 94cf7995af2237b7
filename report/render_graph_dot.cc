// The graph for graphviz.
#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "report/escape.h"
#include "report/node_table.h"
#include "report/number.h"
#include "report/render_graph.h"

namespace cprof {
namespace {

constexpr size_t kMaxKeptEdges = 1 << 20;  // of the time of one request

std::string_view ShapeOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kRequest: return "doubleoctagon";
    case NodeKind::kThread: return "box";
    case NodeKind::kResource: return "cylinder";
    case NodeKind::kInterrupt: return "diamond";
    default: return "ellipse";
  }
}

std::string_view StyleOf(Confidence confidence) {
  switch (confidence) {
    case Confidence::kObserved: return "solid";
    case Confidence::kReconstructed: return "dashed";
    case Confidence::kUnknown: break;
  }
  return "dotted";
}

class GraphDot : public GraphRenderer {
 public:
  GraphDot(std::optional<Key> request, const StringTable& strings, TextOutput& out)
      : request_(request), strings_(strings), out_(out) {
    out_.text() += "digraph cprof {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n";
  }

  void OnHeader(const SessionHeader& header) override { t0_ns_ = header.t0_ns; }

  void OnNode(const Node& node) override {
    if (!request_) return;
    if (node.kind == NodeKind::kRequest && node.key == *request_) {
      open_requests_.insert(node.id);
      ours_.insert(node.id);
    }
    if (!open_requests_.empty() || node.kind == NodeKind::kThread) Keep(node);
  }

  void OnNodeEnd(const Node& node) override {
    if (!request_) {
      WriteNode(node);
      return;
    }
    if (nodes_.contains(node.id)) Keep(node);
  }

  void OnEdge(const Edge& edge) override {
    if (!request_) {
      WriteEdge(edge);
      return;
    }
    if (open_requests_.empty()) return;
    if (edges_.size() >= kMaxKeptEdges) {
      edges_.pop_front();
      cut_ = true;
    }
    edges_.push_back(edge);
  }

  void OnOwner(const Owner& owner) override {
    if (!request_) return;
    for (const NodeId request : owner.requests) {
      if (ours_.contains(request)) owned_.insert(owner.node);
    }
  }

  void OnBinding(const Binding& binding) override {
    if (request_ && ours_.contains(binding.node)) bindings_.push_back(binding);
  }

  void OnState(const StateSpan& span) override {
    if (!request_ || !ours_.contains(span.request)) return;
    if (span.edge != 0) path_.insert(span.edge);
    if (span.node != 0) owned_.insert(span.node);
    if (span.cause != 0) owned_.insert(span.cause);
  }

  void OnRequestEnd(const RequestEnd& end) override { open_requests_.erase(end.request); }

  bool Finish(const ReadSummary&) override {
    if (request_) WriteRequest();
    out_.text() += "}\n";
    out_.Drain();
    return !request_ || !ours_.empty();
  }

 private:
  struct Kept {
    Label label;
    uint32_t tid = 0;
    uint32_t generation = 0;
    Key key;
  };

  static Kept KeptOf(const Node& node) {
    return {LabelOf(node), node.attributes.thread.tid, node.generation, node.key};
  }

  void Keep(const Node& node) { nodes_[node.id] = KeptOf(node); }

  void WriteNode(const Node& node) { WriteNode(node.id, KeptOf(node), false); }

  void WriteNode(NodeId id, const Kept& node, bool ours) {
    std::string label;
    AppendLabel(node.label, strings_, &label);
    if (node.label.kind == NodeKind::kThread) {
      label += '/';
      AppendUnsigned(node.tid, &label);
    } else if (node.label.kind == NodeKind::kRequest) {
      label += ' ';
      AppendKey(node.key, &label);
    }
    std::string& text = out_.text();
    text += "  n";
    AppendUnsigned(id, &text);
    text += " [shape=";
    text += ShapeOf(node.label.kind);
    if (ours) text += ", penwidth=2";
    text += ", label=";
    AppendDotString(label, &text);
    text += "];\n";
    out_.Drain();
  }

  // Edges that ended a wait of the request are drawn thick.
  void WriteEdge(const Edge& edge) {
    std::string& text = out_.text();
    text += "  n";
    AppendUnsigned(edge.src, &text);
    text += " -> n";
    AppendUnsigned(edge.dst, &text);
    text += " [style=";
    text += StyleOf(edge.confidence);
    if (path_.contains(edge.id)) text += ", penwidth=3";
    text += ", label=\"";
    text += EdgeTypeName(edge.type);
    text += ' ';
    AppendSeconds(RelativeTo(t0_ns_, edge.dst_time_ns), &text);
    text += "\"];\n";
    out_.Drain();
  }

  bool IsOurs(NodeId id) const { return ours_.contains(id) || owned_.contains(id); }

  // An edge belongs to the request where the walk went along it, or both its ends do.
  void WriteRequest() {
    std::set<NodeId> shown(ours_.begin(), ours_.end());
    std::vector<const Edge*> edges;
    for (const Edge& edge : edges_) {
      if (!path_.contains(edge.id) && !(IsOurs(edge.src) && IsOurs(edge.dst))) continue;
      edges.push_back(&edge);
      shown.insert(edge.src);
      shown.insert(edge.dst);
    }
    for (const Binding& binding : bindings_) shown.insert(binding.thread);
    for (const NodeId id : shown) {
      const auto found = nodes_.find(id);
      WriteNode(id, found == nodes_.end() ? Kept{} : found->second, ours_.contains(id));
    }
    for (const Edge* edge : edges) WriteEdge(*edge);
    for (const Binding& binding : bindings_) {
      std::string& text = out_.text();
      text += "  n";
      AppendUnsigned(binding.node, &text);
      text += " -> n";
      AppendUnsigned(binding.thread, &text);
      text += " [style=bold, arrowhead=none, label=\"on ";
      AppendSeconds(RelativeTo(t0_ns_, binding.from_ns), &text);
      text += "\"];\n";
      out_.Drain();
    }
    if (cut_) out_.text() += "  // the oldest edges are left out: more than are kept\n";
  }

  const std::optional<Key> request_;
  const StringTable& strings_;
  TextOutput& out_;
  uint64_t t0_ns_ = 0;
  std::set<NodeId> open_requests_;
  std::set<NodeId> ours_;  // requests with the id
  std::unordered_set<NodeId> owned_;
  std::unordered_set<EdgeId> path_;
  std::unordered_map<NodeId, Kept> nodes_;
  std::deque<Edge> edges_;
  std::vector<Binding> bindings_;
  bool cut_ = false;
};

}  // namespace

std::unique_ptr<GraphRenderer> MakeGraphDotRenderer(std::optional<Key> request,
                                                    const StringTable& strings, TextOutput& out) {
  return std::make_unique<GraphDot>(request, strings, out);
}

}  // namespace cprof
