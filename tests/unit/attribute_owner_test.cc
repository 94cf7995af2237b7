// Ownership: which edges make an owner, which do not, and for how long.
#include "tests/unit/attribute_graph.h"

namespace cprof {
namespace {

TEST(Ownership, WakeGivesNone) {
  TinyGraph g;
  const NodeId t = g.Thread(), worker = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 100);
  g.Blocks(worker, 90, 120, t);
  g.Waits(worker, 120, 121);
  g.Runs(worker, 121, 190);
  g.End(r, 200, t);
  g.Finish();
  EXPECT_EQ(g.Owners(worker), "");
  for (const StateSpan& span : g.told.spans) EXPECT_NE(span.node, worker);
}

TEST(Ownership, OneWakeServesSeveralItems) {
  TinyGraph g;
  const NodeId t = g.Thread(), worker = g.Thread();
  const NodeId first = g.Request(100, t), second = g.Request(101, t);
  const NodeId a = g.Task(102, t), b = g.Task(102, t);
  g.AppEdge(EdgeType::kQueue, first, a, 110, t);
  g.AppEdge(EdgeType::kQueue, second, b, 111, t);
  g.Enter(worker, a, 130);
  g.Leave(worker, a, 140);
  g.Enter(worker, b, 140);
  g.Leave(worker, b, 150);
  g.Blocks(worker, 90, 112, t);
  g.Waits(worker, 112, 130);
  g.Runs(worker, 130, 300);
  g.End(first, 140, worker);
  g.End(second, 150, worker);
  g.End(a, 160, worker);
  g.End(b, 160, worker);
  g.Finish();
  EXPECT_EQ(g.Owners(a), "r3 110-140");
  EXPECT_EQ(g.Owners(b), "r4 111-150");
  EXPECT_NE(g.States(first).find("running 130-140"), std::string::npos);
  EXPECT_NE(g.States(second).find("running 140-150"), std::string::npos);
}

TEST(Ownership, SqesOfTwoRequestsInOneEnterAreUnknown) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId first = g.Request(100, t), second = g.Request(100, t);
  g.Enter(t, first, 110);
  g.Leave(t, first, 120);
  g.Enter(t, second, 130);
  const NodeId a = g.Io(140, t), b = g.Io(141, t);
  g.Complete(a, t, 150);
  g.Complete(b, t, 151);
  g.Finish();
  EXPECT_EQ(g.Owners(a), "");
  EXPECT_EQ(g.Owners(b), "");
}

TEST(Ownership, SecondSubmitOfOneEnterProvesNothing) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 110);
  const NodeId a = g.Io(140, t), b = g.Io(141, t);
  g.Complete(a, t, 150);
  g.Complete(b, t, 151);
  g.Finish();
  EXPECT_EQ(g.Owners(b), "");
}

TEST(Ownership, BindingUnchangedSinceTheLastWaitOwnsTheSubmit) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 110);
  const NodeId a = g.Io(120, t);
  g.Runs(t, 90, 121);
  g.Blocks(t, 121, 130, 0, ThreadSlice::Wait::kIoUring);
  g.Complete(a, t, 130);
  g.TellSlices();
  const NodeId b = g.Io(140, t);
  g.Complete(b, t, 150);
  g.Finish();
  EXPECT_EQ(g.Owners(a), "");
  EXPECT_EQ(g.Owners(b), "r2 140-150");
}

TEST(Ownership, BindingChangedSinceTheLastWaitDoesNot) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t), other = g.Request(100, t);
  g.Enter(t, r, 110);
  g.Runs(t, 90, 121);
  g.Blocks(t, 121, 130, 0, ThreadSlice::Wait::kIoUring);
  g.TellSlices();
  g.Enter(t, other, 132);
  g.Leave(t, other, 134);
  const NodeId b = g.Io(140, t);
  g.Complete(b, t, 150);
  g.Finish();
  EXPECT_EQ(g.Owners(b), "");
}

TEST(Ownership, SubmitSeparatedByUserSpaceFromTheOneBeforeIsOwned) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 110);
  const NodeId a = g.Io(120, t);
  g.Task(125, t);  // told in user space
  const NodeId b = g.Io(130, t);
  g.Complete(a, t, 150);
  g.Complete(b, t, 150);
  g.Finish();
  EXPECT_EQ(g.Owners(a), "");
  EXPECT_EQ(g.Owners(b), "r2 130-150");
}

