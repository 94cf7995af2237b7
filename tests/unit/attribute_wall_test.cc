// Wall time of a request: each rule of the walk on a graph of a few lines.
#include "tests/unit/attribute_graph.h"

namespace cprof {
namespace {

TEST(Wall, StatesOfOneThreadAddUp) {
  TinyGraph g;
  const NodeId t = g.Thread(), other = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Runs(t, 50, 60);
  g.Waits(t, 60, 90);
  g.Enter(t, r, 100);
  g.Runs(t, 90, 120);
  g.Blocks(t, 120, 150, other);
  g.Waits(t, 150, 160);
  g.Leave(t, r, 190);
  g.End(r, 190, t);
  g.Finish();
  EXPECT_EQ(g.States(r), "running 100-120, blocked 120-150, runnable 150-160, running 160-190");
  ASSERT_EQ(g.told.ends.size(), 1u);
  EXPECT_TRUE(g.told.ends[0].ended);
  EXPECT_EQ(g.told.ends[0].end_ns - g.told.ends[0].begin_ns, 90u);
}

TEST(Wall, WhatNoEdgeExplainsIsUnknown) {
  TinyGraph g;
  const NodeId a = g.Thread(), b = g.Thread();
  const NodeId r = g.Request(100, a);
  g.Runs(a, 90, 200);
  g.Runs(b, 90, 200);
  g.Enter(a, r, 100);
  g.Leave(a, r, 110);
  g.Enter(b, r, 150);
  g.Leave(b, r, 180);
  g.End(r, 180, b);
  g.Finish();
  EXPECT_EQ(g.States(r), "running 100-110, unknown 110-150, running 150-180");
}

TEST(Wall, HandedOverAndNotTakenUpIsQueued) {
  TinyGraph g;
  const NodeId loop = g.Thread(), worker = g.Thread();
  const NodeId r = g.Request(100, loop);
  const NodeId task = g.Task(105, loop);
  g.Runs(loop, 90, 300);
  g.Runs(worker, 90, 300);
  g.Enter(loop, r, 100);
  const EdgeId queue = g.AppEdge(EdgeType::kQueue, r, task, 110, loop);
  g.Leave(loop, r, 115);
  g.Enter(worker, task, 140);
  const EdgeId back = g.AppEdge(EdgeType::kComplete, task, r, 170, worker);
  g.Leave(worker, task, 175);
  g.End(task, 175, worker);
  g.Enter(loop, r, 190);
  g.Leave(loop, r, 200);
  g.End(r, 200, loop);
  g.Finish();
  EXPECT_EQ(g.States(r),
            "running 100-110, queued 110-140, running 140-170, queued 170-190, running 190-200");
  EXPECT_EQ(g.told.spans[1].edge, queue);
  EXPECT_EQ(g.told.spans[3].edge, back);
}

TEST(Wall, HandedBackBeforeTheGiverLeftIsQueuedFromItsLeave) {
  TinyGraph g;
  const NodeId loop = g.Thread(), worker = g.Thread();
  const NodeId r = g.Request(100, loop);
  const NodeId task = g.Task(100, loop);
  g.Enter(loop, r, 100);
  g.AppEdge(EdgeType::kQueue, r, task, 110, loop);
  g.Enter(worker, task, 120);
  g.AppEdge(EdgeType::kComplete, task, r, 130, worker);
  g.Leave(worker, task, 131);
  g.Leave(loop, r, 150);
  g.Enter(loop, r, 180);
  g.End(r, 200, loop);
  g.Runs(loop, 90, 300);
  g.Runs(worker, 90, 300);
  g.Finish();
  EXPECT_EQ(g.States(r), "running 100-150, queued 150-180, running 180-200");
}

TEST(Wall, HandOverToOneThatWaitsInPlaceIsNotQueuedAgain) {
  TinyGraph g;
  const NodeId main = g.Thread(), helper = g.Thread();
  const NodeId r = g.Request(100, main);
  const NodeId task = g.Task(100, main);
  g.Enter(main, r, 100);
  g.AppEdge(EdgeType::kSpawn, r, task, 105, main);
  g.Enter(helper, task, 110);
  g.AppEdge(EdgeType::kComplete, task, r, 130, helper);
  g.Leave(helper, task, 140);
  g.Leave(main, r, 160);
  g.Enter(main, r, 180);
  g.End(r, 200, main);
  g.Runs(helper, 90, 300);
  g.Runs(main, 90, 120);
  g.Blocks(main, 120, 135, helper);
  g.Waits(main, 135, 136);
  g.Runs(main, 136, 300);
  g.Finish();
  EXPECT_EQ(g.States(r),
            "running 100-105, queued 105-110, running 110-135, runnable 135-136, running 136-160, "
            "unknown 160-180, running 180-200");
}

TEST(Wall, StolenTaskIsFollowedToTheThreadThatRanIt) {
  TinyGraph g;
  const NodeId loop = g.Thread(), woken = g.Thread(), thief = g.Thread();
  const NodeId r = g.Request(100, loop);
  const NodeId task = g.Task(100, loop);
  g.Runs(loop, 90, 300);
  g.Enter(loop, r, 100);
  g.AppEdge(EdgeType::kQueue, r, task, 110, loop);
  g.Leave(loop, r, 110);
  g.Blocks(woken, 50, 112, loop);
  g.Runs(thief, 90, 300);
  g.Enter(thief, task, 120);
  g.AppEdge(EdgeType::kComplete, task, r, 150, thief);
  g.End(r, 150, thief);
  g.Finish();
  EXPECT_EQ(g.States(r), "running 100-110, queued 110-120, running 120-150");
  EXPECT_EQ(g.Find(r, WallState::kRunning)->node, loop);
  EXPECT_EQ(g.told.spans.back().node, thief);
  for (const StateSpan& span : g.told.spans) EXPECT_NE(span.node, woken);
}

TEST(Wall, FanInFollowsTheHelpersOwnTime) {
  TinyGraph g;
  const NodeId main = g.Thread(), helper = g.Thread();
  const NodeId r = g.Request(100, main);
  const NodeId task = g.Task(100, main);
  g.Enter(main, r, 100);
  g.AppEdge(EdgeType::kSpawn, r, task, 110, main);
  g.Runs(helper, 90, 119);
  g.Waits(helper, 119, 120);
  g.Enter(helper, task, 120);
  g.Runs(main, 90, 115);
  g.Runs(helper, 120, 150);
  g.Waits(helper, 150, 160);
  g.Blocks(main, 115, 170, helper);
  g.Waits(main, 170, 175);
  g.Leave(main, r, 200);
  g.End(r, 200, main);
  g.Finish();
  EXPECT_EQ(g.States(r),
            "running 100-110, queued 110-120, running 120-150, runnable 150-160, running 160-170, "
            "runnable 170-175, running 175-200");
}

TEST(Wall, TwoStrandsThatWakeEachOtherAtOneInstantEnd) {
  TinyGraph g;
  const NodeId a = g.Thread(), b = g.Thread();
  const NodeId r = g.Request(100, a);
  g.Enter(a, r, 100);
  g.Enter(b, r, 100);
  g.Blocks(a, 120, 150, b);
  g.Blocks(b, 120, 150, a);
  g.Waits(a, 150, 151);
  g.End(r, 160, a);
  g.Finish();
  EXPECT_EQ(g.told.ends.size(), 1u);
  EXPECT_NE(g.States(r), "");
}

TEST(Wall, NestedRequestIsInChild) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId parent = g.Request(100, t);
  g.Runs(t, 90, 300);
  g.Enter(t, parent, 100);
  const NodeId child = g.Request(120, t);
  g.Enter(t, child, 120);
  g.Leave(t, child, 150);
  g.End(child, 150, t);
  g.Leave(t, parent, 200);
  g.End(parent, 200, t);
  g.Finish();
  EXPECT_EQ(g.States(child), "running 120-150");
  EXPECT_EQ(g.States(parent), "running 100-120, in_child 120-150, running 150-200");
  EXPECT_EQ(g.Find(parent, WallState::kInChild)->cause, child);
}

TEST(Wall, ChildSettledLongBeforeItsParentIsStillInChild) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId parent = g.Request(100, t);
  g.Runs(t, 90, 300);
  g.Enter(t, parent, 100);
  const NodeId child = g.Request(120, t);
  g.Enter(t, child, 120);
  g.End(child, 150, t);
  g.Final(160);
  g.Final(170);
  g.End(parent, 200, t);
  g.Finish();
  EXPECT_EQ(g.States(parent), "running 100-120, in_child 120-150, running 150-200");
}

