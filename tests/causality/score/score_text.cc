// Prints scores for people.
#include "tests/causality/score/score_text.h"

#include <fmt/format.h>

#include "tests/causality/score/metrics.h"
#include "tests/causality/score/statistics.h"

namespace cprof::causality {
namespace {

constexpr double kNsPerMs = 1e6;

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double Ms(uint64_t time_ns) { return static_cast<double>(time_ns) / kNsPerMs; }

std::string EdgeLine(const std::string& what, const EdgeScore& edges) {
  return fmt::format("  {:<13} {:>10} {:>10} {:>8} {:>9} {:>10} {:>9} {:>10.6f}\n", what,
                     edges.reported, edges.right, edges.wrong, edges.duplicate, edges.undecided,
                     edges.foreign, edges.Precision());
}

std::string EdgesText(const Scores& scores) {
  std::string text =
      fmt::format("{:<15} {:>10} {:>10} {:>8} {:>9} {:>10} {:>9} {:>10}\n", "edges", "reported",
                  "right", "wrong", "duplicate", "undecided", "foreign", "precision");
  for (const auto& [confidence, edges] : scores.edges) text += EdgeLine(confidence, edges);
  text += "by type\n";
  for (const auto& [type, edges] : scores.edges_by_type) text += EdgeLine(type, edges);
  if (!scores.edges_by_rule.empty()) text += "by rule\n";
  for (const auto& [rule, edges] : scores.edges_by_rule) text += EdgeLine(rule, edges);
  const Interval bounds = ProportionInterval(scores.FalseJoins(), scores.Judged());
  text += fmt::format("false joins {} of {} judged edges; 95 %: at most {:.3f} per million\n",
                      scores.FalseJoins(), scores.Judged(), bounds.high * 1e6);
  for (const auto& [type, count] : scores.outside_domain) {
    text += fmt::format("not scored: {} {} edges\n", count, type);
  }
  return text;
}

std::string TruthsText(const Scores& scores) {
  std::string text =
      fmt::format("{:<15} {:>10} {:>10} {:>8} {:>8} {:>10} {:>9} {:>10}\n", "true edges", "inside",
                  "found", "missing", "shown", "undecided", "outside", "recall");
  const auto line = [&text](const std::string& what, const TruthScore& truth) {
    text += fmt::format("  {:<13} {:>10} {:>10} {:>8} {:>8} {:>10} {:>9} {:>9.4f} %\n", what,
                        truth.inside, truth.found, truth.missing, truth.shown, truth.undecided,
                        truth.outside, Percent(truth.found, truth.found + truth.missing));
  };
  for (const auto& [type, truth] : scores.truths) line(type, truth);
  const TruthScore all = scores.AllTruths();
  line("all", all);
  text += fmt::format(
      "of what hooks can see {:.4f} % ({} of {}), of those whose halves were kept {:.4f} % ({} of "
      "{}); {} operations end in silence\n",
      Percent(all.visible_found, all.visible), all.visible_found, all.visible,
      Percent(all.kept_found, all.kept), all.kept_found, all.kept, scores.silent_operations);
  text += fmt::format("joins that need no rule and that no loss touched: {}, observed {:.4f} %\n",
                      all.sure, Percent(all.sure_observed, all.sure));
  return text;
}

std::string AccountsText(const Scores& scores) {
  std::string text = fmt::format(
      "half-edges {}, orphans {} (unexplained {}, without proof {}), breaks {}, accounts {}\n",
      scores.half_edges, scores.orphans, scores.unexplained, scores.orphans_without_proof,
      scores.breaks, scores.accounts_off == 0 ? "add up" : "DO NOT ADD UP");
  for (const auto& [reason, count] : scores.orphans_by_reason) {
    text += fmt::format("  {:<22} {}\n", reason, count);
  }
  if (scores.breaks > 0 || scores.runs_with_losses > 0) {
    text += fmt::format("breaks tell of {} lost events in {:.3f} CPU ms", scores.lost_reported,
                        scores.break_cpu_ns / kNsPerMs);
    if (scores.runs_with_losses > 0) {
      text += fmt::format("; truly lost {}, in {:.3f} ms of streams", scores.lost_truly,
                          scores.lossy_cpu_ns / kNsPerMs);
    }
    text += '\n';
  }
  return text;
}

std::string OwnerLine(const char* what, const OwnerScore& owner) {
  std::string text = fmt::format(
      "  {:<22} attributed {:.3f} ms, wrong owner {:.6f} ms ({:.5f} %), unknown {:.3f} ms "
      "({:.2f} % of owned), undecided {:.3f} ms\n",
      what, Ms(owner.attributed_ns), Ms(owner.wrong_ns),
      Percent(owner.wrong_ns, owner.attributed_ns), Ms(owner.unknown_ns),
      Percent(owner.unknown_ns, owner.unknown_ns + owner.right_ns), Ms(owner.undecided_ns));
  for (const auto& [confidence, time_ns] : owner.attributed_by) {
    const auto wrong = owner.wrong_by.find(confidence);
    const uint64_t wrong_ns = wrong == owner.wrong_by.end() ? 0 : wrong->second;
    text += fmt::format("    {:<20} attributed {:.3f} ms, wrong owner {:.6f} ms ({:.5f} %)\n",
                        confidence, Ms(time_ns), Ms(wrong_ns), Percent(wrong_ns, time_ns));
  }
  return text;
}

std::string QuantityLine(const char* what, const QuantityScore& score) {
  if (score.errors.empty()) return "";
  std::string text = fmt::format(
      "  error of {:<13} median {:.3f} %, p99 {:.3f} %, of {} requests ({} not reported)\n", what,
      100 * Quantile(score.errors, 0.5), 100 * Quantile(score.errors, 0.99), score.errors.size(),
      score.unreported);
  if (score.intervals > 0) {
    text +=
        fmt::format("    intervals           {:.2f} % hold the truth, median width {:.3f} of it\n",
                    Percent(score.covering, score.intervals), Quantile(score.widths, 0.5));
  }
  return text;
}

std::string RequestsText(const Scores& scores) {
  std::string text = fmt::format(
      "requests {}: matched {}, wall off by more than 1 %: {}, states not adding up: {}\n",
      scores.requests, scores.requests_matched, scores.requests_off, scores.states_not_adding);
  for (const auto& [state, time_ns] : scores.state_ns) {
    text += fmt::format("  {:<22} {:.3f} ms ({:.2f} %)\n", state, Ms(time_ns),
                        Percent(time_ns, scores.wall_ns));
  }
  text += QuantityLine("wall states", scores.wall);
  if (!scores.wall_open.empty()) {
    text += fmt::format("    the truth leaves   median {:.3f} % of the wall open\n",
                        100 * Quantile(scores.wall_open, 0.5));
  }
  return text + QuantityLine("CPU time", scores.cpu) + QuantityLine("resources", scores.resource);
}

// The spread of each figure over the runs.
std::string SeedsText(const std::vector<Scores>& runs) {
  std::string text = fmt::format("over {} runs (mean, 95 % by Student's t)\n", runs.size());
  std::vector<std::vector<Metric>> metrics;
  for (const Scores& run : runs) metrics.push_back(MetricsOf(run));
  for (size_t i = 0; i < metrics.front().size(); ++i) {
    std::vector<double> values;
    for (const auto& run : metrics) {
      if (run[i].value) values.push_back(*run[i].value);
    }
    if (values.empty()) continue;
    const Interval interval = MeanInterval(values);
    text += fmt::format("  {:<30} {:.6f} [{:.6f}, {:.6f}]\n", metrics.front()[i].name, Mean(values),
                        interval.low, interval.high);
  }
  return text;
}

}  // namespace

std::string ScoresAsText(const std::vector<Scores>& runs) {
  Scores all = runs.front();
  for (size_t i = 1; i < runs.size(); ++i) all.Add(runs[i]);
  std::string text = EdgesText(all) + TruthsText(all) + AccountsText(all) + "owners\n" +
                     OwnerLine("threads", all.threads) +
                     OwnerLine("operations in flight", all.operations_owner) + RequestsText(all);
  if (runs.size() > 1) text += SeedsText(runs);
  return text;
}

}  // namespace cprof::causality
