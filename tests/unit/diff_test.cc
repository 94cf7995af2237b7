// Two recordings are compared per request, the cause comes first, and noise is called noise.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "format/reader.h"
#include "format/writer.h"
#include "report/diff_tree.h"
#include "report/render_diff.h"
#include "tests/unit/shelf_story.h"

namespace cprof {
namespace {

using testing::ShelfRecording;
using testing::ShelfStory;

DiffProfile ProfileOf(const std::string& recording) {
  StringTable strings;
  const auto sink = MakeProfileSink(strings);
  const auto source = MakeStringSource(recording);
  const Result<ReadSummary> read = RunPipeline(*source, strings, {}, *sink);
  EXPECT_TRUE(read) << read.error().message;
  return sink->Finish(read ? *read : ReadSummary{});
}

// Both profiles and what is said of them.
struct Pair {
  DiffProfile a, b;
  DiffView view;

  Pair(const ShelfStory& before, const ShelfStory& after)
      : a(ProfileOf(ShelfRecording(before))), b(ProfileOf(ShelfRecording(after))) {
    view.name_a = "a.data";
    view.name_b = "b.data";
    view.a = &a;
    view.b = &b;
    view.concerns = ConcernsOf(a, b);
    view.comparison = Compare(a, b);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  const KindChange& Kind(const std::string& name) const {
    for (const KindChange& kind : view.comparison.kinds) {
      if (kind.kind == name) return kind;
    }
    ADD_FAILURE() << "no kind " << name;
    return view.comparison.kinds.front();
  }
  std::string Text() const {
    std::string text;
    AppendDiffText(view, &text);
    return text;
  }
  std::string Concerns() const {
    std::string text;
    for (const DiffConcern& concern : view.concerns) {
      text += (concern.grave ? "grave: " : "") + concern.text + "\n";
    }
    return text;
  }
};

ShelfStory Story(bool holds, int rounds = 20) {
  ShelfStory story;
  story.holds = holds;
  story.rounds = rounds;
  if (!holds) story.session = "100102030405060708090a0b0c0d0e0f";
  return story;
}

TEST(Diff, CauseStandsInTheFirstThreeLines) {
  const Pair pair(Story(true), Story(false));
  std::istringstream lines(pair.Text());
  std::string head, line;
  for (int i = 0; i < 3 && std::getline(lines, line); ++i) head += line + "\n";
  EXPECT_NE(head.find("request http/GET hot waits"), std::string::npos) << head;
  EXPECT_NE(head.find("ms less"), std::string::npos) << head;
  EXPECT_NE(head.find("for resource cache/shard-3, held by request http/GET cold while it waited "
                      "for io READ"),
            std::string::npos)
      << head;
}

TEST(Diff, ChangesOfStatesAddUpToThatOfTheMean) {
  const Pair pair(Story(true), Story(false, 30));
  ASSERT_EQ(pair.view.comparison.kinds.size(), 2u);
  for (const KindChange& kind : pair.view.comparison.kinds) {
    double sum = 0;
    for (const Change& state : kind.states) sum += state.difference.value;
    EXPECT_NEAR(sum, kind.mean.difference.value, 1) << kind.kind;
  }
}

TEST(Diff, IsPerRequestHoweverManyThereWere) {
  const Pair pair(Story(true, 20), Story(true, 60));
  const KindChange& hot = pair.Kind("http/GET hot");
  EXPECT_EQ(hot.count_a, 20u);
  EXPECT_EQ(hot.count_b, 60u);
  EXPECT_NE(hot.mean.verdict, DiffVerdict::kCertain);
  EXPECT_LT(std::abs(hot.mean.difference.value), hot.mean.a.value / 100);
}

TEST(Diff, WhatBothSamplesShareIsNoise) {
  const Pair pair(Story(true), Story(true, 23));
  for (const KindChange& kind : pair.view.comparison.kinds) {
    for (const Change* change : {&kind.mean, &kind.p50, &kind.p99, &kind.cpu}) {
      EXPECT_EQ(change->verdict, DiffVerdict::kNoise) << kind.kind;
    }
  }
  for (const CauseChange& cause : pair.view.comparison.causes) {
    EXPECT_EQ(cause.change.verdict, DiffVerdict::kNoise) << cause.words.peer;
  }
  EXPECT_NE(pair.Text().find("# cause      : nothing changed beyond"), std::string::npos);
}

TEST(Diff, OfAFewRequestsNothingIsCertain) {
  const Pair pair(Story(true), Story(false, 9));
  EXPECT_EQ(pair.Kind("http/GET hot").mean.verdict, DiffVerdict::kTooFew);
  EXPECT_LT(pair.Kind("http/GET hot").mean.difference.value, -9e6);
}

TEST(Diff, LargestCertainChangeComesFirst) {
  ShelfStory slow = Story(false);
  slow.read_us = 30'000;
  const Pair pair(Story(false), slow);
  const auto& causes = pair.view.comparison.causes;
  ASSERT_GE(causes.size(), 2u);
  EXPECT_EQ(causes.front().kind, "http/GET cold");
  EXPECT_EQ(causes.front().words.peer, "io READ");
  EXPECT_TRUE(causes.front().change.certain());
  EXPECT_NEAR(causes.front().change.difference.value, 20e6, 1e6);
  for (size_t i = 1; i < causes.size(); ++i) {
    EXPECT_GE(causes[i - 1].change.certain(), causes[i].change.certain());
    if (causes[i - 1].change.certain() == causes[i].change.certain()) {
      EXPECT_GE(std::abs(causes[i - 1].change.impact_ns), std::abs(causes[i].change.impact_ns));
    }
  }
}

TEST(Diff, DifferentAdaptersAreGrave) {
  ShelfStory less = Story(false);
  less.adapters = R"(adapter="sched" adapter="app")";
  const Pair pair(Story(true), less);
  EXPECT_EQ(pair.Concerns(), "grave: these adapters were armed only in A: futex, io_uring\n");
}

TEST(Diff, ManyLossesAreGraveAndFewAreTold) {
  ShelfStory lossy = Story(false);
  lossy.breaks =
      "!break stream=edge.cpu1 reason=ring_full from_ns=1900000000 to_ns=1901000000 total=1 "
      "signature=0x1 lost=sched:switch:1\n";
  EXPECT_EQ(Pair(Story(true), lossy).Concerns().rfind("B lost 1 events (", 0), 0u);
  lossy.breaks =
      "!break stream=edge.cpu1 reason=ring_full from_ns=1900000000 to_ns=1901000000 total=90 "
      "signature=0x1 lost=sched:switch:90\n";
  EXPECT_EQ(Pair(Story(true), lossy).Concerns().rfind("grave: B lost 90 events (", 0), 0u);
}

TEST(Diff, NothingToCompareIsGraveAndTheSameRecordingIsTold) {
  EXPECT_EQ(
      Pair(Story(true), Story(false, 0)).Concerns().rfind("grave: B holds no whole request", 0),
      0u);
  EXPECT_EQ(Pair(Story(true), Story(true)).Concerns(), "both are the same recording\n");
  EXPECT_EQ(Pair(Story(true), Story(false)).Concerns(), "");
}

// Samples say how a request's CPU time is shared out; how much there is the scheduler knows.
TEST(Diff, PathsAreJudgedByTheirSamples) {
  ShelfStory before = Story(true, 30), after = Story(true, 60);
  before.io_samples = after.io_samples = after.futex_samples = 2;
  const Pair pair(before, after);
  const double cpu_ns = pair.Kind("http/GET cold").cpu.b.value;
  std::map<std::string, const Change*> changes;
  for (const PathChange& path : pair.view.comparison.paths) {
    if (path.kind != "http/GET cold") continue;
    EXPECT_EQ(path.frames.front(), "thread worker-0");
    changes[path.frames.back()] = &path.change;
  }
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_TRUE(changes["futex_wait_[k]"]->certain());
  EXPECT_NEAR(changes["futex_wait_[k]"]->difference.value, cpu_ns / 2, cpu_ns / 100);
  EXPECT_TRUE(changes["io_read_[k]"]->certain());
  EXPECT_NEAR(changes["io_read_[k]"]->difference.value, -cpu_ns / 2, cpu_ns / 100);
  EXPECT_NE(pair.Text().find("thread worker-0;futex_wait_[k]\n"), std::string::npos);
}

TEST(Diff, OneSampleMoreIsNoise) {
  ShelfStory before = Story(true, 40), after = Story(true, 40);
  before.io_samples = after.io_samples = 1;
  after.breaks =
      "!sample 3.000000000 context.cpu0.40 42/40@900 task sample:cpu weight_ns=1000000 "
      "user_frames=0 kernel_frames=1 p=1 kernel=0x210\n";
  for (const PathChange& path : Pair(before, after).view.comparison.paths) {
    EXPECT_EQ(path.change.verdict, DiffVerdict::kNoise) << path.frames.back();
  }
}

TEST(Diff, MergedTreeStandsForAsManyRequestsOnBothSides) {
  ShelfStory before = Story(true, 30), after = Story(true, 60);
  before.io_samples = after.io_samples = 3;
  const Pair pair(before, after);
  uint64_t cpu_ns = 0;
  for (const auto& [name, kind] : pair.a.kinds) cpu_ns += kind.cpu_ns.sum;
  const RequestScale scale(pair.a, pair.b);
  const FoldTree tree = MergePerRequest(pair.a.tree, pair.b.tree, scale);
  // 45 requests of each kind.
  uint64_t amount = 0, before_amount = 0;
  for (size_t i = 0; i < tree.nodes().size(); ++i) {
    FoldTree::NodeIndex top = static_cast<FoldTree::NodeIndex>(i);
    while (tree.nodes()[top].parent != FoldTree::kRoot) top = tree.nodes()[top].parent;
    if (tree.nodes()[top].name == "[no request]") continue;
    amount += tree.nodes()[i].self.amount;
    before_amount += tree.nodes()[i].self.before;
  }
  EXPECT_NEAR(static_cast<double>(before_amount), static_cast<double>(cpu_ns) * 45 / 30, 2);
  EXPECT_NEAR(static_cast<double>(amount), static_cast<double>(before_amount), 2);
}

std::string FlameDiff(const Pair& pair, bool folded) {
  std::string text;
  const std::unique_ptr<ByteSink> sink = MakeStringSink(&text);
  TextOutput out(*sink);
  FlameOptions options;
  options.folded = folded;
  WriteFlameDiff(options, pair.a, pair.b, out);
  EXPECT_TRUE(out.Finish());
  return text;
}

TEST(Diff, FlameHasWhatIsGoneAndWhatIsNew) {
  ShelfStory before = Story(true, 30), after = Story(true, 60);
  before.io_samples = after.futex_samples = 1;
  const Pair pair(before, after);
  const uint64_t cold_ns = pair.a.kinds.at("http/GET cold").cpu_ns.sum * 45 / 30;
  const std::string folded = FlameDiff(pair, true);
  const std::string ns = std::to_string(cold_ns);
  const std::string stack = "request http/GET cold;thread worker-0;";
  EXPECT_NE(folded.find(stack + "io_read_[k] " + ns + " 0\n"), std::string::npos) << folded;
  EXPECT_NE(folded.find(stack + "futex_wait_[k] 0 " + ns + "\n"), std::string::npos) << folded;
  const std::string svg = FlameDiff(pair, false);
  EXPECT_NE(svg.find("90 requests in all; before 60 were recorded, after 120"), std::string::npos);
}

TEST(Diff, JsonHoldsEveryFigure) {
  const Pair pair(Story(true), Story(false));
  std::string text;
  AppendDiffJson(pair.view, &text);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["a"]["requests"], 40);
  EXPECT_EQ(json["b"]["coverage"]["unknown_ns"], pair.b.unknown_ns);
  const auto& hot = json["requests"][0];
  EXPECT_EQ(hot["request"], "http/GET hot");
  EXPECT_EQ(hot["mean"]["verdict"], "certain");
  EXPECT_LT(hot["states"]["resource"]["change"]["high_ns"], -6'000'000);
  EXPECT_EQ(json["causes"][0]["state"], "resource");
  EXPECT_LT(json["causes"][0]["impact_ns"], -3'000'000);
}

}  // namespace
}  // namespace cprof
