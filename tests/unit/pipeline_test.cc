// The whole pass line, from bytes to graph: text and binary give the same, and nothing is lost.
#include "report/pipeline.h"

#include <gtest/gtest.h>

#include "report/event_text.h"
#include "tests/unit/recording_samples.h"

namespace cprof {
namespace {

// Everything that comes out, as text.
class Teller : public ReportSink {
 public:
  explicit Teller(const StringTable* strings = nullptr) : strings_(strings) {}

  void OnHeader(const SessionHeader&) override { Say("header"); }
  void OnStream(const StreamInfo& stream) override { Say("stream " + StreamName(stream)); }
  void OnFooter(const Footer&) override { Say("footer"); }
  void OnNode(const Node& node) override {
    Say("node " + std::to_string(node.id) + " " + std::string(NodeKindName(node.kind)) +
        (strings_ == nullptr ? "" : " " + std::string(strings_->Get(node.attributes.name))));
  }
  void OnEdge(const Edge& edge) override {
    Say("edge " + std::string(EdgeTypeName(edge.type)) + " " + std::to_string(edge.src) + ">" +
        std::to_string(edge.dst) + " " + std::string(ConfidenceName(edge.confidence)));
  }
  void OnOrphan(const Orphan& orphan) override {
    Say("orphan " + std::string(OrphanReasonName(orphan.reason)));
  }
  void OnFinal(uint64_t final_ns) override { Say("final " + std::to_string(final_ns)); }
  void OnSummary(const GraphSummary& told) override { summary = told; }

  std::string text;
  GraphSummary summary;

 private:
  void Say(const std::string& line) { text += line + "\n"; }

  const StringTable* strings_;  // or null: no names
};

constexpr char kFixture[] =
    "!header t0_ns=1000 cpus=1 adapter=\"sched\" adapter=\"io_uring\"\n"
    "!stream id=0 name=edge.cpu0\n"
    "2000ns edge.cpu0.0 41/40@900 task io_uring:submit req=0x10 ring=0x20 user_data=0x2a op=22\n"
    "2100ns edge.cpu0.1 41/40@900 task io_uring:complete req=0x10 ring=0x20 user_data=0x2a "
    "result=4096\n"
    "!mark final_ns=2500 count=edge.cpu0:2:0\n"
    "3000ns edge.cpu0.2 41/40@900 task io_uring:submit req=0x10 ring=0x20 user_data=0x2b op=22\n"
    "!footer end_ns=4000 final_ns=4000\n";

TEST(Pipeline, TextAndBinaryGiveTheSame) {
  StringTable strings;
  Teller from_text;
  const auto text = MakeStringSource(kFixture);
  const auto summary = RunPipeline(*text, strings, {}, from_text);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->events, 3U);
  EXPECT_EQ(from_text.summary.events, 3U);
  EXPECT_EQ(from_text.summary.half_edges, from_text.summary.joined + from_text.summary.orphans);
  EXPECT_EQ(from_text.summary.orphans, 1U);

