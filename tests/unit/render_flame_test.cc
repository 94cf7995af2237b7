// Flame graphs: exact CPU time under causal frames, and names that cannot act.
#include "report/render_flame.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "report/flame_svg.h"
#include "report/fold.h"

namespace cprof {
namespace {

constexpr uint64_t kMs = 1'000'000;

class RenderFlame : public testing::Test {
 protected:
  using Story = std::function<void(FlameFolder&)>;

  std::string Render(bool folded, const Story& story) {
    std::string text;
    const std::unique_ptr<ByteSink> sink = MakeStringSink(&text);
    TextOutput out(*sink);
    FlameOptions options;
    options.folded = folded;
    const auto folder = MakeFlameFolder(options.fold, strings_);
    story(*folder);
    WriteFlame(options, *folder, out);
    EXPECT_TRUE(out.Finish());
    return text;
  }

  void AddThread(FlameFolder& flame, NodeId id, const char* comm) {
    Node node;
    node.id = id;
    node.birth_seen = true;
    for (size_t i = 0; comm[i] != '\0'; ++i) node.attributes.comm[i] = comm[i];
    flame.OnNode(node);
  }
  Node Named(NodeId id, NodeKind kind, const char* name) {
    Node node;
    node.id = id;
    node.kind = kind;
    node.attributes.name = strings_.Intern(name);
    node.attributes.domain = strings_.Intern("cache");
    return node;
  }
  static void Bind(FlameFolder& flame, NodeId thread, NodeId node, uint64_t time_ns) {
    const OpenBinding binding{node, Confidence::kObserved};
    flame.OnBindingStack(thread, time_ns, std::span(&binding, node == 0 ? 0 : 1));
  }
  static void Sample(FlameFolder& flame, NodeId thread, uint64_t frame) {
    StackSample sample;
    sample.event.arg = kMs;
    sample.event.tgid = 41;
    sample.kernel_frames = {frame};
    flame.OnSample(thread, thread, sample);
  }

  // What the attribute pass tells of a request at its end.
  static void Settle(FlameFolder& flame, NodeId request, uint64_t cpu_ns) {
    flame.OnCost({request, "cpu_ns", cpu_ns, cpu_ns, cpu_ns});
    flame.OnRequestEnd({request, true, true, 0, 0});
  }