TEST(Wall, ChildHandedToAnotherThreadIsInChildUntilItComesBack) {
  TinyGraph g;
  const NodeId a = g.Thread(), b = g.Thread();
  const NodeId parent = g.Request(100, a);
  g.Runs(a, 90, 300);
  g.Runs(b, 90, 300);
  g.Enter(a, parent, 100);
  const NodeId child = g.Request(110, a);
  g.AppEdge(EdgeType::kSpawn, parent, child, 115, a);
  g.Leave(a, parent, 120);
  g.Enter(b, child, 130);
  g.AppEdge(EdgeType::kComplete, child, parent, 160, b);
  g.End(child, 161, b);
  g.Enter(a, parent, 170);
  g.End(parent, 200, a);
  g.Finish();
  EXPECT_EQ(g.States(parent), "running 100-115, in_child 115-160, queued 160-170, running 170-200");
  EXPECT_EQ(g.States(child), "unknown 110-115, queued 115-130, running 130-161");
}

TEST(Wall, NamedIoIsIoUntilItCompletesAndQueuedUntilItIsHandled) {
  TinyGraph g;
  const NodeId loop = g.Thread();
  const NodeId r = g.Request(100, loop);
  g.Runs(loop, 90, 130);
  g.Enter(loop, r, 100);
  const NodeId io = g.Io(120, loop, kOpRecv);
  g.AppEdge(EdgeType::kSubmit, r, io, 120, loop, 110);
  g.Leave(loop, r, 115);
  g.Complete(io, loop, 170);
  g.AppEdge(EdgeType::kResume, io, r, 180, loop, 170);
  g.Enter(loop, r, 181);
  g.Waits(loop, 130, 131);
  g.End(r, 200, loop);
  g.Finish();
  EXPECT_EQ(g.Owners(io), "r2 120-170");
  EXPECT_EQ(g.States(r),
            "running 100-110, queued 110-120, io 120-170, queued 170-181, running 181-200");
}