  // The same recording, written and read as a file.
  testing::Collector all;
  StringTable other_strings;
  const auto again = MakeStringSource(kFixture);
  ASSERT_TRUE(ReadTextRecording(*again, other_strings, all));
  std::string bytes;
  const auto writer = MakeWriter(MakeStringSink(&bytes), {});
  ASSERT_TRUE(writer->WriteHeader(all.headers[0]));
  ASSERT_TRUE(writer->WriteStream(all.streams[0]));
  ASSERT_TRUE(writer->WriteEvents(0, std::span(all.events).first(2)));
  ASSERT_TRUE(writer->WriteMark(all.marks[0]));
  ASSERT_TRUE(writer->WriteEvents(0, std::span(all.events).subspan(2)));
  ASSERT_TRUE(writer->WriteFooter(all.footers[0]));
  Teller from_binary;
  const auto binary = MakeStringSource(bytes);
  ASSERT_TRUE(RunPipeline(*binary, strings, {}, from_binary));
  EXPECT_EQ(from_binary.text, from_text.text);
}

TEST(Pipeline, WhatIsNoRecordingIsRefused) {
  StringTable strings;
  Teller teller;
  for (const char* bytes : {"", "\x01\x02\x03", "words\n"}) {
    for (const bool two_threads : {false, true}) {
      const auto source = MakeStringSource(bytes);
      EXPECT_FALSE(RunPipeline(*source, strings, {.join = {}, .two_threads = two_threads}, teller));
    }
  }
}

// Between a submit and a completion of one object its first request ended and another began; both
// records come behind the mark that made their time final.
TEST(Pipeline, AJoinOverRecordsThatCameLateIsNotObserved) {
  constexpr char kLate[] =
      "!header t0_ns=0 cpus=2 adapter=\"io_uring\"\n"
      "!stream id=0 name=edge.cpu0\n"
      "!stream id=1 name=edge.cpu1\n"
      "10ns edge.cpu0.0 41/40@9 task io_uring:submit req=0x10 ring=0x20 user_data=1 op=22\n"
      "40ns edge.cpu1.0 42/40@9 task io_uring:complete req=0x10 ring=0x20 user_data=1\n"
      "!mark final_ns=50 count=edge.cpu0:3:0 count=edge.cpu1:1:0\n"
      "20ns edge.cpu0.1 41/40@9 task io_uring:complete req=0x10 ring=0x20 user_data=1\n"
      "30ns edge.cpu0.2 41/40@9 task io_uring:submit req=0x10 ring=0x20 user_data=1 op=22\n"
      "!mark final_ns=90 count=edge.cpu0:3:0 count=edge.cpu1:1:0\n"
      "!footer end_ns=90 final_ns=90 count=edge.cpu0:3:0 count=edge.cpu1:1:0\n";
  StringTable strings;
  Teller teller;
  const auto source = MakeStringSource(kLate);
  ASSERT_TRUE(RunPipeline(*source, strings, {}, teller));
  EXPECT_EQ(teller.text.find("edge complete"), std::string::npos) << teller.text;
  EXPECT_NE(teller.text.find("orphan in_coverage_break"), std::string::npos) << teller.text;
}

// Long enough that the two threads have to wait for each other, and that names are read while
// others are added.
TEST(Pipeline, TwoThreadsTellTheSameInTheSameOrder) {
  std::string text = kFixture;
  text.erase(text.rfind("!footer"));
  text += "!stream id=1 name=app.40.0\n";
  for (uint64_t i = 0; i < 20'000; ++i) {
    const std::string time = std::to_string(4000 + 10 * i) + "ns app.40.0.";
    const std::string who = " 41/40@0 task app:";
    const std::string what = " id=0x" + std::to_string(i) + " kind=request domain=\"d\"";
    const std::string name = " name=\"n" + std::to_string(i % 3000) + "\"";
    text += time + std::to_string(2 * i) + who + "begin" + what + name + "\n";
    text += time + std::to_string(2 * i + 1) + who + "end" + what + "\n";
    if (i % 1000 == 0) text += "!mark final_ns=" + std::to_string(4000 + 10 * i) + "\n";
  }
  text += "!footer end_ns=900000 final_ns=900000\n";
  std::string told[2];
  for (const bool two_threads : {false, true}) {
    StringTable strings;
    Teller teller(&strings);
    const auto source = MakeStringSource(text);
    const auto summary =
        RunPipeline(*source, strings, {.join = {}, .two_threads = two_threads}, teller);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->events, 40'003U);
    EXPECT_EQ(teller.summary.events, 40'003U);
    told[two_threads] = std::move(teller.text);
  }
  EXPECT_NE(told[0].find("request n2999"), std::string::npos);
  EXPECT_TRUE(told[0] == told[1]);
}

// The number of a CPU takes no memory, however large it is.
TEST(Pipeline, AnyNumberOfACpuIsTaken) {
  const auto source = MakeStringSource(
      "!header t0_ns=1000 cpus=1 adapter=\"sched\"\n"
      "!stream id=0 name=edge.cpu4294967294\n"
      "2000ns edge.cpu4294967294.0 0/0@0 hardirq sched:waking thread=41/40@900\n"
      "!footer end_ns=4000 final_ns=4000\n");
  StringTable strings;
  Teller teller;
  const auto summary = RunPipeline(*source, strings, {}, teller);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_NE(teller.text.find("interrupt"), std::string::npos);
}

// Whatever random events come in, each ends in exactly one place.
TEST(Pipeline, EveryEventIsAccountedFor) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    std::string bytes;
    const auto writer = MakeWriter(MakeStringSink(&bytes), {});
    ASSERT_TRUE(writer->WriteHeader(testing::MakeSession(1)));
    for (StreamId id = 0; id < 3; ++id) {
      ASSERT_TRUE(writer->WriteStream({id, StreamKind::kEdgeCpu, id, 0, 0}));
      auto events = testing::RandomEvents(random, id, 200, writer.get());
      ASSERT_TRUE(writer->WriteEvents(id, events));
    }
    ASSERT_TRUE(writer->WriteFooter({}));
    StringTable strings;
    Teller teller;
    const auto source = MakeStringSource(bytes);
    const auto summary = RunPipeline(*source, strings, {}, teller);
    ASSERT_TRUE(summary);
    const GraphSummary& told = teller.summary;
    // Random numbers of a stream come twice now and then; the second time they are left out.
    uint64_t left_out = 0;
    for (const LossEntry& entry : summary->losses) left_out += entry.records;
    EXPECT_EQ(told.events + left_out, summary->events) << seed;
    EXPECT_EQ(told.half_edges, told.joined + told.orphans) << seed;
  }
}

}  // namespace
}  // namespace cprof