TEST(Ownership, ReceiveIsNeverOwnedByWhoArmedIt) {
  for (const uint8_t opcode : {kOpRecv, uint8_t{22}, uint8_t{6}, uint8_t{13}}) {
    TinyGraph g;
    const NodeId t = g.Thread();
    const NodeId r = g.Request(100, t);
    g.Enter(t, r, 110);
    g.Runs(t, 90, 121);
    g.Blocks(t, 121, 130, 0, ThreadSlice::Wait::kIoUring);
    g.TellSlices();
    const NodeId io = g.Io(140, t, opcode);
    g.Complete(io, t, 150);
    g.Finish();
    EXPECT_EQ(g.Owners(io), "") << int{opcode};
    (void)r;
  }
}

TEST(Ownership, NamedByTheApplicationBeatsTheRule) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t), other = g.Request(100, t);
  g.Enter(t, r, 110);
  g.Runs(t, 90, 121);
  g.Blocks(t, 121, 130, 0, ThreadSlice::Wait::kIoUring);
  g.TellSlices();
  const NodeId io = g.Io(140, t);
  g.AppEdge(EdgeType::kSubmit, other, io, 140, t, 135);
  g.Complete(io, t, 150);
  g.Finish();
  EXPECT_EQ(g.Owners(io), "r3 140-150");
  EXPECT_EQ(g.told.owners[0].source, Source::kApplication);
}

TEST(Ownership, SpawnFlowsUntilTheChildIsBoundOtherwise) {
  TinyGraph g;
  const NodeId t = g.Thread(), child = g.Thread();
  const NodeId r = g.Request(100, t), other = g.Request(100, t);
  g.Enter(t, r, 110);
  g.KernelEdge(EdgeType::kSpawn, t, child, 120, 120, t);
  g.Enter(child, other, 140);
  g.Leave(child, other, 150);
  g.End(r, 200, t);
  g.Finish();
  EXPECT_EQ(g.Owners(child), "r3 120-140");
}

TEST(Ownership, SpawnedThreadIsOwnedNoLongerThanTheRequestLives) {
  TinyGraph g;
  const NodeId t = g.Thread(), child = g.Thread(), grandchild = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 110);
  g.KernelEdge(EdgeType::kSpawn, t, child, 120, 120, t);
  g.End(r, 200, t);
  g.Request(210, t);
  g.KernelEdge(EdgeType::kSpawn, child, grandchild, 220, 220, child);
  g.Finish();
  EXPECT_EQ(g.Owners(child), "r4 120-200");
  EXPECT_EQ(g.Owners(grandchild), "");
}

TEST(Ownership, KernelWorkersInheritNothing) {
  TinyGraph g;
  const NodeId t = g.Thread(), worker = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 110);
  g.KernelEdge(EdgeType::kSpawn, t, worker, 120, 120, t, "io-thread");
  g.End(r, 200, t);
  g.Finish();
  EXPECT_EQ(g.Owners(worker), "");
}

TEST(Ownership, TaskOfTwoProducersIsShared) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId first = g.Request(100, t), second = g.Request(100, t);
  const NodeId task = g.Task(100, t);
  g.AppEdge(EdgeType::kQueue, first, task, 110, t);
  g.AppEdge(EdgeType::kQueue, second, task, 120, t);
  g.End(first, 150, t);
  g.End(task, 160, t);
  g.End(second, 170, t);
  g.Finish();
  EXPECT_EQ(g.Owners(task), "r2 110-120, r2 r3 120-150, r3 150-160");
}

TEST(Ownership, InnermostBindingWithAnOwnerCounts) {
  TinyGraph g;
  const NodeId t = g.Thread();
  const NodeId r = g.Request(100, t);
  const NodeId unowned = g.Task(100, t);
  g.Enter(t, r, 100);
  g.Enter(t, unowned, 110);
  g.Runs(t, 90, 300);
  g.End(r, 150, t);
  g.Finish();
  EXPECT_EQ(g.States(r), "running 100-150");
}

TEST(Ownership, DoubtOnTheSubmitterMakesItUnknown) {
  TinyGraph g;
  const NodeId t = g.Thread(), child = g.Thread();
  const NodeId r = g.Request(100, t);
  g.Enter(t, r, 110);
  g.bindings.Doubt(t, 115);
  g.KernelEdge(EdgeType::kSpawn, t, child, 120, 120, t);
  g.End(r, 200, t);
  g.Finish();
  EXPECT_EQ(g.Owners(child), "");
}

}  // namespace
}  // namespace cprof
