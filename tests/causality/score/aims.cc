// Holds the rows of one tool against what is aimed at.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tests/causality/score/table.h"

namespace cprof::causality {
namespace {

using Rows = std::vector<const TableRow*>;
using Outcome = Aim::Outcome;

constexpr double kMostLoss = 0.10;  // beyond it nothing is aimed at
constexpr double kSlack = 1e-9;     // of shares that went through text

std::string NameOf(const TableRow& row) {
  std::string name = row.mechanism + " " + row.fault;
  if (row.tool.ends_with("_beside")) name += " beside other tools";
  return row.loss.empty() ? name : name + " " + row.loss;
}

std::string Percent(double share) { return fmt::format("{:.4g} %", 100 * share); }

EdgeScore EdgesOf(const TableRow& row, const std::string& confidence) {
  const auto found = row.edges.find(confidence);
  return found == row.edges.end() ? EdgeScore() : found->second;
}

// What one row says: part of whole, and whether that is good enough.
struct Part {
  double part = 0, whole = 0;
};

// Pools what the rows say; each row with anything to say must reach `least` (or stay below `most`).
Aim PoolShares(const char* name, const Rows& rows, const std::function<Part(const TableRow&)>& part,
               double least, double most) {
  Aim aim;
  aim.name = name;
  Part all;
  for (const TableRow* row : rows) {
    const Part one = part(*row);
    if (one.whole <= 0) continue;
    all.part += one.part;
    all.whole += one.whole;
    const double share = one.part / one.whole;
    if (share < least - kSlack || share > most + kSlack) {
      aim.missed_by.push_back(NameOf(*row) + ": " + Percent(share));
    }
  }
  if (all.whole <= 0) {
    aim.measured = "nothing to measure";
    return aim;
  }
  aim.measured = Percent(all.part / all.whole);
  aim.outcome = aim.missed_by.empty() ? Outcome::kMet : Outcome::kMissed;
  return aim;
}

Part Ratio(uint64_t part, uint64_t whole) {
  return {static_cast<double>(part), static_cast<double>(whole)};
}

Aim FalseJoins(const Rows& rows, uint64_t enough) {
  Aim aim;
  aim.name = "false joins among observed";
  aim.aimed = fmt::format("0 in at least {} edges", enough);
  uint64_t wrong = 0, judged = 0;
  for (const TableRow* row : rows) {
    const EdgeScore edges = EdgesOf(*row, "observed");
    wrong += edges.wrong;
    judged += edges.right + edges.wrong + edges.duplicate;
    if (edges.wrong > 0) aim.missed_by.push_back(fmt::format("{}: {}", NameOf(*row), edges.wrong));
  }
  aim.measured = fmt::format("{} in {}, 95 %: at most {:.3g} per million", wrong, judged,
                             ProportionInterval(wrong, judged).high * 1e6);
  aim.outcome = judged == 0       ? Outcome::kNotMeasured
                : wrong > 0       ? Outcome::kMissed
                : judged < enough ? Outcome::kTooFew
                                  : Outcome::kMet;
  return aim;
}

Aim Reconstructed(const Rows& rows, double least) {
  Aim aim = PoolShares(
      "precision of reconstructed", rows,
      [](const TableRow& row) {
        const EdgeScore edges = EdgesOf(row, "reconstructed");
        return Ratio(edges.right, edges.right + edges.wrong + edges.duplicate);
      },
      least, 1);
  aim.aimed = fmt::format("{:g}", least);
  if (aim.outcome == Outcome::kNotMeasured) {
    aim.measured = "none were made";
    if (!rows.empty()) aim.outcome = Outcome::kMet;
  }
  for (const TableRow* row : rows) {
    // Nothing independent is left that could confirm such a join.
    const auto made = row->edges_by_rule.find("user-data-unique");
    if (!row->is_reused || made == row->edges_by_rule.end() || made->second.reported == 0) continue;
    aim.missed_by.push_back(fmt::format("{}: {} made where all attributes are reused", NameOf(*row),
                                        made->second.reported));
    aim.outcome = Outcome::kMissed;
  }
  return aim;
}

Aim RecallLossless(const Rows& rows) {
  Aim aim = PoolShares(
      "recall of what the hooks can see", rows,
      [](const TableRow& row) { return Ratio(row.truths.visible_found, row.truths.visible); },
      0.999, 1);
  aim.aimed = "0.999";
  return aim;
}

Aim RecallLossy(const Rows& rows) {
  Rows unique;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(unique),
               [](const TableRow* row) { return !row->is_reused; });
  Aim aim = PoolShares(
      "recall of what was kept, where an attribute is independent", unique,
      [](const TableRow& row) { return Ratio(row.truths.kept_found, row.truths.kept); }, 0.99, 1);
  aim.aimed = "0.99";
  return aim;
}

Aim WrongOwner(const Rows& rows) {
  Aim aim = PoolShares(
      "wrong-owner time among observed", rows,
      [](const TableRow& row) { return Ratio(row.wrong_observed_ns, row.attributed_observed_ns); },
      0, 0.001);
  aim.aimed = "0.1 %";
  return aim;
}

Aim Unexplained(const Rows& rows) {
  Aim aim = PoolShares(
      "orphans unexplained", rows,
      [](const TableRow& row) { return Ratio(row.unexplained, row.half_edges); }, 0, 0);
  aim.aimed = "0";
  return aim;
}

Aim Shown(const Rows& rows) {
  Aim aim = PoolShares(
      "missing edges with an orphan or break to show", rows,
      [](const TableRow& row) { return Ratio(row.truths.shown, row.truths.missing); }, 1, 1);
  aim.aimed = "100 %";
  if (aim.outcome == Outcome::kNotMeasured && !rows.empty()) {
    aim.measured = "none is missing";
    aim.outcome = Outcome::kMet;
  }
  return aim;
}

Aim Sure(const Rows& rows, double least) {
  Aim aim = PoolShares(
      "untouched joins that need no rule are observed", rows,
      [](const TableRow& row) { return Ratio(row.truths.sure_observed, row.truths.sure); }, least,
      1);
  aim.aimed = Percent(least);
  return aim;
}

Aim Undecided(const Rows& rows) {
  Aim aim = PoolShares(
      "truth that is undecided", rows,
      [](const TableRow& row) { return Ratio(row.truths.undecided, row.truths.inside); }, 0, 0.001);
  aim.aimed = "0.1 %";
  return aim;
}

Aim LossesTold(const Rows& rows) {
  Aim aim = PoolShares(
      "losses in breaks, of those injected", rows,
      [](const TableRow& row) { return Ratio(row.lost_reported, row.lost_truly); }, 1, 1);
  aim.aimed = "100 %";
  return aim;
}

Aim BreakLength(const Rows& rows) {
  Aim aim;
  aim.name = "length of breaks, of what was truly lossy";
  aim.aimed = "at most twice";
  double most = 0;
  for (const TableRow* row : rows) {
    const auto ratio = row->Of("break_ratio");
    if (!ratio) continue;
    most = std::max(most, *ratio);
    aim.outcome = Outcome::kMet;
    if (*ratio > 2) aim.missed_by.push_back(fmt::format("{}: {:.3g}", NameOf(*row), *ratio));
  }
  if (aim.outcome == Outcome::kMet) aim.measured = fmt::format("{:.3g} at most", most);
  if (!aim.missed_by.empty()) aim.outcome = Outcome::kMissed;
  return aim;
}

// Median of each row; under loss it may grow by as much as was lost.
Aim WallError(const Rows& rows, const Rows& lossless) {
  Aim aim;
  aim.name = "wall-time error, median";
  aim.aimed = "1 %";
  double worst = 0;
  for (const TableRow* row : rows) {
    const auto error = row->Of("wall_error_median");
    if (!error) continue;
    double allowed = 0.01;
    if (row->loss_share) {
      const auto same =
          std::find_if(lossless.begin(), lossless.end(), [row](const TableRow* other) {
            return other->mechanism == row->mechanism && other->fault == row->fault;
          });
      const auto before = same == lossless.end() ? std::nullopt : (*same)->Of("wall_error_median");
      if (!before) continue;
      allowed = *before + *row->loss_share;
    }
    aim.outcome = Outcome::kMet;
    worst = std::max(worst, *error);
    if (*error > allowed + kSlack) {
      aim.missed_by.push_back(NameOf(*row) + ": " + Percent(*error));
    }
  }
  if (aim.outcome == Outcome::kMet) aim.measured = Percent(worst) + " at most";
  if (!aim.missed_by.empty()) aim.outcome = Outcome::kMissed;
  return aim;
}

Aim Coverage(const Rows& rows) {
  Aim aim;
  aim.name = "reported intervals that hold the truth";
  aim.aimed = "95 %";
  double least = 1;
  for (const TableRow* row : rows) {
    for (const char* score : {"cpu_coverage", "resource_coverage"}) {
      const auto coverage = row->Of(score);
      if (!coverage) continue;
      aim.outcome = Outcome::kMet;
      least = std::min(least, *coverage);
      if (*coverage < 0.95) {
        aim.missed_by.push_back(fmt::format("{} {}: {}", NameOf(*row), score, Percent(*coverage)));
      }
    }
  }
  if (aim.outcome == Outcome::kMet) aim.measured = Percent(least) + " at least";
  if (!aim.missed_by.empty()) aim.outcome = Outcome::kMissed;
  return aim;
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kMet: return "met";
    case Outcome::kMissed: return "MISSED";
    case Outcome::kTooFew: return "too few edges";
    case Outcome::kNotMeasured: return "not measured";
  }
  return "";
}

