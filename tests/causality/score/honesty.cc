// What a graph owns up to: see honesty.h.
#include "tests/causality/score/honesty.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace cprof::causality {
namespace {

// The graph's word for edges of this type.
std::string_view GraphType(TrueType type) {
  return type == TrueType::kHandOver ? "queue" : TrueTypeName(type);
}

// Orphans by their type and the thread that executed or was to be woken, as points in time.
class OrphanIndex {
 public:
  explicit OrphanIndex(const Graph& graph) {
    for (uint32_t i = 0; i < graph.orphans.size(); ++i) {
      const GraphOrphan& orphan = graph.orphans[i];
      for (const uint64_t node : {orphan.thread, orphan.node}) {
        if (const uint32_t tid = graph.TidOf(node); tid != 0) {
          points_[orphan.type][tid].Add(orphan.time_ns, orphan.time_ns, i);
        }
      }
    }
  }
  bool Has(std::string_view type, uint32_t tid, uint64_t from_ns, uint64_t to_ns) const {
    const auto of_type = points_.find(std::string(type));
    if (of_type == points_.end()) return false;
    const auto of_tid = of_type->second.find(tid);
    return of_tid != of_type->second.end() && of_tid->second.Overlap(from_ns, to_ns);
  }

 private:
  std::map<std::string, std::unordered_map<uint32_t, Brackets>> points_;
};

Brackets BreaksOf(const Graph& graph) {
  Brackets breaks;
  for (uint32_t i = 0; i < graph.breaks.size(); ++i) {
    breaks.Add(graph.breaks[i].from_ns, graph.breaks[i].to_ns, i);
  }
  return breaks;
}

}  // namespace

void FindExcuses(const MatchInput& input, const MatchedHalves& halves, Judgement* judgement) {
  std::unordered_set<uint64_t> orphaned;  // operations with an orphan at their submit
  for (const std::vector<Half>* list : {&halves.submits, &halves.completes, &halves.hand_overs}) {
    for (const Half& half : *list) {
      if (half.verdict != Half::Verdict::kDecided || half.orphans.empty()) continue;
      if (TrueEdge* truth = judgement->TruthOf(half.record)) truth->has_orphan = true;
      if (list == &halves.submits) orphaned.insert(input.records[half.record].operation);
    }
  }
  const OrphanIndex orphans(input.graph);
  const Brackets breaks = BreaksOf(input.graph);
  for (TrueEdge& truth : judgement->truths()) {
    if (truth.status != TrueEdge::Status::kMissing) continue;
    const OracleRecord& record = input.records[truth.record];
    if (truth.type == TrueType::kComplete && orphaned.contains(record.operation)) {
      truth.has_orphan = true;
    }
    if (record.truth == Truth::kEdge) {
      const std::string_view type = GraphType(truth.type);
      truth.has_orphan |=
          orphans.Has(type, record.tid, record.before_ns, record.after_ns) ||
          orphans.Has(type, static_cast<uint32_t>(record.value), record.before_ns, record.after_ns);
    }
    truth.has_break = breaks.Overlap(truth.from_ns, truth.to_ns);
  }
}

void CountDoubts(const Graph& graph, const Losses* losses, const Judgement& judgement,
                 Scores* scores) {
  const Brackets breaks = BreaksOf(graph);
  const Brackets& lossy = losses != nullptr ? losses->spans : breaks;
  for (const TrueEdge& truth : judgement.truths()) {
    if (truth.status != TrueEdge::Status::kFound || truth.needs_rule) continue;
    const GraphEdge& edge = graph.edges[truth.edge];
    if (lossy.Overlap(std::min(edge.src_time_ns, edge.dst_time_ns),
                      std::max(edge.src_time_ns, edge.dst_time_ns))) {
      continue;
    }
    TruthScore& score = scores->truths[std::string(TrueTypeName(truth.type))];
    ++score.sure;
    if (ClassOf(edge.source, edge.confidence) == "observed") ++score.sure_observed;
  }
}

void CountAccounts(const Graph& graph, const Losses* losses, Scores* scores) {
  scores->orphans = graph.orphans.size();
  for (const GraphOrphan& orphan : graph.orphans) {
    ++scores->orphans_by_reason[orphan.reason];
    if (orphan.proof.empty() && orphan.reason != "unexplained") ++scores->orphans_without_proof;
  }
  if (const auto found = scores->orphans_by_reason.find("unexplained");
      found != scores->orphans_by_reason.end()) {
    scores->unexplained = found->second;
  }
  const auto number = [&graph](const char* name) {
    const auto found = graph.summary.find(name);
    return found == graph.summary.end() ? uint64_t{0} : found->second;
  };
  scores->half_edges = number("half_edges");
  const bool adds_up = graph.has_summary && number("orphans") == scores->orphans &&
                       number("half_edges") == number("joined") + number("orphans");
  if (!adds_up) scores->accounts_off = 1;

  scores->breaks = graph.breaks.size();
  std::map<std::string, std::vector<std::pair<uint64_t, uint64_t>>> spans;
  for (const GraphBreak& lost : graph.breaks) {
    scores->lost_reported += lost.lost_count;
    spans[lost.stream].push_back({lost.from_ns, lost.to_ns});
  }
  for (auto& [stream, list] : spans) {
    // A stream that names no CPU and no ring of a thread speaks of them all.
    const bool is_one =
        stream.find("cpu") != std::string::npos || stream.find("app") != std::string::npos;
    std::sort(list.begin(), list.end());
    uint64_t until_ns = 0, length_ns = 0;
    for (const auto& [from_ns, to_ns] : list) {
      const uint64_t begin_ns = std::max(from_ns, until_ns);
      if (to_ns > begin_ns) length_ns += to_ns - begin_ns;
      until_ns = std::max(until_ns, to_ns);
    }
    const uint32_t cpus = is_one || losses == nullptr ? 1 : losses->cpus;
    scores->break_cpu_ns += static_cast<double>(length_ns) * cpus;
  }
  if (losses == nullptr) return;
  scores->lost_truly = losses->count;
  scores->lossy_cpu_ns = losses->lossy_ns;
  scores->runs_with_losses = 1;
}

}  // namespace cprof::causality
