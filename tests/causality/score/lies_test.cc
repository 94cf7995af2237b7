// A profiler that lies loses the points that its lie is worth, and no others.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "tests/causality/score/metrics.h"
#include "tests/causality/score/score.h"
#include "tests/causality/score/score_cases.h"

namespace cprof::causality {
namespace {

constexpr uint64_t kRequests = 20;
constexpr uint64_t kSlotNs = 10000;
constexpr uint64_t kLostCompletion = 7;       // its event was lost
constexpr uint64_t kAmbiguousCompletion = 8;  // it could have been of another
constexpr uint32_t kSilentTid = 102;

// One after another: a request begins, its operation is submitted, a worker is woken and works for
// it, the operation completes, the request ends. Thread 102 does something else all the time.
std::vector<OracleRecord> Story() {
  std::vector<OracleRecord> truth = {
      Record(Truth::kWatched, kWorkerTid, 0, 0, 0, 0, 0, kRequests * kSlotNs),
      Record(Truth::kWaits, kWorkerTid, 0, 0, 0, 0, 0, kRequests * kSlotNs),
      Record(Truth::kDomain, kSilentTid, 0, 0, 0, 0, 0, kRequests * kSlotNs)};
  const auto add = [&truth](const OracleRecord& record, uint64_t inner_from, uint64_t inner_to,
                            uint32_t kind, uint64_t value) {
    truth.push_back(record);
    truth.back().inner_from_ns = inner_from == 0 ? 0 : kT0Ns + inner_from;
    truth.back().inner_to_ns = inner_to == 0 ? 0 : kT0Ns + inner_to;
    truth.back().kind = kind;
    truth.back().value = value;
  };
  for (uint64_t i = 0; i < kRequests; ++i) {
    const uint64_t at = i * kSlotNs, id = 100 + i;
    add(Record(Truth::kRequestBegin, kTid, 0, 0, id, 0, at + 400, at + 600), 0, 0, 0, 5);
    add(Record(Truth::kRequestEnd, kTid, 0, 0, id, 0, at + 8900, at + 9100), 0, 0, 0, 5);
    add(Record(Truth::kSubmit, kTid, i, 0, 200 + i, id, at + 1000, at + 1100), 0, 0, 0, 0);
    add(Record(Truth::kComplete, kTid, i, 0, 200 + i, 0, at + 900, at + 8500), 0, 0, 0, 0);
    add(Record(Truth::kEdge, kTid, 0, 0, 0, 0, at + 2000, at + 3000), at + 2100, at + 1500,
        static_cast<uint32_t>(EdgeKind::kWake), kWorkerTid);
    add(Record(Truth::kWork, kWorkerTid, 0, 0, 0, id, at + 3000, at + 7000), at + 3100, at + 6900,
        0, 0);
    add(Record(Truth::kState, kTid, 0, 0, 0, id, at + 400, at + 4000), at + 600, at + 4000,
        static_cast<uint32_t>(WallState::kRunning), 0);
    add(Record(Truth::kState, kTid, 0, 0, 0, id, at + 4000, at + 9100), at + 4000, at + 8900,
        static_cast<uint32_t>(WallState::kIo), 0);
    add(Record(Truth::kCost, kTid, 0, 0, 0, id, at + 400, at + 9100), 0, 0,
        static_cast<uint32_t>(CostKind::kCpuNs), 3500);
  }
  return truth;
}

enum class Lie {
  kNone,
  kGuessesOwners,
  kDoubtsEverything,
  kOneGiantBreak,
  kInfiniteIntervals,
  kSaysItTwice,
  kNoOrphans,
  kShiftsTimes,
  kInventsForSilence,
  kDropsInSilence,
  kExplainsNothing,
  kHidesLosses,
  kWrongStates,
  kSurelyWrongCost,
  kSwapsCompletions,
};

// One request as the graph tells it, and the lie where it is told.
void Draw(uint64_t i, Lie lie, GraphLines* lines) {
  const uint64_t at = i * kSlotNs;
  const uint64_t request = 1000 + i, io = 2000 + i;
  const uint64_t shift = lie == Lie::kShiftsTimes ? 5000 : 0;
  const char* confidence = lie == Lie::kDoubtsEverything ? "reconstructed" : "observed";
  lines->Node(request, "request", at + 500, at + 9000, 5);
  lines->Node(io, "io_request", at + 1050, at + 8000);
  lines->Owner(io, std::to_string(request).c_str(), at + 1050, at + 8000, confidence);
  lines->Edge("submit", 1, io, at + 1050 + shift, 1, confidence);
  if (i == kLostCompletion) {
    if (lie != Lie::kNoOrphans) {
      lines->Orphan("submit", "hand_out", io, at + 1050 + shift, 1,
                    lie == Lie::kExplainsNothing ? "unexplained" : "in_coverage_break");
    }
  } else if (i == kAmbiguousCompletion) {
    if (lie != Lie::kNoOrphans) {
      lines->Orphan("complete", "take_up", 0, at + 8000 + shift, 1, "ambiguous");
    }
  } else if (lie != Lie::kDropsInSilence || i % 2 == 0) {
    // Completions of 2 and 3 are told as each other's.
    const bool is_swapped = lie == Lie::kSwapsCompletions && (i == 2 || i == 3);
    lines->Between("complete", is_swapped ? 2000 + (i == 2 ? 3 : 2) : io, at + 1050 + shift, 1,
                   at + 8000 + shift, 1, 1, confidence);
  }
  lines->Between("wake", 1, at + 2050 + shift, 2, at + 2500 + shift, 1, 2, confidence);
  // Until the next wake it works for whom it was woken for, it says.
  if (lie == Lie::kGuessesOwners) {
    lines->Binding(2, request, at + 3050, at + kSlotNs + 3000, confidence);
  } else {
    lines->Binding(2, request, at + 3050, at + 6950, confidence);
  }
  lines->State(request, "running", at + 500, at + 4000);
  lines->State(request, lie == Lie::kWrongStates ? "timer" : "io", at + 4000, at + 9000);
  if (lie == Lie::kInfiniteIntervals) {
    lines->Cost(request, "cpu_ns", 3500, "null", "null");
  } else if (lie == Lie::kSurelyWrongCost) {
    lines->Cost(request, "cpu_ns", 7000, "6900", "7100");
  } else {
    lines->Cost(request, "cpu_ns", 3500, "3400", "3600");
  }
  lines->HideFromAccounts();
  if (lie == Lie::kSaysItTwice) {
    lines->Edge("submit", 1, io, at + 1050, 1, confidence);
    if (i != kLostCompletion && i != kAmbiguousCompletion) {
      lines->Between("complete", io, at + 1050, 1, at + 8000, 1, 1, confidence);
    }
    lines->Between("wake", 1, at + 2050, 2, at + 2500, 1, 2, confidence);
  }
  if (lie == Lie::kInventsForSilence) lines->Between("wake", 1, at + 2050, 3, at + 2600, 1, 3);
  lines->ShowInAccounts();
}

std::map<std::string, double> MetricsWith(Lie lie) {
  GraphLines lines;
  lines.Thread(3, kSilentTid);
  for (uint64_t i = 0; i < kRequests; ++i) Draw(i, lie, &lines);
  const uint64_t lost_at = kLostCompletion * kSlotNs + 7500;
  if (lie == Lie::kOneGiantBreak) {
    lines.Break("edge.cpu0", 0, kRequests * kSlotNs, 1);
  } else {
    lines.Break("edge.cpu0", lost_at, lost_at + 1000, lie == Lie::kHidesLosses ? 0 : 1);
  }
  Losses losses;
  losses.count = 1;
  losses.lossy_ns = 1000;
  losses.cpus = 2;
  losses.spans.Add(kT0Ns + lost_at, kT0Ns + lost_at + 1000, 0);
  ScoreOptions options;
  options.losses = &losses;
  options.is_whole = true;
  std::map<std::string, double> values;
  for (const Metric& metric : MetricsOf(Score(Story(), lines.Read(), options))) {
    if (metric.value) values[metric.name] = *metric.value;
  }
  return values;
}

// Names of the figures that differ from those of the honest profiler.
std::set<std::string> Touched(Lie lie) {
  const auto honest = MetricsWith(Lie::kNone), lying = MetricsWith(lie);
  std::set<std::string> names;
  for (const auto& [name, value] : honest) {
    const auto found = lying.find(name);
    if (found == lying.end() || found->second != value) names.insert(name);
  }
  for (const auto& [name, value] : lying) {
    if (!honest.contains(name)) names.insert(name);
  }
  return names;
}

using Names = std::set<std::string>;

TEST(Lies, HonestProfilerHasFullMarks) {
  const auto honest = MetricsWith(Lie::kNone);
  EXPECT_DOUBLE_EQ(honest.at("precision_observed"), 1);
  EXPECT_DOUBLE_EQ(honest.at("false_per_million"), 0);
  EXPECT_DOUBLE_EQ(honest.at("recall"), 58.0 / 60);
  EXPECT_DOUBLE_EQ(honest.at("missing_shown"), 1);
  EXPECT_DOUBLE_EQ(honest.at("wrong_owner"), 0);
  EXPECT_DOUBLE_EQ(honest.at("unknown_owner"), 0);
  EXPECT_DOUBLE_EQ(honest.at("sure_observed"), 1);
  EXPECT_DOUBLE_EQ(honest.at("unexplained_rate"), 0);
  EXPECT_DOUBLE_EQ(honest.at("losses_told"), 1);
  EXPECT_DOUBLE_EQ(honest.at("break_ratio"), 1);
  EXPECT_DOUBLE_EQ(honest.at("wall_error_p99"), 0);
  EXPECT_DOUBLE_EQ(honest.at("cpu_error_p99"), 0);
  EXPECT_DOUBLE_EQ(honest.at("cpu_coverage"), 1);
  EXPECT_DOUBLE_EQ(honest.at("undecided"), 0);
}

TEST(Lies, GuessedOwnersCostOwnerTimeAlone) {
  EXPECT_EQ(Touched(Lie::kGuessesOwners), (Names{"wrong_owner", "wrong_owner_observed"}));
  EXPECT_GT(MetricsWith(Lie::kGuessesOwners).at("wrong_owner"), 0.3);
}

// What is said to be reconstructed is judged as that; what is lost is that nothing was sure.
TEST(Lies, DoubtingEverythingCostsSurenessAlone) {
  EXPECT_EQ(Touched(Lie::kDoubtsEverything),
            (Names{"precision_observed", "false_per_million_observed", "precision_reconstructed",
                   "false_per_million_reconstructed", "wrong_owner_observed", "sure_observed"}));
  const auto values = MetricsWith(Lie::kDoubtsEverything);
  EXPECT_DOUBLE_EQ(values.at("sure_observed"), 0);
  EXPECT_DOUBLE_EQ(values.at("precision_reconstructed"), 1);
  EXPECT_FALSE(values.contains("precision_observed"));
}

TEST(Lies, OneGiantBreakCostsItsLengthAlone) {
  EXPECT_EQ(Touched(Lie::kOneGiantBreak), Names{"break_ratio"});
  EXPECT_DOUBLE_EQ(MetricsWith(Lie::kOneGiantBreak).at("break_ratio"), 200);
}

TEST(Lies, InfiniteIntervalsCostTheirWidthAlone) {
  EXPECT_EQ(Touched(Lie::kInfiniteIntervals), Names{"cpu_width_median"});
  EXPECT_TRUE(std::isinf(MetricsWith(Lie::kInfiniteIntervals).at("cpu_width_median")));
}

TEST(Lies, SayingItTwiceCostsPrecisionAlone) {
  EXPECT_EQ(Touched(Lie::kSaysItTwice), Names{"precision_observed"});
  EXPECT_DOUBLE_EQ(MetricsWith(Lie::kSaysItTwice).at("precision_observed"), 0.5);
}

TEST(Lies, HidingOrphansCostsWhatIsThenMissingInSilence) {
  EXPECT_EQ(Touched(Lie::kNoOrphans), (Names{"missing_shown", "orphan_rate"}));
  // The lost completion has a break to show for it, the ambiguous one has nothing.
  EXPECT_DOUBLE_EQ(MetricsWith(Lie::kNoOrphans).at("missing_shown"), 0.5);
}

TEST(Lies, ShiftedTimesCostEveryEdge) {
  EXPECT_EQ(Touched(Lie::kShiftsTimes),
            (Names{"precision_observed", "false_per_million_observed", "false_per_million",
                   "recall", "recall_visible", "recall_kept", "missing_shown", "sure_observed",
                   "undecided_owner"}));
  EXPECT_DOUBLE_EQ(MetricsWith(Lie::kShiftsTimes).at("recall"), 0);
  EXPECT_DOUBLE_EQ(MetricsWith(Lie::kShiftsTimes).at("precision_observed"), 0);
}

TEST(Lies, EdgesForSilentWorkAreFalseJoins) {
  EXPECT_EQ(Touched(Lie::kInventsForSilence),
            (Names{"precision_observed", "false_per_million_observed", "false_per_million"}));
}

TEST(Lies, DroppingInSilenceCostsRecallAndHonesty) {
  // Half-edges that are not told change the rate of orphans among those that are.
  EXPECT_EQ(Touched(Lie::kDropsInSilence),
            (Names{"recall", "recall_visible", "recall_kept", "missing_shown", "orphan_rate"}));
}

TEST(Lies, OrphanWithoutAReasonIsUnexplained) {
  EXPECT_EQ(Touched(Lie::kExplainsNothing), Names{"unexplained_rate"});
}

TEST(Lies, LossesThatAreNotToldAreMissed) {
  EXPECT_EQ(Touched(Lie::kHidesLosses), Names{"losses_told"});
  EXPECT_DOUBLE_EQ(MetricsWith(Lie::kHidesLosses).at("losses_told"), 0);
}

TEST(Lies, WrongStatesCostTheWallAlone) {
  EXPECT_EQ(Touched(Lie::kWrongStates), (Names{"wall_error_median", "wall_error_p99"}));
}

TEST(Lies, CostThatIsSurelyWrongDoesNotCover) {
  EXPECT_EQ(Touched(Lie::kSurelyWrongCost),
            (Names{"cpu_error_median", "cpu_error_p99", "cpu_coverage"}));
}

TEST(Lies, SwappedCompletionsAreFalseJoinsAndMissing) {
  EXPECT_EQ(Touched(Lie::kSwapsCompletions),
            (Names{"precision_observed", "false_per_million_observed", "false_per_million",
                   "recall", "recall_visible", "recall_kept", "missing_shown"}));
}

}  // namespace
}  // namespace cprof::causality
