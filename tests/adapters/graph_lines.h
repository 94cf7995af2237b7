// Prints what the join pass tells as short lines for people: "complete R0x10#2 -> T41 observed".
#ifndef CPROF_TESTS_ADAPTERS_GRAPH_LINES_H_
#define CPROF_TESTS_ADAPTERS_GRAPH_LINES_H_

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "format/reader.h"
#include "report/graph.h"

namespace cprof {

// Collects lines; TakeLines empties the list. Nodes are named by kind: T<tid>, R<request>,
// interrupts by their scope; #n is the generation where it is not the first.
class GraphLines : public GraphSink {
 public:
  explicit GraphLines(const StringTable& strings) : strings_(strings) {}

  void OnNode(const Node& node) override { names_[node.id] = NameOf(node); }
  void OnNodeEnd(const Node& node) override {
    std::string line = "end " + names_[node.id] + " " + std::string(NodeEndName(node.end)) +
                       " at " + std::to_string(node.died_ns);
    if (node.attributes.has_result) line += " result " + std::to_string(node.attributes.result);
    Add(line);
  }
  void OnEdge(const Edge& edge) override {
    edges.push_back(edge);
    std::string line = std::string(EdgeTypeName(edge.type)) + " " + names_[edge.src] + " -> " +
                       names_[edge.dst] + " " + std::to_string(edge.src_time_ns) + ".." +
                       std::to_string(edge.dst_time_ns) + " " +
                       std::string(ConfidenceName(edge.confidence));
    if (edge.rule != nullptr) line += std::string(" ") + edge.rule;
    for (const BreakId id : edge.breaks) line += " break:" + std::to_string(id);
    Add(line);
  }
  void OnOrphan(const Orphan& orphan) override {
    orphans.push_back(orphan);
    Add("orphan " + std::string(EdgeTypeName(orphan.type)) + " " + EventText(orphan.event) + " " +
        std::string(OrphanReasonName(orphan.reason)) + ": " + orphan.proof);
  }
  void OnThreadSlice(const ThreadSlice& slice) override {
    constexpr const char* kStates[] = {"running", "runnable", "blocked", "unknown"};
    constexpr const char* kWaits[] = {"", " on futex", " on eventfd", " on epoll", " on io_uring"};
    slices.push_back(slice);
    std::string line = "slice " + names_[slice.thread] + " " +
                       kStates[static_cast<int>(slice.state)] + " " +
                       std::to_string(slice.from_ns) + ".." + std::to_string(slice.to_ns);
    if (slice.wait != ThreadSlice::Wait::kNone) {
      line += kWaits[static_cast<int>(slice.wait)];
      line += " " + Hex(slice.wait_object.lo);
    }
    if (slice.waker != 0) line += " ended by " + names_[slice.waker];
    if (slice.own_timeout) line += ", its own timeout";
    if (slice.doubtful) line += " doubtful";
    Add(line);
  }
  void OnBinding(const Binding& binding) override {
    bindings.push_back(binding);
    Add("binding " + names_[binding.thread] + " for " +
        (binding.node == 0 ? "something" : names_[binding.node]) + " " +
        std::to_string(binding.from_ns) + ".." + std::to_string(binding.to_ns) + " " +
        std::string(ConfidenceName(binding.confidence)));
  }
  void OnThreadRuntime(NodeId thread, uint64_t, uint64_t runtime_ns) override {
    Add("runtime " + names_[thread] + " " + std::to_string(runtime_ns));
  }
  void OnSummary(const GraphSummary& told) override {
    summary = told;
    Add("summary half_edges " + std::to_string(told.half_edges) + " = joined " +
        std::to_string(told.joined) + " + orphans " + std::to_string(told.orphans) +
        ", lifecycle " + std::to_string(told.lifecycle) + ", edges " + std::to_string(told.edges));
  }

  std::vector<std::string> TakeLines() { return std::exchange(lines_, {}); }
  const std::string& NameOf(NodeId id) { return names_[id]; }

  std::vector<Edge> edges;
  std::vector<Orphan> orphans;
  std::vector<ThreadSlice> slices;
  std::vector<Binding> bindings;
  GraphSummary summary;

 private:
  static std::string Hex(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
  }
  static std::string EventText(EventRef event) {
    return std::to_string(event.stream) + "." + std::to_string(event.sequence);
  }
  std::string NameOf(const Node& node) {
    std::string name;
    switch (node.kind) {
      case NodeKind::kThread: name = "T" + std::to_string(node.key.lo); break;
      case NodeKind::kIoRequest: name = "R" + Hex(node.key.lo); break;
      case NodeKind::kInterrupt: return FormatScope(node.scope, strings_);
      default: name = std::string(NodeKindName(node.kind)) + ":" + Hex(node.key.lo); break;
    }
    if (node.generation != 1) name += "#" + std::to_string(node.generation);
    return name;
  }
  void Add(std::string line) { lines_.push_back(std::move(line)); }

  const StringTable& strings_;
  std::map<NodeId, std::string> names_;
  std::vector<std::string> lines_;
};

}  // namespace cprof

#endif  // CPROF_TESTS_ADAPTERS_GRAPH_LINES_H_