  StringTable strings_;
};

TEST_F(RenderFlame, SamplesAreScaledToTheExactTimeOfEachKind) {
  const std::string text = Render(true, [this](FlameFolder& flame) {
    const std::vector<KernelSymbol> symbols = {{0x100, "do_one"}, {0x200, "do_two"}};
    flame.OnKernelSymbols(symbols);
    AddThread(flame, 1, "worker");
    flame.OnNode(Named(2, NodeKind::kRequest, "GET"));
    flame.OnNode(Named(3, NodeKind::kRequest, "PUT"));
    Bind(flame, 1, 2, 10);
    Sample(flame, 1, 0x110);
    Sample(flame, 1, 0x110);
    Sample(flame, 1, 0x210);
    Bind(flame, 1, 0, 20);
    Sample(flame, 1, 0x110);
    flame.OnThreadRuntime(1, 0, 10'000'000);
    Settle(flame, 2, 7'000'001);
    Settle(flame, 3, 1'000'000);
  });
  EXPECT_EQ(text,
            "[no request];thread worker;do_one_[k] 1999999\n"
            "request cache/GET;thread worker;do_one_[k] 4666667\n"
            "request cache/GET;thread worker;do_two_[k] 2333334\n"
            "request cache/PUT;[not sampled] 1000000\n");
}

TEST_F(RenderFlame, TasksStandBetweenRequestAndThreadAndFoldByName) {
  const std::string text = Render(true, [this](FlameFolder& flame) {
    AddThread(flame, 1, "w");
    flame.OnNode(Named(2, NodeKind::kRequest, "GET"));
    NodeId last = 2;
    for (const NodeId task : {3U, 4U, 5U}) {
      flame.OnNode(Named(task, NodeKind::kRuntimeTask, task == 4 ? "b" : "a"));
      Edge edge;
      edge.type = EdgeType::kSpawn;
      edge.src = last;
      edge.dst = task;
      flame.OnEdge(edge);
      last = task;
    }
    Bind(flame, 1, 4, 10);
    Sample(flame, 1, 0);
    Bind(flame, 1, 5, 20);
    Sample(flame, 1, 0);
    flame.OnRequestEnd({2, true, true, 0, 0});
  });
  EXPECT_EQ(text,
            "request cache/GET;task cache/a;task cache/b;thread w;[kernel]_[k] 1000000\n"
            "request cache/GET;task cache/a;thread w;[kernel]_[k] 1000000\n");
}

TEST_F(RenderFlame, TimeOfATaskAfterTheEndOfItsRequestIsNobodys) {
  const std::string text = Render(true, [this](FlameFolder& flame) {
    AddThread(flame, 1, "w");
    const Node request = Named(2, NodeKind::kRequest, "GET");
    flame.OnNode(request);
    flame.OnNode(Named(3, NodeKind::kRuntimeTask, "a"));
    Edge edge;
    edge.type = EdgeType::kSpawn;
    edge.src = 2;
    edge.dst = 3;
    flame.OnEdge(edge);
    flame.OnNodeEnd(request);
    Bind(flame, 1, 3, 10);
    Sample(flame, 1, 0);
  });
  EXPECT_EQ(text, "[no request];task cache/a;thread w;[kernel]_[k] 1000000\n");
}

TEST_F(RenderFlame, SvgIsDeterministicAndNamesCannotAct) {
  const auto story = [this](FlameFolder& flame) {
    const std::vector<KernelSymbol> symbols = {{0x100, "</title><script>alert(1)</script>;\x1b"}};
    flame.OnKernelSymbols(symbols);
    AddThread(flame, 1, "w");
    Sample(flame, 1, 0x110);
  };
  const std::string text = Render(false, story);
  EXPECT_EQ(text, Render(false, story));
  // Of the two scripts neither is of the recording.
  EXPECT_EQ(text.find("<script>alert"), std::string::npos);
  EXPECT_EQ(text.find("</title><script"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("\"\\u003c/title\\u003e\\u003cscript\\u003ealert(1)"), std::string::npos);
  EXPECT_NE(text.find("<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;;\\x1b "
                      "(1.000 ms, 100.00 %)</title>"),
            std::string::npos)
      << text;
  EXPECT_NE(Render(true, story).find("alert(1)</script>\\x3b\\x1b_[k] 1000000\n"),
            std::string::npos);
}

TEST_F(RenderFlame, EmptyRecordingIsAnEmptyGraph) {
  EXPECT_EQ(Render(true, [](FlameFolder&) {}), "");
  EXPECT_NE(Render(false, [](FlameFolder&) {}).find("nothing ran"), std::string::npos);
}

TEST(FlameSvg, TinyShareDoesNotBecomeMarkup) {
  FoldTree tree;
  tree.Add(tree.Child(FoldTree::kRoot, FrameKind::kRequest, "large"), 1'000'000'000);
  // Each far below a hundredth of a percent, but as wide as is asked for.
  for (int i = 0; i < 400; ++i) {
    tree.Add(tree.Child(FoldTree::kRoot, FrameKind::kRequest, "tiny" + std::to_string(i)), 40'000);
  }
  std::string text;
  const std::unique_ptr<ByteSink> sink = MakeStringSink(&text);
  TextOutput out(*sink);
  FlameSvgOptions options;
  options.min_width_centipixels = 1;
  WriteFlameSvg(tree, options, out);
  EXPECT_TRUE(out.Finish());
  EXPECT_NE(text.find(", &lt;0.01 %)</title>"), std::string::npos);
  EXPECT_EQ(text.find(">, <0"), std::string::npos);
}

TEST(Fold, ScaledPartsAddUpExactly) {
  const std::vector<uint64_t> parts = ScaleToTotal({3, 3, 1, 0}, 1'000'000'007);
  EXPECT_EQ(parts[0] + parts[1] + parts[2] + parts[3], 1'000'000'007U);
  EXPECT_EQ(parts[3], 0U);
  EXPECT_NEAR(static_cast<double>(parts[0]), 1'000'000'007.0 * 3 / 7, 1.0);
  EXPECT_EQ(ScaleToTotal({0, 0}, 5), (std::vector<uint64_t>{0, 0}));
}

}  // namespace
}  // namespace cprof
