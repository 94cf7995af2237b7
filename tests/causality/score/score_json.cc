// Prints scores for programs. Field names are stable: causality_table and others read them.
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/causality/score/metrics.h"
#include "tests/causality/score/score_text.h"
#include "tests/causality/score/statistics.h"

namespace cprof::causality {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity.
Json Number(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return std::isnan(value) ? Json(nullptr) : Json(value);
}

Json EdgeJson(const EdgeScore& edges) {
  return {{"reported", edges.reported},   {"right", edges.right},
          {"wrong", edges.wrong},         {"duplicate", edges.duplicate},
          {"undecided", edges.undecided}, {"foreign", edges.foreign}};
}

Json TruthJson(const TruthScore& truth) {
  return {{"inside", truth.inside},
          {"found", truth.found},
          {"missing", truth.missing},
          {"undecided", truth.undecided},
          {"outside", truth.outside},
          {"missing_with_orphan", truth.with_orphan},
          {"missing_with_break", truth.with_break},
          {"missing_shown", truth.shown},
          {"visible", truth.visible},
          {"visible_found", truth.visible_found},
          {"kept", truth.kept},
          {"kept_found", truth.kept_found},
          {"sure", truth.sure},
          {"sure_observed", truth.sure_observed}};
}

Json OwnerJson(const OwnerScore& owner) {
  return {{"attributed_ns", owner.attributed_ns}, {"right_ns", owner.right_ns},
          {"wrong_ns", owner.wrong_ns},           {"unknown_ns", owner.unknown_ns},
          {"undecided_ns", owner.undecided_ns},   {"watched_ns", owner.watched_ns},
          {"attributed_by", owner.attributed_by}, {"wrong_by", owner.wrong_by}};
}

Json QuantityJson(const QuantityScore& score) {
  return {{"requests", score.errors.size()},
          {"unreported", score.unreported},
          {"intervals", score.intervals},
          {"covering", score.covering}};
}

Json MetricsJson(const std::vector<Scores>& runs, const Scores& all) {
  Json json;
  std::vector<std::vector<Metric>> by_run;
  for (const Scores& run : runs) by_run.push_back(MetricsOf(run));
  const std::vector<Metric> pooled = MetricsOf(all);
  for (size_t i = 0; i < pooled.size(); ++i) {
    Json& metric = json[pooled[i].name];
    metric["value"] = pooled[i].value ? Number(*pooled[i].value) : Json(nullptr);
    std::vector<double> values;
    for (const auto& run : by_run) {
      if (run[i].value) values.push_back(*run[i].value);
    }
    metric["runs"] = values.size();
    if (values.size() < 2) continue;
    const Interval interval = MeanInterval(values);
    metric["mean"] = Number(Mean(values));
    metric["low"] = Number(interval.low);
    metric["high"] = Number(interval.high);
  }
  return json;
}

Json BoundsJson(const EdgeScore& edges) {
  const uint64_t judged = edges.right + edges.wrong + edges.duplicate;
  const Interval bounds = ProportionInterval(edges.wrong, judged);
  return {{"count", edges.wrong},
          {"judged", judged},
          {"per_million_low", bounds.low * 1e6},
          {"per_million_high", bounds.high * 1e6}};
}

}  // namespace

Result<std::string> ScoresAsJson(const std::vector<Scores>& runs,
                                 const std::map<std::string, std::string>& labels,
                                 const std::string& overhead) {
  Scores all = runs.front();
  for (size_t i = 1; i < runs.size(); ++i) all.Add(runs[i]);
  Json json;
  json["schema"] = "cprof-causality-score/1";
  json["labels"] = labels;
  json["runs"] = all.runs;
  json["adapter"] = all.has_adapter;
  json["scores"] = MetricsJson(runs, all);
  for (const auto& [confidence, edges] : all.edges) {
    json["edges"][confidence] = EdgeJson(edges);
    json["false_joins"][confidence] = BoundsJson(edges);
  }
  for (const auto& [type, edges] : all.edges_by_type) json["edges_by_type"][type] = EdgeJson(edges);
  for (const auto& [rule, edges] : all.edges_by_rule) json["edges_by_rule"][rule] = EdgeJson(edges);
  for (const auto& [type, truth] : all.truths) json["true_edges"][type] = TruthJson(truth);
  json["true_edges"]["all"] = TruthJson(all.AllTruths());
  json["outside_domain"] = all.outside_domain;
  json["silent_operations"] = all.silent_operations;
  json["half_edges"] = all.half_edges;
  json["orphans"] = all.orphans;
  json["orphans_by_reason"] = all.orphans_by_reason;
  json["orphans_without_proof"] = all.orphans_without_proof;
  json["unexplained"] = all.unexplained;
  json["accounts_off"] = all.accounts_off;
  json["breaks"] = {{"count", all.breaks},
                    {"lost_reported", all.lost_reported},
                    {"break_cpu_ns", all.break_cpu_ns},
                    {"lost_truly", all.lost_truly},
                    {"lossy_cpu_ns", all.lossy_cpu_ns},
                    {"runs_with_losses", all.runs_with_losses}};
  json["owner_threads"] = OwnerJson(all.threads);
  json["owner_operations"] = OwnerJson(all.operations_owner);
  json["requests"] = {{"truth", all.requests},
                      {"matched", all.requests_matched},
                      {"off_by_1_percent", all.requests_off},
                      {"states_not_adding", all.states_not_adding},
                      {"wall_ns", all.wall_ns}};
  json["state_ns"] = all.state_ns;
  json["wall"] = QuantityJson(all.wall);
  json["cpu"] = QuantityJson(all.cpu);
  json["resource"] = QuantityJson(all.resource);
  if (!overhead.empty()) {
    json["overhead"] = Json::parse(overhead, nullptr, false);
    if (!json["overhead"].is_object()) return Error{"the overhead is no JSON object", ""};
  }
  return json.dump(2) + "\n";
}

}  // namespace cprof::causality
