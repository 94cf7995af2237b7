// The graph as text has exactly the lines of cprof-causality(7).
#include "report/render_graph.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace cprof {
namespace {

constexpr uint64_t kT0 = 4'414'907'900'032;

class RenderGraph : public testing::Test {
 protected:
  using Story = std::function<void(GraphRenderer&)>;

  std::string Render(bool dot, std::optional<Key> request, const Story& story) {
    std::string text;
    const std::unique_ptr<ByteSink> sink = MakeStringSink(&text);
    TextOutput out(*sink);
    const auto renderer =
        dot ? MakeGraphDotRenderer(request, strings_, out) : MakeGraphJsonRenderer(strings_, out);
    SessionHeader header;
    header.t0_ns = kT0;
    header.attributes["hook.sched.waking"] = "tp_btf";
    renderer->OnHeader(header);
    story(*renderer);
    ReadSummary read;
    read.clean_end = true;
    found_ = renderer->Finish(read);
    EXPECT_TRUE(out.Finish());
    return text;
  }

  // The line that a story adds behind the header.
  std::string Line(const Story& story) {
    const std::string text = Render(false, std::nullopt, story);
    const size_t begin = text.find('\n') + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  StringTable strings_;
  bool found_ = false;
};

TEST_F(RenderGraph, HeaderAndSummary) {
  EXPECT_EQ(Render(false, std::nullopt,
                   [](GraphRenderer& graph) {
                     GraphSummary summary;
                     summary.events = 2000;
                     summary.half_edges = 1000;
                     summary.joined = 996;
                     summary.orphans = 4;
                     graph.OnSummary(summary);
                   }),
            "{\"t\":\"header\",\"version\":1,\"t0_ns\":\"4414907900032\","
            "\"wall_t0\":\"1970-01-01T00:00:00.000000000Z\",\"wall_t0_ns\":\"0\","
            "\"hooks\":[{\"name\":\"sched.waking\",\"value\":\"tp_btf\"}],\"filters\":[],"
            "\"budget\":{},\"targets\":[],\"adapters\":[],\"system_wide\":false}\n"
            "{\"t\":\"summary\",\"events\":2000,\"half_edges\":1000,\"joined\":996,\"orphans\":4,"
            "\"lifecycle\":0,\"edges\":0,\"breaks\":0,\"samples\":0,\"edges_observed\":0,"
            "\"edges_reconstructed\":0,\"edges_unknown\":0,\"orphans_by_reason\":{},"
            "\"clean_end\":true,\"damage\":[]}\n");
}

TEST_F(RenderGraph, IoRequestNode) {
  EXPECT_EQ(Line([](GraphRenderer& graph) {
              Node node;
              node.id = 7;
              node.kind = NodeKind::kIoRequest;
              node.scope.kind = Scope::Kind::kRing;
              node.scope.a = 3;
              node.scope.b = 1;
              node.key.lo = 0x9c40;
              node.generation = 12;
              node.born_ns = kT0 + 1;
              node.birth_seen = true;
              node.died_ns = kT0 + 2;
              node.end = NodeEnd::kObserved;
              node.attributes.user_data = 0x2a;
              node.attributes.opcode = 22;
              node.attributes.result = 4096;
              node.attributes.has_result = true;
              node.attributes.tgid = 41;
              graph.OnNodeEnd(node);
            }),
            "{\"t\":\"node\",\"id\":7,\"kind\":\"io_request\",\"scope\":\"ring:3.1\","
            "\"key\":\"0x9c40\",\"gen\":12,\"label\":\"READ\",\"born_ns\":1,\"died_ns\":2,"
            "\"end\":\"observed\",\"birth_seen\":true,\"birth_thread\":null,\"death_thread\":null,"
            "\"attrs\":{\"user_data\":\"0x2a\",\"opcode\":\"READ\",\"result\":4096,\"tgid\":41}}");
}

TEST_F(RenderGraph, ThreadBornBeforeTheRecordingHasANegativeTimeAndNoDeath) {
  const std::string line = Line([](GraphRenderer& graph) {
    Node node;
    node.id = 1;
    node.born_ns = kT0 - 5;
    node.attributes.thread = {9, 41, 40};
    node.attributes.comm = {'a', '"', '\x1b'};
    graph.OnNodeEnd(node);
  });
  EXPECT_NE(line.find("\"born_ns\":-5,\"died_ns\":null,\"end\":\"open\""), std::string::npos)
      << line;
  EXPECT_NE(line.find("\"attrs\":{\"tid\":41,\"tgid\":40,\"comm\":\"a\\\"\\u001b\""),
            std::string::npos);
}

TEST_F(RenderGraph, Edge) {
  EXPECT_EQ(Line([](GraphRenderer& graph) {
              Edge edge;
              edge.id = 1;
              edge.src = 3;
              edge.dst = 7;
              edge.src_time_ns = kT0 + 1;
              edge.dst_time_ns = kT0 + 1;
              edge.src_event = {0, 1234};
              edge.dst_event = {1, 88};
              edge.src_thread = 3;
              edge.dst_thread = 5;
              graph.OnEdge(edge);
            }),
            "{\"t\":\"edge\",\"id\":1,\"type\":\"submit\",\"src\":3,\"dst\":7,\"src_time_ns\":1,"
            "\"dst_time_ns\":1,\"src_event\":\"0.1234\",\"dst_event\":\"1.88\",\"src_thread\":3,"
            "\"dst_thread\":5,\"ctx\":\"task\",\"source\":\"kernel\",\"confidence\":\"observed\","
            "\"rule\":null,\"breaks\":[]}");
}

TEST_F(RenderGraph, OrphanBreakBindingOwnerStateCost) {
  EXPECT_EQ(Line([](GraphRenderer& graph) {
              Orphan orphan;
              orphan.id = 4;
              orphan.type = EdgeType::kComplete;
              orphan.half = Role::kTakeUp;
              orphan.node = 9;
              orphan.event = {0, 99};
              orphan.thread = 3;
              orphan.time_ns = kT0 + 5;
              orphan.reason = OrphanReason::kBeforeRecording;
              orphan.proof = "p";
              graph.OnOrphan(orphan);
            }),
            "{\"t\":\"orphan\",\"id\":4,\"type\":\"complete\",\"half\":\"take_up\",\"node\":9,"
            "\"event\":\"0.99\",\"thread\":3,\"time_ns\":5,\"reason\":\"before_recording\","
            "\"proof\":\"p\"}");
  EXPECT_EQ(
      Line([](GraphRenderer& graph) {
        graph.OnStream({});
        Break lost;
        lost.from_ns = kT0 + 4;
        lost.to_ns = kT0 + 6;
        lost.total = 18;
        lost.signature = 0x80;
        lost.lost = {{verbs::kIoUringSubmit, 17}, {verbs::kAppRing, 1}};
        graph.OnBreak(2, lost);
      }),
      "{\"t\":\"break\",\"id\":2,\"stream\":\"edge.cpu0\",\"from_ns\":4,\"to_ns\":6,"
      "\"lost\":{\"submit\":17,\"app:ring\":1},\"signature\":\"0x80\",\"reason\":\"ring_full\","
      "\"total\":18,\"detail\":\"\"}");
  EXPECT_EQ(
      Line([](GraphRenderer& graph) {
        graph.OnBinding({3, 11, kT0 + 1, kT0 + 9, 0, Source::kApplication, Confidence::kObserved});
      }),
      "{\"t\":\"binding\",\"thread\":3,\"node\":11,\"from_ns\":1,\"to_ns\":9,\"depth\":0,"
      "\"source\":\"application\",\"confidence\":\"observed\"}");
  EXPECT_EQ(
      Line([](GraphRenderer& graph) {
        graph.OnOwner({7, {11}, kT0 + 1, kT0 + 9, Source::kKernel, Confidence::kObserved, nullptr});
      }),
      "{\"t\":\"owner\",\"node\":7,\"requests\":[11],\"from_ns\":1,\"to_ns\":9,"
      "\"source\":\"kernel\",\"confidence\":\"observed\",\"rule\":null}");
  EXPECT_EQ(Line([](GraphRenderer& graph) {
              graph.OnState({11, WallState::kIo, kT0 + 1, kT0 + 2, 1, 3, 0, Confidence::kObserved});
            }),
            "{\"t\":\"state\",\"request\":11,\"state\":\"io\",\"from_ns\":1,\"to_ns\":2,\"edge\":1,"
            "\"node\":3,\"cause\":null,\"confidence\":\"observed\"}");
  EXPECT_EQ(Line([](GraphRenderer& graph) {
              graph.OnCost({11, "cpu_ns", 10, 10, 10});
            }),
            "{\"t\":\"cost\",\"request\":11,\"kind\":\"cpu_ns\",\"value\":10,\"low\":10,"
            "\"high\":10}");
}

TEST_F(RenderGraph, EqualStacksOfAProcessHaveOneLine) {
  const std::string text = Render(false, std::nullopt, [](GraphRenderer& graph) {
    StackSample sample;
    sample.event.verb = verbs::kSampleCpu;
    sample.event.time_ns = kT0 + 4;
    sample.event.arg = 1000;
    sample.event.tgid = 41;
    sample.user_frames = {0x10, 0x20};
    graph.OnSample(7, 3, sample);
    graph.OnSample(7, 3, sample);
    sample.kernel_frames = {0x30};
    graph.OnSample(7, 3, sample);
  });
  const std::string sample =
      "{\"t\":\"sample\",\"node\":7,\"thread\":3,\"time_ns\":4,\"stack\":1,\"weight_ns\":1000,"
      "\"p\":1.0,\"stratum\":\"cpu\"}\n";
  EXPECT_NE(text.find("{\"t\":\"stack\",\"id\":1,\"tgid\":41,\"user\":[\"0x10\",\"0x20\"],"
                      "\"kernel\":[]}\n" +
                      sample + sample + "{\"t\":\"stack\",\"id\":2,"),
            std::string::npos)
      << text;
}

Node Request(NodeId id, uint64_t key) {
  Node node;
  node.id = id;
  node.kind = NodeKind::kRequest;
  node.key.lo = key;
  return node;
}

TEST_F(RenderGraph, DotOfOneRequestLeavesOthersOut) {
  const auto story = [this](GraphRenderer& graph) {
    Node thread;
    thread.id = 1;
    thread.attributes.comm = {'w'};
    graph.OnNode(thread);
    Node ours = Request(2, 5);
    ours.attributes.name = strings_.Intern("GET\"\n");
    graph.OnNode(ours);
    graph.OnNode(Request(3, 6));
    for (const NodeId request : {2U, 3U}) {
      Edge edge;
      edge.id = request;
      edge.type = EdgeType::kWake;
      edge.src = 1;
      edge.dst = request;
      graph.OnEdge(edge);
    }
    graph.OnBinding({1, 2, kT0, kT0 + 1, 0, Source::kApplication, Confidence::kObserved});
    graph.OnState({2, WallState::kBlocked, kT0, kT0 + 1, 2, 1, 0, Confidence::kObserved});
  };
  const std::string text = Render(true, Key{0, 5}, story);
  EXPECT_TRUE(found_);
  EXPECT_NE(text.find("label=\"request GET\\\"\\\\x0a 0x5\""), std::string::npos) << text;
  EXPECT_NE(text.find("n1 -> n2 [style=solid, penwidth=3"), std::string::npos);
  EXPECT_EQ(text.find("n3"), std::string::npos);
  Render(true, Key{0, 99}, story);
  EXPECT_FALSE(found_);
}

}  // namespace
}  // namespace cprof
