// Flames over the whole pass line: tasks between a request and its states, stacks under running
// time, and how well a weight is known.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "report/pipeline.h"
#include "report/render_flame.h"

namespace cprof {
namespace {

// A request queues a task, a worker takes it up, then ends the request. Three samples.
std::string Story() {
  std::ifstream file(CPROF_STORY, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

FoldTree Fold(FlameBy by, FlameWeight weight) {
  StringTable strings;
  const auto folder = MakeFlameFolder({by, weight}, strings);
  const auto source = MakeStringSource(Story());
  EXPECT_TRUE(RunPipeline(*source, strings, {}, *folder));
  return folder->Fold();
}

std::string Folded(const FoldTree& tree) {
  std::string text;
  const std::unique_ptr<ByteSink> sink = MakeStringSink(&text);
  TextOutput out(*sink);
  WriteFolded(tree, false, out);
  EXPECT_TRUE(out.Finish());
  return text;
}

TEST(FlameStory, WallStatesStandOnTheTaskAndStacksOnRunning) {
  EXPECT_EQ(Folded(Fold(FlameBy::kRequest, FlameWeight::kWall)),
            "request http/GET;running;thread loop;parse_[k] 1000000\n"
            "request http/GET;running;thread worker 999998\n"
            "request http/GET;task pool/look up;queued 1999999\n"
            "request http/GET;task pool/look up;running;thread worker;copy_[k] 1000000\n"
            "request http/GET;task pool/look up;running;thread worker;parse_[k] 3000000\n"
            "request http/GET;unknown 4\n");
}

TEST(FlameStory, ARequestCountsOnceWhereItWasLongest) {
  EXPECT_EQ(Folded(Fold(FlameBy::kRequest, FlameWeight::kCount)),
            "request http/GET;task pool/look up;running;thread worker 1\n");
}

TEST(FlameStory, ThreadsShowWhatTheyWorkedFor) {
  const std::string text = Folded(Fold(FlameBy::kThread, FlameWeight::kWall));
  EXPECT_NE(
      text.find("thread worker;running;request http/GET;task pool/look up;copy_[k] 1750000\n"
                "thread worker;running;request http/GET;task pool/look up;parse_[k] 5250000\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("thread loop;blocked 17000000\n"), std::string::npos) << text;
}

TEST(FlameStory, UnknownTimeIsUnknownAllTheWayDown) {
  const FoldTree tree = Fold(FlameBy::kRequest, FlameWeight::kWall);
  EXPECT_EQ(tree.Totals()[FoldTree::kRoot], (FoldWeight{8'000'001, 0, 4, 0}));
}

// No account of the scheduler was read, so none of the CPU time is certain.
TEST(FlameStory, CpuTimeThatIsNotCertainIsReconstructed) {
  const FoldTree tree = Fold(FlameBy::kRequest, FlameWeight::kCpu);
  const FoldWeight total = tree.Totals()[FoldTree::kRoot];
  EXPECT_EQ(total.amount, 5'999'999U);
  EXPECT_EQ(total.reconstructed, total.amount);
}

TEST(FlameStory, AnIoRequestHasNoCpuTime) {
  EXPECT_FALSE(IsFlameFold({FlameBy::kIoRequest, FlameWeight::kCpu}));
  EXPECT_TRUE(IsFlameFold({FlameBy::kIoRequest, FlameWeight::kCount}));
}

TEST(Fold, WhatWasBeforeMeetsTheSameFrames) {
  FoldTree now = Fold(FlameBy::kRequest, FlameWeight::kWall);
  const size_t frames = now.nodes().size();
  now.AddBefore(Fold(FlameBy::kRequest, FlameWeight::kWall));
  EXPECT_EQ(now.nodes().size(), frames);
  for (const FoldWeight& weight : now.Totals()) EXPECT_EQ(weight.before, weight.amount);
}

}  // namespace
}  // namespace cprof
