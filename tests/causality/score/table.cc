// Reads rows of the results back: see table.h.
#include "tests/causality/score/table.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

namespace cprof::causality {
namespace {

using Json = nlohmann::json;

uint64_t CountOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

std::optional<double> NumberOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  if (*found == "inf") return std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::map<std::string, EdgeScore> EdgesOf(const Json& json, const char* name) {
  std::map<std::string, EdgeScore> edges;
  const auto found = json.find(name);
  if (found == json.end() || !found->is_object()) return edges;
  for (const auto& [key, value] : found->items()) {
    edges[key] = {CountOf(value, "reported"),  CountOf(value, "right"),
                  CountOf(value, "wrong"),     CountOf(value, "duplicate"),
                  CountOf(value, "undecided"), CountOf(value, "foreign")};
  }
  return edges;
}

TruthScore TruthOf(const Json& json) {
  TruthScore truth;
  truth.outside = CountOf(json, "outside");
  truth.inside = CountOf(json, "inside");
  truth.found = CountOf(json, "found");
  truth.undecided = CountOf(json, "undecided");
  truth.missing = CountOf(json, "missing");
  truth.shown = CountOf(json, "missing_shown");
  truth.visible = CountOf(json, "visible");
  truth.visible_found = CountOf(json, "visible_found");
  truth.kept = CountOf(json, "kept");
  truth.kept_found = CountOf(json, "kept_found");
  truth.sure = CountOf(json, "sure");
  truth.sure_observed = CountOf(json, "sure_observed");
  return truth;
}

void ReadScores(const Json& json, TableRow* row) {
  for (const auto& [name, score] : json.items()) {
    row->scores[name] = NumberOf(score, "value");
    const auto low = NumberOf(score, "low"), high = NumberOf(score, "high");
    if (low && high) row->spreads[name] = {*low, *high};
  }
}

void ReadOwners(const Json& json, TableRow* row) {
  for (const char* part : {"owner_threads", "owner_operations"}) {
    const auto found = json.find(part);
    if (found == json.end() || !found->is_object()) continue;
    row->attributed_observed_ns +=
        CountOf(found->value("attributed_by", Json::object()), "observed");
    row->wrong_observed_ns += CountOf(found->value("wrong_by", Json::object()), "observed");
  }
}

}  // namespace

std::optional<double> TableRow::Of(const std::string& score) const {
  const auto found = scores.find(score);
  return found == scores.end() ? std::nullopt : found->second;
}

Result<std::optional<TableRow>> ReadTableRow(std::istream& input) {
  const Json json = Json::parse(input, nullptr, false);
  if (json.is_discarded()) return Error{"it is no JSON", ""};
  if (!json.is_object() || !json.contains("schema") ||
      json["schema"] != "cprof-causality-score/1") {
    return std::optional<TableRow>();
  }
  const Json labels = json.value("labels", Json::object());
  const auto label = [&labels](const char* name) {
    const auto found = labels.find(name);
    return found != labels.end() && found->is_string() ? found->get<std::string>() : "";
  };
  TableRow row;
  row.mechanism = label("mechanism");
  row.fault = label("fault");
  row.tool = label("tool");
  if (row.mechanism.empty() || row.fault.empty() || row.tool.empty()) {
    return Error{"it lacks one of the labels mechanism, fault and tool",
                 "give causality_score --label NAME=VALUE"};
  }
  row.loss = label("loss") == "none" ? "" : label("loss");
  if (const size_t percent = row.loss.find('%'); percent != std::string::npos) {
    row.loss_share = std::strtod(row.loss.c_str(), nullptr) / 100;
  }
  row.is_reused = label("attributes") == "reused";
  row.has_adapter = json.value("adapter", true);
  row.runs = CountOf(json, "runs");
  ReadScores(json.value("scores", Json::object()), &row);
  row.edges = EdgesOf(json, "edges");
  row.edges_by_rule = EdgesOf(json, "edges_by_rule");
  row.truths = TruthOf(json.value("true_edges", Json::object()).value("all", Json::object()));
  row.half_edges = CountOf(json, "half_edges");
  row.orphans = CountOf(json, "orphans");
  row.unexplained = CountOf(json, "unexplained");
  ReadOwners(json, &row);
  const Json breaks = json.value("breaks", Json::object());
  row.lost_reported = CountOf(breaks, "lost_reported");
  row.lost_truly = CountOf(breaks, "lost_truly");
  const Json overhead = json.value("overhead", Json::object());
  for (const auto& [name, value] : overhead.items()) {
    if (value.is_number()) row.overhead[name] = value.get<double>();
  }
  return std::optional(std::move(row));
}

void SortRows(std::vector<TableRow>* rows) {
  // cprof first among the tools, and no loss before loss.
  const auto key = [](const TableRow& row) {
    return std::tuple(row.mechanism, row.fault, !row.loss.empty(), row.loss_share.value_or(1),
                      row.loss, !row.tool.starts_with("cprof"), row.tool);
  };
  std::stable_sort(rows->begin(), rows->end(), [&key](const TableRow& left, const TableRow& right) {
    return key(left) < key(right);
  });
}

}  // namespace cprof::causality
