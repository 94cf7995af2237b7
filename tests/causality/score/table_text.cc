// Prints the results: Markdown for people, JSON for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/causality/score/table.h"

namespace cprof::causality {
namespace {

using Json = nlohmann::ordered_json;

// Tools that profile by thread: what there is to lose against where a request keeps its thread.
constexpr const char* kOrdinaryTools[] = {"perf_cpu", "perf_cpu_affine", "off_cpu",
                                          "off_cpu_affine"};

// Closer than this is as right; what is off by all of it says nothing.
constexpr double kAsRight = 0.001;
constexpr double kUseless = 0.5;

std::string PercentCell(const std::optional<double>& share) {
  if (!share) return "-";
  return std::isinf(*share) ? "inf" : fmt::format("{:.4g} %", 100 * *share);
}

// With half the width of its 95 % interval over the seeds, where there are several.
std::string Cell(const TableRow& row, const char* score) {
  const auto spread = row.spreads.find(score);
  if (spread == row.spreads.end()) return PercentCell(row.Of(score));
  return fmt::format("{} ± {:.2g}", PercentCell(row.Of(score)),
                     100 * (spread->second.high - spread->second.low) / 2);
}

std::string AimsText(const std::vector<Aim>& aims) {
  std::string text;
  for (const bool is_lossy : {false, true}) {
    text += is_lossy ? "\n### Under injected loss of up to 10 %\n\n" : "### Without loss\n\n";
    text += "| aim | aimed at | measured | outcome |\n|---|---|---|---|\n";
    std::string missed;
    for (const Aim& aim : aims) {
      if (aim.is_lossy != is_lossy) continue;
      text += fmt::format("| {} | {} | {} | {} |\n", aim.name, aim.aimed, aim.measured,
                          OutcomeName(aim.outcome));
      for (const std::string& row : aim.missed_by) {
        missed += fmt::format("- {}: {}\n", aim.name, row);
      }
    }
    if (!missed.empty()) text += "\nMissed by:\n\n" + missed;
  }
  return text;
}

std::string RowText(const TableRow& row) {
  uint64_t wrong = 0, judged = 0;
  for (const auto& [confidence, edges] : row.edges) {
    wrong += edges.wrong;
    judged += edges.right + edges.wrong + edges.duplicate;
  }
  const bool lacks_adapter = row.tool.starts_with("cprof") && !row.has_adapter;
  const auto bytes = row.overhead.find("bytes");
  const auto edges = row.overhead.find("edges");
  const bool has_bytes =
      bytes != row.overhead.end() && edges != row.overhead.end() && edges->second > 0;
  return fmt::format(
      "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} / {} | {} | {} / {} | {} | {} | {} | "
      "{} "
      "|\n",
      row.fault, row.loss.empty() ? "none" : row.loss, row.tool, row.truths.inside,
      Cell(row, "precision_observed"), Cell(row, "precision_reconstructed"),
      judged == 0
          ? "-"
          : fmt::format("{} (≤ {:.3g})", wrong, ProportionInterval(wrong, judged).high * 1e6),
      Cell(row, "recall"), lacks_adapter ? "no adapter" : Cell(row, "recall_visible"),
      fmt::format("{} / {}", Cell(row, "undecided"), Cell(row, "unscored")),
      Cell(row, "wrong_owner"), Cell(row, "unknown_owner"),
      fmt::format("{} ({})", Cell(row, "orphan_rate"), row.unexplained), Cell(row, "missing_shown"),
      Cell(row, "sure_observed"),
      fmt::format("{} / {} ({})", Cell(row, "wall_error_median"), Cell(row, "wall_error_p99"),
                  Cell(row, "wall_open_median")),
      fmt::format("{} [{}; {}]", Cell(row, "cpu_error_median"), Cell(row, "cpu_coverage"),
                  Cell(row, "cpu_width_median")),
      Cell(row, "resource_error_median"),
      has_bytes ? fmt::format("{:.1f}", bytes->second / edges->second) : "-");
}

constexpr const char* kColumns[] = {"fault",
                                    "loss",
                                    "tool",
                                    "true edges",
                                    "precision",
                                    "reconstr.",
                                    "false (≤ /M)",
                                    "recall",
                                    "of visible",
                                    "undecided / unscored",
                                    "wrong / unknown owner",
                                    "orphans (unexpl.)",
                                    "shown / sure",
                                    "wall err. median / p99 (open)",
                                    "CPU err. [covers; width]",
                                    "resource err.",
                                    "bytes/edge"};

std::string RowsText(const std::vector<TableRow>& rows) {
  std::string text, mechanism;
  for (const TableRow& row : rows) {
    if (row.mechanism != mechanism) {
      mechanism = row.mechanism;
      text += fmt::format("\n### {}\n\n", mechanism);
      std::string rule;
      for (const char* column : kColumns) {
        text += fmt::format("| {} ", column);
        rule += "|---";
      }
      text += "|\n" + rule + "|\n";
    }
    text += RowText(row);
  }
  return text;
}

// The row of cprof that another tool's is held against: that of the same run, else that of the same
// workload.
const TableRow* SameOfCprof(const std::vector<TableRow>& rows, const TableRow& row) {
  const TableRow* same = nullptr;
  for (const TableRow& other : rows) {
    if (other.mechanism != row.mechanism || other.fault != row.fault || other.loss != row.loss) {
      continue;
    }
    if (other.tool == "cprof_beside") return &other;
    if (other.tool == "cprof") same = &other;
  }
  return same;
}

// Rows in which a profile by thread is as right as cprof on all that both can say.
std::string OrdinaryText(const std::vector<TableRow>& rows) {
  std::string text;
  for (const TableRow& row : rows) {
    if (std::find(std::begin(kOrdinaryTools), std::end(kOrdinaryTools), row.tool) ==
        std::end(kOrdinaryTools)) {
      continue;
    }
    const TableRow* same = SameOfCprof(rows, row);
    if (same == nullptr) continue;
    std::string told;
    bool is_worse = false, is_better = false;
    for (const char* score : {"wrong_owner", "wall_error_median", "cpu_error_median"}) {
      const auto mine = row.Of(score), its = same->Of(score);
      if (!mine || !its) continue;
      is_worse |= *mine > *its + kAsRight || *mine > kUseless;
      is_better |= *mine < *its - kAsRight;
      told += fmt::format("{}{} {} (cprof {})", told.empty() ? "" : ", ", score, PercentCell(mine),
                          PercentCell(its));
    }
    if (is_worse || told.empty()) continue;
    text += fmt::format("- {} {}{}: `{}` is {}: {}\n", row.mechanism, row.fault,
                        row.loss.empty() ? "" : " " + row.loss, row.tool,
                        is_better ? "more right" : "as right", told);
  }
  return text.empty() ? "- nowhere in this run\n" : text;
}

Result<std::string> OverheadText(const std::string& json_text) {
  const Json json = Json::parse(json_text, nullptr, false);
  if (!json.is_object() || !json.contains("workloads") || !json["workloads"].is_object()) {
    return Error{"the overhead is no JSON of overhead.py", ""};
  }
  const auto number = [](const Json& row, const char* name, double factor, const char* unit) {
    const auto found = row.find(name);
    if (found == row.end() || !found->is_number()) return std::string("-");
    return fmt::format("{:.4g}{}", found->get<double>() * factor, unit);
  };
  std::string text =
      "| workload | tool | CPU | wall | recorder CPU | bytes | bytes/edge | p50 | p99 | p99.9 | "
      "recall | wrong owner | wall err. |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& [workload, tools] : json["workloads"].items()) {
    for (const auto& [tool, row] : tools.items()) {
      const auto score = [&](const char* name) -> std::string {
        const auto told = row.find("scores");
        if (told == row.end() || !told->is_object()) return "-";
        const Json scores = told->value("scores", Json::object());
        return number(scores.value(name, Json::object()), "value", 100, " %");
      };
      text += fmt::format(
          "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", workload, tool,
          number(row, "slow_down_cpu", 1, ""), number(row, "slow_down_wall", 1, ""),
          number(row, "recorder_cpu_share", 100, " %"), number(row, "recorded_bytes", 1, ""),
          number(row, "bytes_per_edge", 1, ""), number(row, "p50_ratio", 1, ""),
          number(row, "p99_ratio", 1, ""), number(row, "p99.9_ratio", 1, ""), score("recall"),
          score("wrong_owner"), score("wall_error_median"));
    }
  }
  return text;
}

Json ScoreOf(const std::optional<double>& value) {
  if (!value) return nullptr;
  return std::isinf(*value) ? Json("inf") : Json(*value);
}

}  // namespace

