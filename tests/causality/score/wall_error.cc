// Errors of what requests are said to have spent: see wall_error.h.
#include "tests/causality/score/wall_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace cprof::causality {
namespace {

constexpr size_t kStates = static_cast<size_t>(WallState::kInChild) + 1;  // 0: unknown

struct Range {
  double low = 0, high = 0;
  bool is_given = false;

  // How far a value is off; 0 inside.
  double Miss(double value) const { return std::max({0.0, low - value, value - high}); }
  double middle() const { return (low + high) / 2; }
};

struct True {
  std::array<Range, kStates> states;
  std::vector<std::pair<uint64_t, uint64_t>> spans;  // in which the state is known, or one of a few
  Range cpu, resource, run_delay;
  bool has_states = false;
};

struct Reported {
  std::array<double, kStates> states = {};
  const GraphCost* cpu = nullptr;
  const GraphCost* resource = nullptr;
};

// The report tells two kinds of queue and two of resource apart, the truth does not.
size_t StateOf(const std::string& name) {
  static const std::map<std::string, WallState> kStatesByName = {
      {"running", WallState::kRunning},       {"queued", WallState::kQueued},
      {"runtime_queued", WallState::kQueued}, {"io", WallState::kIo},
      {"timer", WallState::kTimer},           {"resource", WallState::kResource},
      {"lock", WallState::kResource},         {"blocked", WallState::kBlocked},
      {"remote", WallState::kRemote},         {"kernel_work", WallState::kKernelWork},
      {"runnable", WallState::kRunnable},     {"in_child", WallState::kInChild}};
  const auto found = kStatesByName.find(name);
  return found == kStatesByName.end() ? 0 : static_cast<size_t>(found->second);
}

void AddCost(const OracleRecord& record, True* truth) {
  Range* range = nullptr;
  switch (static_cast<CostKind>(record.kind)) {
    case CostKind::kCpuNs: range = &truth->cpu; break;
    case CostKind::kResourceNs: range = &truth->resource; break;
    case CostKind::kRunDelayNs: range = &truth->run_delay; break;
    default: return;
  }
  const bool is_bounded = record.inner_to_ns != 0;
  range->low += static_cast<double>(is_bounded ? record.inner_from_ns : record.value);
  range->high += static_cast<double>(is_bounded ? record.inner_to_ns : record.value);
  range->is_given = true;
}

std::unordered_map<uint64_t, True> TruthByRequest(const std::vector<OracleRecord>& records) {
  std::unordered_map<uint64_t, True> truths;
  for (const OracleRecord& record : records) {
    if (record.truth == Truth::kCost) AddCost(record, &truths[record.owner]);
    if (record.truth != Truth::kState || record.kind >= kStates) continue;
    True& truth = truths[record.owner];
    Range& range = truth.states[record.kind];
    if (record.inner_to_ns > record.inner_from_ns) {
      range.low += static_cast<double>(record.inner_to_ns - record.inner_from_ns);
    }
    range.high += static_cast<double>(record.after_ns - record.before_ns);
    range.is_given = truth.has_states = true;
    truth.spans.push_back({record.before_ns, record.after_ns});
  }
  return truths;
}

// Length of what lies in one of the spans.
double Covered(std::vector<std::pair<uint64_t, uint64_t>> spans) {
  std::sort(spans.begin(), spans.end());
  uint64_t until_ns = 0, covered_ns = 0;
  for (const auto& [from_ns, to_ns] : spans) {
    const uint64_t begin_ns = std::max(from_ns, until_ns);
    if (to_ns > begin_ns) covered_ns += to_ns - begin_ns;
    until_ns = std::max(until_ns, to_ns);
  }
  return static_cast<double>(covered_ns);
}

struct WallMiss {
  double error_ns = 0;
  double open_ns = 0;  // that the truth leaves open: the error cannot be told more finely
};

// Waiting for a CPU is no state that a program can see. Where the log does not tell it apart, it is
// part of running; where it knows how long it was, that much may be missing from other states.
WallMiss MissOf(const True& truth, const Reported& reported, double wall_ns) {
  std::array<double, kStates> states = reported.states;
  const auto running = static_cast<size_t>(WallState::kRunning);
  const auto runnable = static_cast<size_t>(WallState::kRunnable);
  double delay_ns = 0;
  if (!truth.states[runnable].is_given) {
    if (truth.run_delay.is_given) {
      delay_ns = std::min(states[runnable], truth.run_delay.high);
      states[runnable] -= delay_ns;
    } else {
      states[running] += states[runnable];
      states[runnable] = 0;
    }
  }
  double low_ns = 0, excess_ns = 0, lack_ns = 0;
  // `unknown` is no state: what it takes is missing from the others, and that is error enough.
  for (size_t i = 1; i < kStates; ++i) {
    low_ns += truth.states[i].low;
    excess_ns += std::max(0.0, states[i] - truth.states[i].high);
    lack_ns += std::max(0.0, truth.states[i].low - states[i]);
  }
  lack_ns = std::max(0.0, lack_ns - delay_ns);
  const double uncovered_ns = std::max(0.0, wall_ns - Covered(truth.spans));
  // Where the truth knows that it was one of a few states, unknown is none of them.
  const double unknown_ns = std::max(0.0, states[0] - uncovered_ns - lack_ns);
  return {std::max(0.0, excess_ns - uncovered_ns) + lack_ns + unknown_ns,
          std::max(0.0, wall_ns - low_ns)};
}

void AddAmount(const Range& truth, double value, const GraphCost* cost, QuantityScore* score) {
  if (!truth.is_given || truth.high <= 0) return;
  const double scale = std::max(truth.middle(), 1.0);
  score->errors.push_back(truth.Miss(value) / scale);
  if (cost == nullptr || !cost->has_interval) return;
  ++score->intervals;
  if (cost->low <= truth.high && cost->high >= truth.low) ++score->covering;
  score->widths.push_back((cost->high - cost->low) / scale);
}

void AddMissing(const True& truth, Scores* scores) {
  const auto add = [](QuantityScore* score) {
    ++score->unreported;
    score->errors.push_back(1);
  };
  if (truth.has_states) add(&scores->wall);
  if (truth.cpu.is_given && truth.cpu.high > 0) add(&scores->cpu);
  if (truth.resource.is_given && truth.resource.high > 0) add(&scores->resource);
}

std::unordered_map<uint64_t, Reported> ReportByNode(const Graph& graph) {
  std::unordered_map<uint64_t, Reported> reports;
  for (const GraphState& state : graph.states) {
    reports[state.request].states[StateOf(state.state)] +=
        static_cast<double>(state.to_ns - state.from_ns);
  }
  for (const GraphCost& cost : graph.costs) {
    Reported& report = reports[cost.request];
    if (cost.kind == "cpu_ns") report.cpu = &cost;
    if (cost.kind == "resource_wait_ns") report.resource = &cost;
  }
  return reports;
}

// The workload's own clock around the request, and whether the states are a partition of it.
void CheckWall(const Lives::Life& life, const GraphNode& node, uint64_t states_ns, Scores* scores) {
  ++scores->requests_matched;
  const uint64_t wall_ns = node.died_ns - node.born_ns;
  const uint64_t longest_ns = life.end_after_ns - life.begin_before_ns;
  const uint64_t shortest_ns =
      life.end_before_ns - std::min(life.end_before_ns, life.begin_after_ns);
  const bool is_off =
      wall_ns > longest_ns + longest_ns / 100 || wall_ns + shortest_ns / 100 < shortest_ns;
  if (is_off) ++scores->requests_off;
  scores->wall_ns += wall_ns;
  if (states_ns != wall_ns) ++scores->states_not_adding;
}

}  // namespace

