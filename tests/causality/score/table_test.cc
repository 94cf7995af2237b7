// The table says of each aim whether it was met, by whom it was missed, and what was not measured.
#include "tests/causality/score/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/causality/score/score_text.h"

namespace cprof::causality {
namespace {

using Outcome = Aim::Outcome;

// A run in which all went well: `count` edges, all of them true and observed.
Scores GoodScores(uint64_t count) {
  Scores scores;
  scores.edges["observed"] = {count, count, 0, 0, 0, 0};
  TruthScore& truth = scores.truths["wake"];
  truth.inside = truth.found = truth.visible = truth.visible_found = count;
  truth.kept = truth.kept_found = truth.sure = truth.sure_observed = count;
  scores.half_edges = count;
  scores.threads.attributed_ns = scores.threads.attributed_by["observed"] = 1000;
  scores.wall.errors = {0.001, 0.002, 0.003};
  scores.wall_open = {0.01};
  scores.cpu.errors = {0};
  scores.cpu.intervals = scores.cpu.covering = 100;
  scores.cpu.widths = {0.1};
  return scores;
}

// Through the scorer's own JSON, as in life.
TableRow RowOf(const Scores& scores, std::map<std::string, std::string> labels) {
  labels.insert({{"mechanism", "ring"}, {"fault", "plain"}, {"tool", "cprof"}});
  std::stringstream text(*ScoresAsJson({scores}, labels, R"({"bytes":500,"edges":100})"));
  auto row = ReadTableRow(text);
  EXPECT_TRUE(row.has_value() && row->has_value());
  return row.has_value() ? row->value_or(TableRow()) : TableRow();
}

Aim AimOf(const std::vector<TableRow>& rows, const std::string& name, bool is_lossy = false,
          bool is_quick = false) {
  for (const Aim& aim : JudgeAims(rows, "cprof", is_quick)) {
    if (aim.name == name && aim.is_lossy == is_lossy) return aim;
  }
  ADD_FAILURE() << "no aim " << name;
  return {};
}

TEST(Table, RowComesBackFromTheScorersJson) {
  const TableRow row = RowOf(GoodScores(1000), {{"loss", "10% burst"}, {"attributes", "reused"}});
  EXPECT_EQ(row.mechanism, "ring");
  EXPECT_DOUBLE_EQ(row.loss_share.value_or(0), 0.1);
  EXPECT_TRUE(row.is_reused);
  EXPECT_EQ(row.truths.kept_found, 1000u);
  EXPECT_EQ(row.attributed_observed_ns, 1000u);
  EXPECT_DOUBLE_EQ(row.Of("wall_error_median").value_or(0), 0.002);
  EXPECT_EQ(row.Of("precision_inferred"), std::nullopt);
  EXPECT_DOUBLE_EQ(row.overhead.at("bytes"), 500);
}

TEST(Table, FileWithoutLabelsIsRefused) {
  std::stringstream no_labels(*ScoresAsJson({GoodScores(1)}, {}, "")), no_json("{");
  EXPECT_FALSE(ReadTableRow(no_labels).has_value());
  EXPECT_FALSE(ReadTableRow(no_json).has_value());
  std::stringstream no_scores(R"({"workloads":{}})");
  const auto other = ReadTableRow(no_scores);
  ASSERT_TRUE(other.has_value());
  EXPECT_FALSE(other->has_value());
}

TEST(Table, GoodRunsMeetEveryAimTheyMeasure) {
  const std::vector<TableRow> rows = {RowOf(GoodScores(10000000), {})};
  for (const Aim& aim : JudgeAims(rows, "cprof", false)) {
    EXPECT_EQ(aim.outcome, aim.is_lossy ? Outcome::kNotMeasured : Outcome::kMet) << aim.name;
  }
}

TEST(Table, NoFalseJoinInTooFewEdgesProvesLittle) {
  const std::vector<TableRow> rows = {RowOf(GoodScores(200000), {})};
  EXPECT_EQ(AimOf(rows, "false joins among observed").outcome, Outcome::kTooFew);
  EXPECT_EQ(AimOf(rows, "false joins among observed", false, true).outcome, Outcome::kMet);
}

TEST(Table, OneFalseJoinMissesTheAimAndNamesTheRow) {
  Scores bad = GoodScores(10000000);
  bad.edges["observed"].wrong = 1;
  const Aim aim = AimOf({RowOf(bad, {{"fault", "steal"}})}, "false joins among observed");
  EXPECT_EQ(aim.outcome, Outcome::kMissed);
  EXPECT_EQ(aim.missed_by, std::vector<std::string>{"ring steal: 1"});
}

TEST(Table, EachAimIsMissedByItsOwnFault) {
  const std::map<std::string, void (*)(Scores*)> faults = {
      {"recall of what the hooks can see",
       [](Scores* scores) { scores->truths["wake"].visible_found -= 2; }},
      {"wrong-owner time among observed",
       [](Scores* scores) { scores->threads.wrong_by["observed"] = 2; }},
      {"orphans unexplained", [](Scores* scores) { scores->unexplained = 1; }},
      {"missing edges with an orphan or break to show",
       [](Scores* scores) { scores->truths["wake"].missing = 1; }},
      {"wall-time error, median", [](Scores* scores) { scores->wall.errors = {0.02}; }},
      {"reported intervals that hold the truth", [](Scores* scores) { scores->cpu.covering = 90; }},
      {"untouched joins that need no rule are observed",
       [](Scores* scores) { scores->truths["wake"].sure_observed -= 11; }},
      {"truth that is undecided", [](Scores* scores) { scores->truths["wake"].undecided = 2; }},
      {"precision of reconstructed",
       [](Scores* scores) { scores->edges["reconstructed"] = {100, 99, 1, 0, 0, 0}; }},
  };
  for (const auto& [name, put] : faults) {
    Scores bad = GoodScores(1000);
    put(&bad);
    for (const Aim& aim : JudgeAims({RowOf(bad, {})}, "cprof", false)) {
      if (aim.is_lossy || aim.outcome == Outcome::kTooFew) continue;
      EXPECT_EQ(aim.outcome, aim.name == name ? Outcome::kMissed : Outcome::kMet)
          << aim.name << " with " << name;
    }
  }
}

TEST(Table, MechanismWithoutAnAdapterCountsOnlyForWhatIsFalse) {
  Scores bad = GoodScores(1000);
  bad.has_adapter = false;
  bad.truths["wake"].visible_found = 0;
  bad.edges["observed"].wrong = 1;
  const TableRow row = RowOf(bad, {});
  EXPECT_EQ(AimOf({row}, "recall of what the hooks can see").outcome, Outcome::kNotMeasured);
  EXPECT_EQ(AimOf({row}, "false joins among observed").outcome, Outcome::kMissed);
  const auto markdown = TableAsMarkdown({row}, {}, {"T", {}, ""});
  ASSERT_TRUE(markdown.has_value());
  EXPECT_NE(markdown->find("no adapter"), std::string::npos);
}

TEST(Table, MoreThanTenPercentLossIsNotAimedAt) {
  Scores bad = GoodScores(1000);
  bad.edges["observed"].wrong = 1;
  EXPECT_EQ(AimOf({RowOf(bad, {{"loss", "50%"}})}, "false joins among observed", true).outcome,
            Outcome::kNotMeasured);
  EXPECT_EQ(AimOf({RowOf(bad, {{"loss", "10%"}})}, "false joins among observed", true).outcome,
            Outcome::kMissed);
}

TEST(Table, WallErrorMayGrowAsMuchAsWasLost) {
  Scores lossy = GoodScores(1000);
  const TableRow before = RowOf(GoodScores(1000), {});
  lossy.wall.errors = {0.011};
  EXPECT_EQ(
      AimOf({before, RowOf(lossy, {{"loss", "1%"}})}, "wall-time error, median", true).outcome,
      Outcome::kMet);
  lossy.wall.errors = {0.013};
  EXPECT_EQ(
      AimOf({before, RowOf(lossy, {{"loss", "1%"}})}, "wall-time error, median", true).outcome,
      Outcome::kMissed);
}

TEST(Table, JoinByUserDataThatIsReusedMayNotBeMade) {
  Scores bad = GoodScores(1000);
  bad.edges["reconstructed"] = {1, 1, 0, 0, 0, 0};
  bad.edges_by_rule["user-data-unique"] = {1, 1, 0, 0, 0, 0};
  EXPECT_EQ(AimOf({RowOf(bad, {{"loss", "1%"}})}, "precision of reconstructed", true).outcome,
            Outcome::kMet);
  EXPECT_EQ(AimOf({RowOf(bad, {{"loss", "1%"}, {"attributes", "reused"}})},
                  "precision of reconstructed", true)
                .outcome,
            Outcome::kMissed);
}

TEST(Table, SaysWhereAnOrdinaryProfileDoesAsWell) {
  const TableRow cprof = RowOf(GoodScores(1000), {});
  TableRow affine = RowOf(GoodScores(1000), {});
  affine.tool = "off_cpu_affine";
  const auto equal = TableAsMarkdown({cprof, affine}, {}, {"T", {"a note"}, ""});
  ASSERT_TRUE(equal.has_value());
  EXPECT_NE(equal->find("- ring plain: `off_cpu_affine` is as right"), std::string::npos);
  EXPECT_NE(equal->find("a note"), std::string::npos);
  affine.scores["wall_error_median"] = 0.2;
  const auto worse = TableAsMarkdown({cprof, affine}, {}, {"T", {}, ""});
  ASSERT_TRUE(worse.has_value());
  EXPECT_NE(worse->find("nowhere in this run"), std::string::npos);
}

TEST(Table, RowsAreSortedByMechanismFaultLossAndTool) {
  std::vector<TableRow> rows = {RowOf(GoodScores(1), {{"loss", "10%"}}),
                                RowOf(GoodScores(1), {{"loss", "1%"}}), RowOf(GoodScores(1), {}),
                                RowOf(GoodScores(1), {})};
  rows[2].tool = "app_trace";
  SortRows(&rows);
  EXPECT_EQ(rows[0].tool + rows[0].loss, "cprof");
  EXPECT_EQ(rows[1].tool, "app_trace");
  EXPECT_EQ(rows[2].loss, "1%");
  EXPECT_EQ(rows[3].loss, "10%");
}

TEST(Table, JsonHoldsAimsRowsAndOverhead) {
  const std::vector<TableRow> rows = {RowOf(GoodScores(1000), {})};
  const TableText text{"T", {"note"}, R"({"workloads":{"w":{"cprof":{"slow_down_cpu":1.5}}}})"};
  const auto json = nlohmann::json::parse(TableAsJson(rows, JudgeAims(rows, "cprof", true), text));
  EXPECT_EQ(json["rows"][0]["scores"]["recall"], 1.0);
  EXPECT_EQ(json["aims"][0]["outcome"], "too few edges");
  EXPECT_EQ(json["overhead"]["workloads"]["w"]["cprof"]["slow_down_cpu"], 1.5);
  const auto markdown = TableAsMarkdown(rows, {}, text);
  ASSERT_TRUE(markdown.has_value());
  EXPECT_NE(markdown->find("| w | cprof | 1.5 |"), std::string::npos);
  EXPECT_FALSE(TableAsMarkdown(rows, {}, {"T", {}, "[]"}).has_value());
}

}  // namespace
}  // namespace cprof::causality