TEST(Wall, ResumeToldJustAfterTheEnterCounts) {
  TinyGraph g;
  const NodeId loop = g.Thread();
  const NodeId r = g.Request(100, loop);
  g.Runs(loop, 90, 300);
  g.Enter(loop, r, 100);
  const NodeId io = g.Io(120, loop);
  g.AppEdge(EdgeType::kSubmit, r, io, 120, loop, 119);
  g.Leave(loop, r, 125);
  g.Complete(io, loop, 170);
  g.Enter(loop, r, 180);
  g.AppEdge(EdgeType::kResume, io, r, 182, loop, 170);
  g.Leave(loop, r, 200);
  g.End(r, 200, loop);
  g.Finish();
  EXPECT_EQ(g.States(r), "running 100-120, io 120-170, queued 170-180, running 180-200");
}

TEST(Wall, WaitForTheRingIsIoOnlyIfTheCompletionIsOwn) {
  for (const bool own : {true, false}) {
    TinyGraph g;
    const NodeId t = g.Thread();
    const NodeId r = g.Request(100, t), stranger = g.Request(100, t);
    g.Enter(t, r, 100);
    g.Runs(t, 90, 130);
    const NodeId io = g.Io(120, t);
    g.AppEdge(EdgeType::kSubmit, own ? r : stranger, io, 120, t, 110);
    g.Complete(io, t, 160);
    g.Blocks(t, 130, 160, 0, ThreadSlice::Wait::kIoUring);
    g.Waits(t, 160, 165);
    g.End(r, 200, t);
    g.Finish();
    EXPECT_EQ(g.States(r), std::string("running 100-130, ") + (own ? "io" : "unknown") +
                               " 130-160, runnable 160-165, running 165-200");
  }
}