Result<std::string> TableAsMarkdown(const std::vector<TableRow>& rows, const std::vector<Aim>& aims,
                                    const TableText& text) {
  std::string out = fmt::format("# {}\n\n", text.title);
  for (const std::string& note : text.notes) out += fmt::format("{}\n", note);
  out +=
      "\n## What is aimed at\n\nOf cprof. What is found, and how close walls and costs are, counts "
      "where it has an adapter; what is\nfalse counts everywhere.\n\n";
  out += AimsText(aims);
  out += "\n## Scores\n\nHow to read them: see README.md beside this file.\n" + RowsText(rows);
  out +=
      "\n## Where an ordinary profile does as well or better\n\nShares that are wrong: less is "
      "better. "
      "An ordinary profile needs less for it, as the last table tells.\n\n" +
      OrdinaryText(rows);
  if (text.overhead.empty()) return out;
  const auto overhead = OverheadText(text.overhead);
  if (!overhead) return overhead.error();
  return out + "\n## Accuracy against overhead\n\nRatios to the same run without a tool.\n\n" +
         *overhead;
}

std::string TableAsJson(const std::vector<TableRow>& rows, const std::vector<Aim>& aims,
                        const TableText& text) {
  Json json;
  json["schema"] = "cprof-causality-results/1";
  json["notes"] = text.notes;
  json["aims"] = Json::array();
  for (const Aim& aim : aims) {
    json["aims"].push_back({{"name", aim.name},
                            {"loss", aim.is_lossy},
                            {"aimed", aim.aimed},
                            {"measured", aim.measured},
                            {"outcome", OutcomeName(aim.outcome)},
                            {"missed_by", aim.missed_by}});
  }
  json["rows"] = Json::array();
  for (const TableRow& row : rows) {
    Json scores, spreads;
    for (const auto& [name, value] : row.scores) scores[name] = ScoreOf(value);
    for (const auto& [name, spread] : row.spreads) spreads[name] = {spread.low, spread.high};
    json["rows"].push_back({{"mechanism", row.mechanism},
                            {"fault", row.fault},
                            {"loss", row.loss.empty() ? "none" : row.loss},
                            {"tool", row.tool},
                            {"adapter", row.has_adapter},
                            {"runs", row.runs},
                            {"true_edges", row.truths.inside},
                            {"scores", scores},
                            {"intervals", spreads},
                            {"overhead", row.overhead}});
  }
  if (!text.overhead.empty()) json["overhead"] = Json::parse(text.overhead, nullptr, false);
  return json.dump(1) + "\n";
}

}  // namespace cprof::causality
