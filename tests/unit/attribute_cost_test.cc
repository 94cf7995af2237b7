// CPU time of requests from readings of their threads' accounts, and the limits of what is kept.
#include "report/cpu_cost.h"
#include "report/ownership.h"
#include "tests/unit/attribute_graph.h"

namespace cprof {
namespace {

TEST(CpuCost, OneRequestThatFillsTheBracketIsExact) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Runtime(t, 100, 5000);
  g.Enter(t, r, 100);
  g.Runs(t, 100, 200);
  g.TellSlices();
  g.Runtime(t, 200, 5090);
  g.End(r, 200, t);
  g.Finish();
  const Cost* cost = g.FindCost(r, "cpu_ns");
  ASSERT_NE(cost, nullptr);
  EXPECT_EQ(cost->value, 90u);
  EXPECT_EQ(cost->low, 90u);
  EXPECT_EQ(cost->high, 90u);
}

TEST(CpuCost, BracketIsDividedByTimeOnTheCpu) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId first = g.Request(0, t), second = g.Request(0, t);
  g.Runtime(t, 0, 1000);
  g.Enter(t, first, 0);
  g.Leave(t, first, 250'000);
  g.Enter(t, second, 250'000);
  g.Leave(t, second, 1'000'000);
  g.End(first, 1'000'000, t);
  g.End(second, 1'000'000, t);
  g.Runs(t, 0, 1'000'000);
  g.TellSlices();
  g.Runtime(t, 1'000'000, 1000 + 800'000);
  g.Finish(2'000'000);
  const Cost* a = g.FindCost(first, "cpu_ns");
  const Cost* b = g.FindCost(second, "cpu_ns");
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(a->value, 200'000u);
  EXPECT_EQ(b->value, 600'000u);
  // The first had the CPU for 250 us at most and came onto it once; 200 us were taken from either.
  EXPECT_EQ(a->high, 250'000u + kSwitchErrorNs);
  EXPECT_EQ(a->low, 50'000u);
  EXPECT_LE(b->low, b->value);
  EXPECT_GE(b->high, b->value);
}

TEST(CpuCost, WhatSwitchesCostGoesToWhoSwitched) {
  TinyGraph g;
  const NodeId t = g.Thread(), other = g.Thread();
  const NodeId steady = g.Request(0, t), choppy = g.Request(0, t);
  g.Runtime(t, 0, 0);
  g.Enter(t, steady, 0);
  g.Leave(t, steady, 500);
  g.Enter(t, choppy, 500);
  g.End(choppy, 1000, t);
  g.End(steady, 1000, t);
  g.Runs(t, 0, 600);
  for (uint64_t at = 600; at < 1000; at += 100) {
    g.Blocks(t, at, at + 50, other);
    g.Runs(t, at + 50, at + 100);
  }
  g.TellSlices();
  g.Runtime(t, 1000, 800 + 100);
  g.Finish();
  // 800 on the CPU by switch times, and 100 for five switches, four of them the second one's.
  EXPECT_EQ(g.FindCost(steady, "cpu_ns")->value, 520u);
  EXPECT_EQ(g.FindCost(choppy, "cpu_ns")->value, 380u);
}

TEST(CpuCost, SwitchErrorsThatCancelOverABracketStayPossibleInARequest) {
  TinyGraph g;
  const NodeId t = g.Thread(), other = g.Thread();
  const NodeId comes = g.Request(0, t), leaves = g.Request(0, t), stays = g.Request(0, t);
  g.Runtime(t, 0, 0);
  g.Enter(t, leaves, 0);
  g.Leave(t, leaves, 150'000);
  g.Enter(t, comes, 150'000);
  g.Leave(t, comes, 300'000);
  g.Enter(t, stays, 300'000);
  g.Leave(t, stays, 400'000);
  for (const NodeId request : {comes, leaves, stays}) g.End(request, 500'000, t);
  g.Runs(t, 0, 100'000);
  g.Blocks(t, 100'000, 200'000, other);
  g.Runs(t, 200'000, 500'000);
  g.TellSlices();
  g.Runtime(t, 500'000, 400'000);
  g.Finish();
  // The account is all that the switch events say, to the nanosecond.
  for (const NodeId request : {comes, leaves, stays}) {
    EXPECT_EQ(g.FindCost(request, "cpu_ns")->value, 100'000u);
  }
  EXPECT_EQ(g.FindCost(comes, "cpu_ns")->low, 100'000u);
  EXPECT_EQ(g.FindCost(comes, "cpu_ns")->high, 100'000u + kSwitchErrorNs);
  EXPECT_EQ(g.FindCost(leaves, "cpu_ns")->low, 100'000u - kSwitchErrorNs);
  // It came onto the CPU as the bracket began.
  EXPECT_EQ(g.FindCost(leaves, "cpu_ns")->high, 100'000u + kSwitchErrorNs);
  EXPECT_EQ(g.FindCost(stays, "cpu_ns")->low, 100'000u);
  EXPECT_EQ(g.FindCost(stays, "cpu_ns")->high, 100'000u);
}

// The account turned 5056 ns before it came and 20032 ns before it left.
TEST(CpuCost, SwitchesThatTellTheirDelayLeaveLittleOpen) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId comes = g.Request(0, t), leaves = g.Request(0, t);
  g.Runtime(t, 0, 0);
  g.Enter(t, comes, 0);
  g.Leave(t, comes, 200'000);
  g.Enter(t, leaves, 200'000);
  g.Leave(t, leaves, 500'000);
  for (const NodeId request : {comes, leaves}) g.End(request, 500'000, t);
  ThreadSlice slice;
  slice.thread = t;
  slice.state = ThreadState::kRunning;
  slice.from_ns = 100'000;
  slice.to_ns = 300'000;
  slice.from_delay = 1 + 79;
  slice.to_delay = 1 + 313;
  g.Slice(slice);
  g.TellSlices();
  g.Runtime(t, 500'000, 185'024);
  g.Finish();
  const Cost* a = g.FindCost(comes, "cpu_ns");
  EXPECT_EQ(a->value, 105'056u + kLeastDelayNs);
  EXPECT_EQ(a->low, 105'056u);
  EXPECT_EQ(a->high, 105'056u + kDelayErrorNs);
  const Cost* b = g.FindCost(leaves, "cpu_ns");
  EXPECT_EQ(b->value, 79'968u - kLeastDelayNs);
  EXPECT_EQ(b->low, 79'968u - kDelayErrorNs);
  EXPECT_EQ(b->high, 79'968u);
}

TEST(CpuCost, WaitsForTheNextReadingAndNoLonger) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Runtime(t, 100, 0);
  g.Enter(t, r, 100);
  g.End(r, 150, t);
  g.Runs(t, 100, 200);
  g.Final(210);
  EXPECT_EQ(g.States(r), "running 100-150");
  EXPECT_TRUE(g.told.ends.empty());
  g.Runtime(t, 200, 100);
  g.Final(220);
  ASSERT_EQ(g.told.ends.size(), 1u);
  EXPECT_EQ(g.FindCost(r, "cpu_ns")->value, 50u);
}

TEST(CpuCost, WithoutReadingsItIsAnEstimateThatSaysSo) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 100);
  g.End(r, 150, t);
  g.Runs(t, 100, 200);
  g.Finish();
  const Cost* cost = g.FindCost(r, "cpu_ns");
  ASSERT_NE(cost, nullptr);
  EXPECT_EQ(cost->value, 50u);
  EXPECT_EQ(cost->low, 0u);
  EXPECT_EQ(cost->high, 50u + kSwitchErrorNs);
}

TEST(CpuCost, ChildsTimeIsNotItsParents) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId parent = g.Request(100, t);
  g.Runtime(t, 100, 0);
  g.Enter(t, parent, 100);
  const NodeId child = g.Request(120, t);
  g.Enter(t, child, 120);
  g.End(child, 180, t);
  g.End(parent, 200, t);
  g.Runs(t, 100, 200);
  g.TellSlices();
  g.Runtime(t, 200, 100);
  g.Finish();
  EXPECT_EQ(g.FindCost(parent, "cpu_ns")->value, 40u);
  EXPECT_EQ(g.FindCost(child, "cpu_ns")->value, 60u);
}

TEST(CpuCost, StrandTimeCountsWhatRunsAtOnce) {
  TinyGraph g;
  const NodeId a = g.Thread(), b = g.Thread();
  const NodeId r = g.Request(100, a);
  g.Enter(a, r, 100);
  g.Enter(b, r, 100);
  g.End(r, 200, a);
  g.Finish();
  EXPECT_EQ(g.FindCost(r, "strand_ns")->value, 200u);
}

TEST(Limits, RequestsThatNeverEndAreGivenUpOldestFirst) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId oldest = g.Request(1, t);
  for (size_t i = 0; i < kMaxOpenRequests; ++i) g.Request(2 + i, t);
  g.Final(1'000'000);
  ASSERT_EQ(g.told.ends.size(), 1u);
  EXPECT_EQ(g.told.ends[0].request, oldest);
  EXPECT_FALSE(g.told.ends[0].ended);
  EXPECT_NE(g.States(oldest).find("unknown"), std::string::npos);
}

TEST(Limits, LongHistoryOfAnOpenRequestIsUnknownWhereItWasDropped) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(10, t);
  const uint64_t rounds = 3 * kMaxThreadHistory;
  for (uint64_t i = 0; i < rounds; ++i) {
    g.Enter(t, r, 10 + 10 * i);
    g.Runs(t, 10 + 10 * i, 20 + 10 * i);
    g.TellSlices();
    g.Leave(t, r, 15 + 10 * i);
    if (i % 1000 == 0) g.Final(10 + 10 * i);
  }
  const uint64_t end_ns = 10 + 10 * rounds;
  g.End(r, end_ns, t);
  g.Finish(end_ns + 1);
  uint64_t sum_ns = 0;
  for (const StateSpan& span : g.told.spans) sum_ns += span.to_ns - span.from_ns;
  EXPECT_EQ(sum_ns, end_ns - 10);
  ASSERT_FALSE(g.told.spans.empty());
  EXPECT_EQ(g.told.spans.front().state, WallState::kUnknown);
  EXPECT_GT(g.told.spans.front().to_ns - g.told.spans.front().from_ns, end_ns / 2);
}

}  // namespace
}  // namespace cprof
