// demo_check TRUTH GRAPH: holds what a recording of the demo says against what the server measured.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>

#include "tests/causality/score/graph_text.h"

namespace {

using cprof::causality::Graph;
using cprof::causality::GraphNode;
using cprof::causality::GraphState;

struct Measured {
  std::string kind;
  uint64_t wall_ns = 0;
  uint64_t waited_ns = 0;
};

bool ReadTruth(const char* path, std::unordered_map<uint64_t, Measured>* truth) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return false;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string id, kind, begin_ns, end_ns, waited_ns;
    std::getline(fields, id, ',');
    std::getline(fields, kind, ',');
    std::getline(fields, begin_ns, ',');
    std::getline(fields, end_ns, ',');
    if (!std::getline(fields, waited_ns, ',')) return false;
    (*truth)[std::stoull(id)] = {kind, std::stoull(end_ns) - std::stoull(begin_ns),
                                 std::stoull(waited_ns)};
  }
  return !truth->empty();
}

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// Within one part in `parts`.
bool IsNear(uint64_t reported, uint64_t measured, uint64_t parts) {
  const uint64_t off = reported > measured ? reported - measured : measured - reported;
  return off * parts <= measured;
}

struct Sums {
  uint64_t requests = 0, off = 0, uneven = 0;
  uint64_t wall_ns = 0, measured_ns = 0, waited_ns = 0, resource_ns = 0, unknown_ns = 0;
};

Sums Compare(const Graph& graph, const std::unordered_map<uint64_t, Measured>& truth) {
  std::unordered_map<uint64_t, uint64_t> states, resource, unknown;
  for (const GraphState& state : graph.states) {
    const uint64_t span_ns = state.to_ns - state.from_ns;
    states[state.request] += span_ns;
    if (state.state == "resource") resource[state.request] += span_ns;
    if (state.state == "unknown") unknown[state.request] += span_ns;
  }
  Sums sums;
  for (const auto& [id, node] : graph.nodes) {
    // Requests that began before the recording have no states and no sure wall.
    if (node.kind != "request" || !node.end_seen || !states.contains(id)) continue;
    const auto measured = truth.find(node.handle);
    if (measured == truth.end()) continue;
    const uint64_t wall_ns = node.died_ns - node.born_ns;
    ++sums.requests;
    if (!IsNear(wall_ns, measured->second.wall_ns, 100)) ++sums.off;
    if (states[id] != wall_ns) ++sums.uneven;
    sums.wall_ns += wall_ns;
    sums.measured_ns += measured->second.wall_ns;
    sums.waited_ns += measured->second.waited_ns;
    sums.resource_ns += resource[id];
    sums.unknown_ns += unknown[id];
  }
  return sums;
}

}  // namespace

int main(int argc, char** argv) {
  std::unordered_map<uint64_t, Measured> truth;
  if (argc != 3 || !ReadTruth(argv[1], &truth)) {
    std::fputs("usage: demo_check TRUTH GRAPH\n", stderr);
    return 2;
  }
  std::ifstream file(argv[2]);
  const auto graph = cprof::causality::ReadGraphText(file);
  if (!graph) {
    std::fprintf(stderr, "demo_check: error: %s\n", graph.error().message.c_str());
    return 2;
  }
  const Sums sums = Compare(*graph, truth);
  std::printf("requests measured %zu, compared %llu\n", truth.size(),
              static_cast<unsigned long long>(sums.requests));
  std::printf("wall: %.3f ms, measured %.3f ms; off by more than 1 %%: %llu requests\n",
              static_cast<double>(sums.wall_ns) / 1e6, static_cast<double>(sums.measured_ns) / 1e6,
              static_cast<unsigned long long>(sums.off));
  std::printf("waited for a shard: %.3f ms, measured %.3f ms; unknown %.2f %% of the wall\n",
              static_cast<double>(sums.resource_ns) / 1e6,
              static_cast<double>(sums.waited_ns) / 1e6, Percent(sums.unknown_ns, sums.wall_ns));
  int failures = 0;
  const auto demand = [&failures](bool holds, const char* what) {
    if (holds) return;
    std::printf("FAILED: %s\n", what);
    ++failures;
  };
  demand(sums.requests * 2 > truth.size(), "at least half of the requests are in the recording");
  demand(IsNear(sums.wall_ns, sums.measured_ns, 100), "walls are within 1 % in sum");
  // A preemption between the two clocks of one request is nobody's error.
  demand(sums.off * 100 <= sums.requests, "99 % of the walls are within 1 % each");
  demand(sums.uneven == 0, "states add up to the wall");
  demand(IsNear(sums.resource_ns, sums.waited_ns, 10), "waiting for shards is within 10 %");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