void ScoreRequests(const RequestTruth& truth, Scores* scores) {
  std::unordered_map<uint64_t, uint64_t> states_ns;
  std::unordered_map<uint64_t, std::map<std::string, uint64_t>> states_by_name;
  for (const GraphState& state : truth.graph.states) {
    states_ns[state.request] += state.to_ns - state.from_ns;
    states_by_name[state.request][state.state] += state.to_ns - state.from_ns;
  }
  std::unordered_map<uint64_t, uint64_t> node_of_request;
  for (const auto& [node_id, request] : truth.request_of_node) {
    const Lives::Life* life = truth.lives.Of(request);
    const GraphNode& node = *truth.graph.Find(node_id);
    if (life == nullptr || life->end_after_ns == 0 || !node.end_seen) continue;
    node_of_request[request] = node_id;
    CheckWall(*life, node, states_ns[node_id], scores);
    for (const auto& [state, time_ns] : states_by_name[node_id]) {
      scores->state_ns[state] += time_ns;
    }
  }
  const auto reports = ReportByNode(truth.graph);
  const auto truths = TruthByRequest(truth.records);
  // A graph that shows no time at all is asked for everything.
  const bool has_window = truth.window.from_ns <= truth.window.to_ns;
  for (const OracleRecord& record : truth.records) {
    if (record.truth != Truth::kRequestEnd) continue;
    const Lives::Life* life = truth.lives.Of(record.operation);
    if (has_window && life != nullptr &&
        (life->begin_before_ns < truth.window.from_ns ||
         life->end_after_ns > truth.window.to_ns)) {
      continue;
    }
    ++scores->requests;
    const auto spent = truths.find(record.operation);
    if (spent == truths.end()) continue;
    const auto node = node_of_request.find(record.operation);
    const auto report = node == node_of_request.end() ? reports.end() : reports.find(node->second);
    if (report == reports.end()) {
      AddMissing(spent->second, scores);
      continue;
    }
    const double wall_ns = static_cast<double>(life->end_after_ns + life->end_before_ns -
                                               life->begin_after_ns - life->begin_before_ns) /
                           2;
    if (spent->second.has_states && wall_ns > 0) {
      const WallMiss miss = MissOf(spent->second, report->second, wall_ns);
      scores->wall.errors.push_back(miss.error_ns / wall_ns);
      scores->wall_open.push_back(miss.open_ns / wall_ns);
    }
    const GraphCost* cpu = report->second.cpu;
    AddAmount(spent->second.cpu, cpu == nullptr ? 0 : cpu->value, cpu, &scores->cpu);
    const GraphCost* resource = report->second.resource;
    const double waited_ns = resource != nullptr
                                 ? resource->value
                                 : report->second.states[static_cast<size_t>(WallState::kResource)];
    AddAmount(spent->second.resource, waited_ns, resource, &scores->resource);
  }
}

}  // namespace cprof::causality