TEST(Wall, TimeoutOfARingIsTimer) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 100);
  g.Runs(t, 90, 130);
  const NodeId io = g.Io(120, t, 11);
  g.AppEdge(EdgeType::kSubmit, r, io, 120, t, 110);
  g.Complete(io, t, 161);
  g.Blocks(t, 130, 160, 0, ThreadSlice::Wait::kIoUring);
  g.Waits(t, 160, 161);
  g.End(r, 200, t);
  g.Finish();
  EXPECT_EQ(g.States(r), "running 100-130, timer 130-160, runnable 160-161, running 161-200");
}

TEST(Wall, WaitForAResourceNamesTheReleaser) {
  TinyGraph g;
  const NodeId a = g.Thread(), b = g.Thread();
  const NodeId shard = g.Resource();
  const NodeId slow = g.Request(50, a), r = g.Request(100, b);
  g.Enter(a, slow, 50);
  g.AppEdge(EdgeType::kAcquire, slow, shard, 60, a);
  g.Enter(b, r, 100);
  g.AppEdge(EdgeType::kRelease, slow, shard, 150, a);
  g.Runs(b, 90, 120);
  g.Blocks(b, 120, 150, a);
  g.Waits(b, 150, 155);
  g.AppEdge(EdgeType::kAcquire, r, shard, 160, b, 0, 110);
  g.Leave(b, r, 200);
  g.End(r, 200, b);
  g.Finish();
  EXPECT_EQ(g.States(r), "running 100-120, resource 120-150, runnable 150-155, running 155-200");
  EXPECT_EQ(g.Find(r, WallState::kResource)->cause, slow);
  ASSERT_NE(g.FindCost(r, "resource_wait_ns"), nullptr);
  EXPECT_EQ(g.FindCost(r, "resource_wait_ns")->value, 50u);
}

TEST(Wall, ReleaseBeforeItWasWantedIsNoCause) {
  TinyGraph g;
  const NodeId a = g.Thread(), b = g.Thread();
  const NodeId shard = g.Resource();
  const NodeId early = g.Request(50, a), r = g.Request(100, b);
  g.AppEdge(EdgeType::kRelease, early, shard, 90, a);
  g.Enter(b, r, 100);
  g.Runs(b, 90, 120);
  g.Blocks(b, 120, 150, a);
  g.Waits(b, 150, 155);
  g.AppEdge(EdgeType::kAcquire, r, shard, 160, b, 0, 110);
  g.End(r, 200, b);
  g.Finish();
  ASSERT_NE(g.Find(r, WallState::kResource), nullptr);
  EXPECT_EQ(g.Find(r, WallState::kResource)->cause, 0u);
}

TEST(Wall, RequestParkedForAResourceWaitsWithoutAThread) {
  TinyGraph g;
  const NodeId loop = g.Thread();
  const NodeId shard = g.Resource();
  const NodeId holder = g.Request(50, loop), r = g.Request(100, loop);
  g.Runs(loop, 40, 300);
  g.Enter(loop, r, 100);
  g.Leave(loop, r, 110);
  g.Enter(loop, holder, 140);
  g.AppEdge(EdgeType::kRelease, holder, shard, 150, loop);
  g.AppEdge(EdgeType::kAcquire, r, shard, 152, loop, 0, 108);
  g.Leave(loop, holder, 160);
  g.Enter(loop, r, 170);
  g.Leave(loop, r, 200);
  g.End(r, 200, loop);
  g.Finish();
  EXPECT_EQ(g.States(r), "running 100-108, resource 108-152, queued 152-170, running 170-200");
  EXPECT_EQ(g.Find(r, WallState::kResource)->cause, holder);
}

