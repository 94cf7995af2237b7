// The figures of the results table: see metrics.h.
#include "tests/causality/score/metrics.h"

#include "tests/causality/score/statistics.h"

namespace cprof::causality {
namespace {

constexpr double kMillion = 1e6;

std::optional<double> Share(double part, double whole) {
  return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

std::optional<double> Share(uint64_t part, uint64_t whole) {
  return Share(static_cast<double>(part), static_cast<double>(whole));
}

std::optional<double> QuantileOf(const std::vector<double>& values, double share) {
  return values.empty() ? std::nullopt : std::optional(Quantile(values, share));
}

uint64_t At(const std::map<std::string, uint64_t>& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? 0 : found->second;
}

std::optional<double> PrecisionOf(const Scores& scores, const std::string& confidence) {
  const auto found = scores.edges.find(confidence);
  if (found == scores.edges.end()) return std::nullopt;
  const EdgeScore& edges = found->second;
  return Share(edges.right, edges.right + edges.wrong + edges.duplicate);
}

std::optional<double> FalsePerMillion(const Scores& scores, const std::string& confidence) {
  const auto found = scores.edges.find(confidence);
  if (found == scores.edges.end()) return std::nullopt;
  const EdgeScore& edges = found->second;
  const auto share = Share(edges.wrong, edges.right + edges.wrong + edges.duplicate);
  return share ? std::optional(*share * kMillion) : std::nullopt;
}

void AddQuantity(const char* name, const QuantityScore& score, bool has_intervals,
                 std::vector<Metric>* metrics) {
  const std::string prefix = name;
  metrics->push_back({prefix + "_error_median", QuantileOf(score.errors, 0.5)});
  metrics->push_back({prefix + "_error_p99", QuantileOf(score.errors, 0.99)});
  if (!has_intervals) return;
  metrics->push_back({prefix + "_coverage", Share(score.covering, score.intervals)});
  metrics->push_back({prefix + "_width_median", QuantileOf(score.widths, 0.5)});
}

}  // namespace

std::vector<Metric> MetricsOf(const Scores& scores) {
  const TruthScore all = scores.AllTruths();
  const OwnerScore owners = scores.AllOwners();
  std::vector<Metric> metrics;
  for (const char* confidence : {"observed", "reconstructed", "inferred"}) {
    metrics.push_back({std::string("precision_") + confidence, PrecisionOf(scores, confidence)});
    metrics.push_back(
        {std::string("false_per_million_") + confidence, FalsePerMillion(scores, confidence)});
  }
  const auto share = Share(scores.FalseJoins(), scores.Judged());
  metrics.push_back({"false_per_million", share ? std::optional(*share * kMillion) : share});
  metrics.push_back({"recall", Share(all.found, all.found + all.missing)});
  metrics.push_back({"recall_visible", Share(all.visible_found, all.visible)});
  metrics.push_back({"recall_kept", Share(all.kept_found, all.kept)});
  metrics.push_back({"undecided", Share(all.undecided, all.inside)});
  uint64_t reported = scores.Reported(), unscored = 0;
  for (const auto& [type, count] : scores.outside_domain) unscored += count;
  metrics.push_back({"unscored", Share(unscored, reported + unscored)});
  metrics.push_back({"wrong_owner", Share(owners.wrong_ns, owners.attributed_ns)});
  metrics.push_back({"wrong_owner_observed",
                     Share(At(owners.wrong_by, "observed"), At(owners.attributed_by, "observed"))});
  metrics.push_back(
      {"unknown_owner", Share(owners.unknown_ns, owners.unknown_ns + owners.right_ns)});
  metrics.push_back({"undecided_owner", Share(owners.undecided_ns, owners.watched_ns)});
  metrics.push_back({"orphan_rate", Share(scores.orphans, scores.half_edges)});
  metrics.push_back({"unexplained_rate", Share(scores.unexplained, scores.half_edges)});
  metrics.push_back({"missing_shown", Share(all.shown, all.missing)});
  metrics.push_back({"sure_observed", Share(all.sure_observed, all.sure)});
  const bool has_losses = scores.runs_with_losses > 0;
  metrics.push_back(
      {"losses_told", has_losses ? Share(scores.lost_reported, scores.lost_truly) : std::nullopt});
  metrics.push_back(
      {"break_ratio", has_losses ? Share(scores.break_cpu_ns, scores.lossy_cpu_ns) : std::nullopt});
  AddQuantity("wall", scores.wall, false, &metrics);
  metrics.push_back({"wall_open_median", QuantileOf(scores.wall_open, 0.5)});
  AddQuantity("cpu", scores.cpu, true, &metrics);
  AddQuantity("resource", scores.resource, true, &metrics);
  metrics.push_back({"wall_unknown", Share(At(scores.state_ns, "unknown"), scores.wall_ns)});
  return metrics;
}

}  // namespace cprof::causality
