// The results: one row a mechanism, fault, loss and tool, read back from the JSON of the scorer.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_TABLE_H_
#define CPROF_TESTS_CAUSALITY_SCORE_TABLE_H_

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "format/result.h"
#include "tests/causality/score/score.h"
#include "tests/causality/score/statistics.h"

namespace cprof::causality {

struct TableRow {
  std::string mechanism, fault, tool;
  // Label `loss`: "" for none, "real", or the share that was injected, with words after it: "1%",
  // "10% burst".
  std::string loss;
  std::optional<double> loss_share;  // of a loss that was injected
  // Label `attributes`: "reused" where the workload reuses all that could confirm a join.
  bool is_reused = false;
  bool has_adapter = true;
  uint64_t runs = 0;
  std::map<std::string, std::optional<double>> scores;
  std::map<std::string, Interval> spreads;  // of those that several runs have
  std::map<std::string, EdgeScore> edges, edges_by_rule;
  TruthScore truths;
  uint64_t half_edges = 0, orphans = 0, unexplained = 0;
  uint64_t attributed_observed_ns = 0, wrong_observed_ns = 0;
  uint64_t lost_reported = 0, lost_truly = 0;
  std::map<std::string, double> overhead;  // numbers of the runner's

  std::optional<double> Of(const std::string& score) const;
};

// One JSON object of the scorer's. Refused without the labels mechanism, fault and tool. Nothing
// for JSON that is something else.
Result<std::optional<TableRow>> ReadTableRow(std::istream& input);

// An aim of BENCHMARK, lossless or under injected loss, and what the rows of one tool say of it.
struct Aim {
  std::string name;
  bool is_lossy = false;
  std::string aimed, measured;
  enum class Outcome { kMet, kMissed, kTooFew, kNotMeasured } outcome = Outcome::kNotMeasured;
  std::vector<std::string> missed_by;  // rows
};
std::string_view OutcomeName(Aim::Outcome outcome);

// TOOL_beside is the tool in one run with all others; it counts as well.
// is_quick: a hundredth of the edges is enough. Of mechanisms without an adapter only what is false
// counts. For real losses and for more than 10 % nothing is aimed at.
std::vector<Aim> JudgeAims(const std::vector<TableRow>& rows, const std::string& tool,
                           bool is_quick);

struct TableText {
  std::string title;
  std::vector<std::string> notes;  // machine, kernel, and the like
  std::string overhead;            // JSON of overhead.py, "" for none
};
Result<std::string> TableAsMarkdown(const std::vector<TableRow>& rows, const std::vector<Aim>& aims,
                                    const TableText& text);
std::string TableAsJson(const std::vector<TableRow>& rows, const std::vector<Aim>& aims,
                        const TableText& text);

// In the order of the table.
void SortRows(std::vector<TableRow>* rows);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_TABLE_H_