TEST(Wall, StrandBornInTheRequestContinuesOnItsParent) {
  TinyGraph g;
  const NodeId parent = g.Thread();
  const NodeId r = g.Request(100, parent);
  g.Runs(parent, 90, 130);
  g.Enter(parent, r, 100);
  const NodeId child = g.Thread();
  g.KernelEdge(EdgeType::kSpawn, parent, child, 120, 120, parent);
  g.Waits(child, 120, 125);
  g.Runs(child, 125, 180);
  g.Blocks(parent, 130, 170, child);
  g.Waits(parent, 170, 172);
  g.End(r, 200, parent);
  g.Finish();
  EXPECT_EQ(g.Owners(child), "r2 120-200");
  EXPECT_EQ(g.States(r),
            "running 100-120, runnable 120-125, running 125-170, runnable 170-172, "
            "running 172-200");
}

TEST(Wall, BreakInABindingIsUnknownFromTheFirstLostTime) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Runs(t, 90, 300);
  g.Enter(t, r, 100);
  g.bindings.Doubt(t, 150);
  g.Leave(t, r, 190);
  g.End(r, 190, t);
  g.Finish();
  EXPECT_EQ(g.States(r), "running 100-150, unknown 150-190");
  ASSERT_EQ(g.told.bindings.size(), 2u);
  EXPECT_EQ(g.told.bindings[0].confidence, Confidence::kObserved);
  EXPECT_EQ(g.told.bindings[0].to_ns, 150u);
  EXPECT_EQ(g.told.bindings[1].confidence, Confidence::kUnknown);
}

TEST(Wall, DoubtfulSliceIsReconstructed) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 100);
  ThreadSlice slice{};
  g.Runs(t, 90, 150);
  slice.thread = t;
  slice.state = ThreadState::kRunning;
  slice.from_ns = 150;
  slice.to_ns = 250;
  slice.doubtful = true;
  g.Slice(slice);
  g.End(r, 200, t);
  g.Finish();
  ASSERT_EQ(g.told.spans.size(), 2u);
  EXPECT_EQ(g.told.spans[0].confidence, Confidence::kObserved);
  EXPECT_EQ(g.told.spans[1].confidence, Confidence::kReconstructed);
}

// What an interrupt ended is unknown, unless the interrupt was the thread's own timeout.
TEST(Wall, WaitThatItsOwnTimeoutEndedIsTimer) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId interrupt = 99;
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 100);
  g.Runs(t, 90, 110);
  for (const bool own_timeout : {true, false}) {
    ThreadSlice slice{};
    slice.thread = t;
    slice.state = ThreadState::kBlocked;
    slice.from_ns = own_timeout ? 110 : 150;
    slice.to_ns = own_timeout ? 140 : 190;
    slice.waker = interrupt;
    slice.wake_level = Level::kHardirq;
    slice.own_timeout = own_timeout;
    g.Slice(slice);
    g.Runs(t, slice.to_ns, slice.to_ns + 10);
  }
  g.End(r, 200, t);
  g.Finish();
  EXPECT_EQ(g.States(r),
            "running 100-110, timer 110-140, running 140-150, unknown 150-190, running 190-200");
}

TEST(Wall, NeverEndedRequestIsFlagged) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 100);
  g.Runs(t, 90, 200);
  g.Finish(200);
  ASSERT_EQ(g.told.ends.size(), 1u);
  EXPECT_FALSE(g.told.ends[0].ended);
  EXPECT_EQ(g.told.ends[0].end_ns, 200u);
  EXPECT_EQ(g.States(r), "running 100-200");
}

TEST(Wall, NoSchedulerMeansUnknownNotRunning) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 100);
  g.Leave(t, r, 200);
  g.End(r, 200, t);
  g.Finish();
  EXPECT_EQ(g.States(r), "unknown 100-200");
}

}  // namespace
}  // namespace cprof
