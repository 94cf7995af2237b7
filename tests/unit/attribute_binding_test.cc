// Bindings: stacks of enter and leave, and everything that ends or casts doubt on them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/binding.h"

namespace cprof {
namespace {

class Stacks : public GraphSink {
 public:
  void OnBinding(const Binding& binding) override {
    closed.push_back(std::to_string(binding.node) + "@" + std::to_string(binding.depth) + " " +
                     std::to_string(binding.from_ns) + "-" + std::to_string(binding.to_ns) +
                     (binding.confidence == Confidence::kUnknown ? "?" : ""));
  }
  void OnBindingStack(NodeId, uint64_t, std::span<const OpenBinding> stack) override {
    last.clear();
    for (const OpenBinding& open : stack) {
      last += std::to_string(open.node) + (open.confidence == Confidence::kUnknown ? "? " : " ");
    }
  }
  std::vector<std::string> closed;
  std::string last;
};

constexpr NodeId kThread = 1;
constexpr Source kApp = Source::kApplication;
using Closed = std::vector<std::string>;

TEST(Binding, LeaveElsewhereClosesOnlyItsOwnEntry) {
  Stacks told;
  BindingTable table(told);
  table.Enter(kThread, 7, 10, kApp);
  table.Enter(kThread, 8, 20, kApp);
  EXPECT_TRUE(table.Leave(kThread, 7, 30));
  EXPECT_EQ(told.last, "8 ");
  EXPECT_FALSE(table.Leave(kThread, 7, 35));
  EXPECT_FALSE(table.Leave(2, 8, 35));
  EXPECT_TRUE(table.Leave(kThread, 8, 40));
  EXPECT_EQ(told.closed, (Closed{"7@0 10-30", "8@0 20-40"}));
}

TEST(Binding, InnermostOfTheSameNodeClosesFirst) {
  Stacks told;
  BindingTable table(told);
  table.Enter(kThread, 7, 10, kApp);
  table.Enter(kThread, 7, 20, kApp);
  table.Leave(kThread, 7, 30);
  EXPECT_EQ(told.closed, (Closed{"7@1 20-30"}));
  EXPECT_EQ(told.last, "7 ");
}

TEST(Binding, ExecAndExitEndAll) {
  Stacks told;
  BindingTable table(told);
  table.Enter(kThread, 7, 10, kApp);
  table.Enter(kThread, 8, 20, kApp);
  table.EndThread(kThread, 30);
  EXPECT_EQ(told.closed, (Closed{"8@1 20-30", "7@0 10-30"}));
  EXPECT_EQ(told.last, "");
  EXPECT_FALSE(table.Leave(kThread, 7, 40));
}

TEST(Binding, EndOfTheNodeEndsItsBindings) {
  Stacks told;
  BindingTable table(told);
  table.Enter(kThread, 7, 10, kApp);
  table.Enter(2, 7, 15, kApp);
  table.EndNode(7, 30);
  EXPECT_EQ(told.closed, (Closed{"7@0 10-30", "7@0 15-30"}));
  EXPECT_FALSE(table.Leave(kThread, 7, 40));
}

TEST(Binding, LostEndOfANodeLeavesSomethingUnknownOnTop) {
  Stacks told;
  BindingTable table(told);
  table.Enter(kThread, 6, 5, kApp);
  table.Enter(kThread, 7, 10, kApp);
  table.LoseNode(7, 99, 20);
  EXPECT_EQ(told.last, "6 0? ");
  EXPECT_EQ(told.closed, (Closed{"7@1 10-20"}));
  EXPECT_TRUE(table.LeaveUnknown(kThread, 99, 30));
  EXPECT_EQ(told.last, "6 ");
}

TEST(Binding, DoubtSplitsWhatIsOpenAndStaysBeneath) {
  Stacks told;
  BindingTable table(told);
  table.Enter(kThread, 7, 10, kApp);
  table.Doubt(kThread, 20);
  EXPECT_EQ(told.last, "0? 7? ");
  EXPECT_EQ(table.Innermost(kThread), 0u);
  table.Enter(kThread, 8, 30, kApp);
  EXPECT_EQ(told.last, "0? 7? 8 ");
  EXPECT_EQ(table.Innermost(kThread), 8u);
  table.Leave(kThread, 8, 40);
  table.Leave(kThread, 7, 50);
  EXPECT_EQ(told.last, "0? ");
  EXPECT_EQ(told.closed, (Closed{"7@0 10-20", "8@1 30-40", "7@0 20-50?"}));
}

TEST(Binding, EntersWithoutLeaveStayBounded) {
  Stacks told;
  BindingTable table(told);
  for (uint64_t i = 0; i < 10 * kMaxBindingDepth; ++i) table.Enter(kThread, 7, i, kApp);
  EXPECT_EQ(table.Innermost(kThread), 0u);
  for (uint64_t i = 0; i < 9 * kMaxBindingDepth; ++i) table.Leave(kThread, 7, 9000);
  EXPECT_EQ(table.Innermost(kThread), 7u);
  for (uint64_t i = 0; i < kMaxBindingDepth; ++i) EXPECT_TRUE(table.Leave(kThread, 7, 9000));
  EXPECT_FALSE(table.Leave(kThread, 7, 9000));
}

TEST(Binding, UnknownEnterHidesWhatLiesBeneath) {
  Stacks told;
  BindingTable table(told);
  table.Enter(kThread, 7, 10, kApp);
  table.EnterUnknown(kThread, 77, 20);
  EXPECT_EQ(table.Innermost(kThread), 0u);
  EXPECT_FALSE(table.LeaveUnknown(kThread, 78, 25));
  EXPECT_TRUE(table.LeaveUnknown(kThread, 77, 30));
  EXPECT_EQ(table.Innermost(kThread), 7u);
  // Told all the same: else the binding around it would seem to count.
  EXPECT_EQ(told.closed, (Closed{"0@1 20-30?"}));
}

}  // namespace
}  // namespace cprof
