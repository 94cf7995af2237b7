// The graph text of cprof-causality(7) as plain values. The scorer knows a profiler by this alone.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_GRAPH_TEXT_H_
#define CPROF_TESTS_CAUSALITY_SCORE_GRAPH_TEXT_H_

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/result.h"

namespace cprof::causality {

// All times are absolute CLOCK_MONOTONIC, t0 added.
struct GraphNode {
  std::string kind;
  uint64_t born_ns = 0;
  uint64_t died_ns = 0;   // 0: alive at the end
  bool end_seen = false;  // died_ns is its end, not where sight of it was lost
  uint32_t tid = 0;       // thread
  std::string comm;       // thread
  uint64_t handle = 0;    // request, runtime_task, resource: the application's id
  std::string name;
};

struct GraphEdge {
  std::string type;
  uint64_t src = 0, dst = 0;
  uint64_t src_time_ns = 0, dst_time_ns = 0;
  std::string src_event, dst_event;
  uint64_t src_thread = 0, dst_thread = 0;
  std::string source, confidence, rule;
};

struct GraphOrphan {
  std::string type, half, event, reason, proof;
  uint64_t node = 0, thread = 0, time_ns = 0;
};

struct GraphBinding {
  uint64_t thread = 0, node = 0, from_ns = 0, to_ns = 0;
  std::string source, confidence;
};

struct GraphOwner {
  uint64_t node = 0, from_ns = 0, to_ns = 0;
  std::vector<uint64_t> requests;
  std::string source, confidence;
};

struct GraphState {
  uint64_t request = 0, from_ns = 0, to_ns = 0;
  std::string state;
};

struct GraphCost {
  uint64_t request = 0;
  std::string kind;
  double value = 0, low = 0, high = 0;
  bool has_interval = false;
};

struct GraphBreak {
  std::string stream;
  uint64_t from_ns = 0, to_ns = 0;
  uint64_t lost_count = 0;
  std::string reason;
};

struct Graph {
  std::unordered_map<uint64_t, GraphNode> nodes;
  std::vector<GraphEdge> edges;
  std::vector<GraphOrphan> orphans;
  std::vector<GraphBinding> bindings;
  std::vector<GraphOwner> owners;
  std::vector<GraphState> states;
  std::vector<GraphCost> costs;
  std::vector<GraphBreak> breaks;
  std::map<std::string, uint64_t> summary;  // the numbers of the summary line
  uint64_t t0_ns = 0;
  bool has_summary = false;

  // Null for an id no node line has.
  const GraphNode* Find(uint64_t id) const;
  // The tid of a thread node; 0 for anything else.
  uint32_t TidOf(uint64_t id) const;
};

// How sure a line says it is: "inferred" for what only an optional rule of that source claims, else
// its confidence.
const std::string& ClassOf(const std::string& source, const std::string& confidence);

// Lines of unknown "t" are passed over (they may be of a later version); a line that is not JSON,
// or lacks what its kind must have, is refused with its number.
Result<Graph> ReadGraphText(std::istream& input);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_GRAPH_TEXT_H_