std::vector<Aim> JudgeAims(const std::vector<TableRow>& rows, const std::string& tool,
                           bool is_quick) {
  Rows lossless, lossy, adapted, adapted_lossy;
  for (const TableRow& row : rows) {
    if (row.tool != tool && row.tool != tool + "_beside") continue;
    const bool is_lossy = row.loss_share && *row.loss_share <= kMostLoss + kSlack;
    if (row.loss.empty()) lossless.push_back(&row);
    if (is_lossy) lossy.push_back(&row);
    // What no adapter can see yet is no miss of what there is. What is false is.
    if (!row.has_adapter) continue;
    if (row.loss.empty()) adapted.push_back(&row);
    if (is_lossy) adapted_lossy.push_back(&row);
  }
  const uint64_t share = is_quick ? 100 : 1;
  std::vector<Aim> aims = {FalseJoins(lossless, 10000000 / share),
                           Reconstructed(lossless, 0.999),
                           RecallLossless(adapted),
                           WrongOwner(lossless),
                           Unexplained(lossless),
                           Shown(lossless),
                           WallError(adapted, {}),
                           Coverage(adapted),
                           Sure(lossless, 0.99),
                           Undecided(lossless)};
  std::vector<Aim> under_loss = {FalseJoins(lossy, 1000000 / share),
                                 Reconstructed(lossy, 0.99),
                                 RecallLossy(adapted_lossy),
                                 WrongOwner(lossy),
                                 Unexplained(lossy),
                                 Shown(lossy),
                                 WallError(adapted_lossy, adapted),
                                 Coverage(adapted_lossy),
                                 Sure(lossy, 1),
                                 LossesTold(lossy),
                                 BreakLength(lossy)};
  for (Aim& aim : under_loss) {
    aim.is_lossy = true;
    if (aim.name == "wall-time error, median") aim.aimed = "grows no faster than the loss";
    aims.push_back(std::move(aim));
  }
  return aims;
}

}  // namespace cprof::causality
