// Text of recordings: what is printed is what is read back, and fixtures may be bare event lines.
#include "report/event_text.h"

#include <gtest/gtest.h>

#include "report/text_quote.h"
#include "tests/unit/recording_samples.h"

namespace cprof {
namespace {

using testing::Collector;
using testing::MakeEvent;
using testing::MakeSession;
using testing::RandomEvents;

struct Parsed {
  Result<ReadSummary> summary = Error{"not read", ""};
  StringTable strings;
  Collector all;
};

std::unique_ptr<Parsed> Parse(std::string text) {
  auto parsed = std::make_unique<Parsed>();
  const auto source = MakeStringSource(std::move(text));
  parsed->summary = ReadTextRecording(*source, parsed->strings, parsed->all);
  return parsed;
}

Event ParseEvent(const std::string& line) {
  const auto parsed = Parse(line);
  EXPECT_TRUE(parsed->summary) << parsed->summary.error().message;
  EXPECT_EQ(parsed->all.events.size(), 1U);
  return parsed->all.events.empty() ? Event() : parsed->all.events[0];
}

std::string ComplaintAbout(const std::string& text) {
  const auto parsed = Parse(text);
  return parsed->summary ? "" : parsed->summary.error().message;
}

std::string Print(const StringTable& strings, const Collector& all) {
  std::string text;
  const auto printer = MakeTextPrinter(strings, &text);
  for (const auto& header : all.headers) printer->OnHeader(header);
  for (const auto& stream : all.streams) printer->OnStream(stream);
  for (const auto& event : all.events) printer->OnEvents(event.stream, {&event, 1});
  printer->OnSamples(0, all.samples);
  for (const auto& lost : all.breaks) printer->OnBreak(lost);
  for (const auto& mark : all.marks) printer->OnMark(mark);
  printer->OnMappings(all.mappings);
  printer->OnKernelSymbols(all.symbols);
  for (const auto& footer : all.footers) printer->OnFooter(footer);
  return text;
}

std::string RandomText(std::mt19937_64& random) {
  std::string text;
  for (size_t i = random() % 12; i > 0; --i) text += static_cast<char>(random());
  return text;
}

Collector RandomRecording(std::mt19937_64& random, StringTable& strings) {
  Collector all;
  SessionHeader header = MakeSession(static_cast<uint8_t>(random()));
  header.raw_keys = random() % 2 == 0;
  header.attributes[RandomText(random)] = RandomText(random);
  header.adapters.push_back(RandomText(random));
  all.headers = {header};
  all.streams = {{2, StreamKind::kEdgeCpu, 0, 0, 0},
                 {5, StreamKind::kApp, 0, 41, 3},
                 {7, StreamKind::kContextCpu, 1, 0, 0},
                 {9, StreamKind::kRecorder, 0, 0, 0},
                 {11, StreamKind::kEdgeCpu, 0, 0, 0}};  // the same name as the first
  for (const auto& stream : all.streams) {
    for (Event event : RandomEvents(random, stream.id, random() % 30, nullptr)) {
      if (random() % 5 == 0) event.verb = static_cast<Verb>(random() % 256);
      if (random() % 5 == 0) event.name = strings.Intern(RandomText(random));
      if (random() % 5 == 0) event.domain = strings.Intern(RandomText(random));
      if (random() % 5 == 0) event.domain2 = strings.Intern(RandomText(random));
      all.events.push_back(event);
    }
  }
  for (size_t i = random() % 4; i > 0; --i) {
    StackSample sample{MakeEvent(7, i, random(), verbs::kSampleCpu), 1.0 / double(i), {}, {}};
    sample.user_frames.resize(random() % 4, random());
    sample.kernel_frames.resize(random() % 4, random());
    all.samples.push_back(sample);
  }
  for (int reason = 0; reason < 10; ++reason) {
    all.breaks.push_back({reason % 2 == 0 ? kEveryStream : 5,
                          static_cast<BreakReason>(reason),
                          random(),
                          random(),
                          random(),
                          random(),
                          {{static_cast<Verb>(random() % 256), random()}},
                          RandomText(random)});
  }
  all.marks = {{random(), {{2, random(), 0}, {11, 5, random()}, {999, 1, 1}}}};
  all.mappings = {{41, 1, random(), random(), random(), RandomText(random), RandomText(random)}};
  all.symbols = {{random(), RandomText(random)}};
  all.footers = {{random(), all.marks[0], {{RandomText(random), RandomText(random)}}}};
  return all;
}

TEST(EventText, ParseIsTheInverseOfPrint) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    StringTable strings;
    const Collector all = RandomRecording(random, strings);
    const std::string text = Print(strings, all);
    const auto parsed = Parse(text);
    ASSERT_TRUE(parsed->summary) << parsed->summary.error().message << "\n" << text;
    EXPECT_EQ(parsed->summary->events, all.events.size());
    EXPECT_EQ(Print(parsed->strings, parsed->all), text);
    ASSERT_EQ(parsed->all.events.size(), all.events.size());
    for (size_t i = 0; i < all.events.size(); ++i) {
      Event got = parsed->all.events[i], want = all.events[i];
      EXPECT_EQ(parsed->strings.Get(got.name), strings.Get(want.name));
      EXPECT_EQ(parsed->strings.Get(got.domain), strings.Get(want.domain));
      EXPECT_EQ(parsed->strings.Get(got.domain2), strings.Get(want.domain2));
      got.name = want.name = got.domain = want.domain = got.domain2 = want.domain2 = 0;
      ASSERT_EQ(got, want) << "seed " << seed << " event " << i;
    }
    EXPECT_EQ(parsed->all.streams, all.streams);
    EXPECT_EQ(parsed->all.samples, all.samples);
    EXPECT_EQ(parsed->all.breaks, all.breaks);
    EXPECT_EQ(parsed->all.marks, all.marks);
    EXPECT_EQ(parsed->all.mappings, all.mappings);
    EXPECT_EQ(parsed->all.symbols, all.symbols);
    ASSERT_EQ(parsed->all.headers.size(), 1U);
    EXPECT_EQ(parsed->all.headers[0].session_id, all.headers[0].session_id);
    EXPECT_EQ(parsed->all.headers[0].attributes, all.headers[0].attributes);
    EXPECT_EQ(parsed->all.headers[0].adapters, all.headers[0].adapters);
    ASSERT_EQ(parsed->all.footers.size(), 1U);
    EXPECT_EQ(parsed->all.footers[0].end_ns, all.footers[0].end_ns);
    EXPECT_EQ(parsed->all.footers[0].attributes, all.footers[0].attributes);
  }
}

TEST(EventText, AnEventLooksLikeItsDescription) {
  StringTable strings;
  Collector all;
  all.streams = {{0, StreamKind::kEdgeCpu, 0, 0, 0}};
  Event event = MakeEvent(0, 17, 4414907900032, verbs::kIoUringSubmit);
  event.key.lo = 0x10;
  event.key2.lo = 0x20;
  event.arg = 0x2a;
  event.arg2 = 22 | uint64_t{5} << 32;
  all.events = {event};
  EXPECT_EQ(Print(strings, all),
            "!stream id=0 name=edge.cpu0\n"
            "4414.907900032 edge.cpu0.17 41/40@9000 task io_uring:submit req=0x10 ring=0x20 "
            "user_data=0x2a op=22 fd=5\n");
}

TEST(EventText, PackedFieldsMayBeGivenInPartsOrWhole) {
  const std::string begin = "0.000000005 edge.cpu0.1 41/40@9 task io_uring:";
  EXPECT_EQ(ParseEvent(begin + "submit op=0x500000016").arg2, 0x500000016U);
  EXPECT_EQ(ParseEvent(begin + "submit op=22 sqe_flags=0x10 fd=5").arg2, 0x500001016U);
  EXPECT_EQ(ParseEvent(begin + "complete result=-125 cqe_flags=2").arg2, 0x2ffffff83U);
  EXPECT_EQ(ParseEvent(begin + "complete result=0xffffff83").arg2, 0xffffff83U);
  EXPECT_EQ(ParseEvent(begin + "cq_wait head=1 tail=2").arg2, 0x200000001U);
  const std::string app = "5ns app.40.0.1 41 task app:";
  EXPECT_EQ(ParseEvent(app + "begin id=7 kind=request").arg, 1U);
  EXPECT_EQ(ParseEvent(app + "begin id=7 kind=1").arg, 1U);
  EXPECT_EQ(ParseEvent(app + "edge from=1 to=2 from_kind=request to_kind=io edge=queue").arg,
            0x30401U);
}

TEST(EventText, KeysHold128Bits) {
  const Event event = ParseEvent(
      "1 app.40.0.1 41 task app:begin id=0x0123456789abcdeffedcba9876543210 name=\"a \\\"b\\x01\"");
  EXPECT_EQ(event.key.hi, 0x0123456789abcdefU);
  EXPECT_EQ(event.key.lo, 0xfedcba9876543210U);
  EXPECT_EQ(event.time_ns, 1000000000U);
}

TEST(EventText, BareEventLinesAreAWholeRecording) {
  const auto parsed = Parse(
      "# a fixture\n"
      "\n"
      "  5ns edge.cpu0.0 41/40@9 task sched:waking thread=42/40@10\n"
      "6ns edge.cpu1.0 42/40@10 softirq sched:switch thread=0/0@0 prev_state=1\n"
      "7ns edge.cpu0.1 41/40@9 task sched:comm thread=42/40@10 comm=\"worker\"");
  ASSERT_TRUE(parsed->summary) << parsed->summary.error().message;
  EXPECT_TRUE(parsed->summary->clean_end);
  ASSERT_EQ(parsed->all.headers.size(), 1U);
  EXPECT_EQ(parsed->all.headers[0].adapters.size(), AllAdapters().size());
  ASSERT_EQ(parsed->all.streams.size(), 2U);
  EXPECT_EQ(StreamName(parsed->all.streams[1]), "edge.cpu1");
  ASSERT_EQ(parsed->all.events.size(), 3U);
  EXPECT_EQ(OtherThread(parsed->all.events[0]), (ThreadKey{10, 42, 40}));
  EXPECT_EQ(parsed->all.events[1].level, Level::kSoftirq);
  EXPECT_EQ(parsed->all.events[2].arg, 0x72656b726f77U);
  ASSERT_EQ(parsed->all.marks.size(), 1U);
  EXPECT_EQ(parsed->all.marks[0].final_ns, 8U);
  EXPECT_EQ(parsed->all.footers.size(), 1U);
}

TEST(EventText, NothingIsSuppliedBehindAHeader) {
  const auto parsed = Parse("!header t0_ns=3\n4ns edge.cpu0.0 41 task sched:exit\n");
  ASSERT_TRUE(parsed->summary);
  EXPECT_FALSE(parsed->summary->clean_end);
  EXPECT_TRUE(parsed->all.marks.empty());
  EXPECT_EQ(parsed->all.streams.size(), 1U);
  EXPECT_EQ(parsed->all.headers[0].t0_ns, 3U);
}

TEST(EventText, ErrorsNameTheLineAndTheWord) {
  const std::string good = "1ns edge.cpu0.0 41 task sched:exit\n";
  EXPECT_EQ(ComplaintAbout(good), "");
  EXPECT_EQ(ComplaintAbout(good + "1ns edge.cpu0.0 41 task sched:nap\n"),
            "line 2: 'sched:nap' is no adapter:verb");
  EXPECT_EQ(ComplaintAbout(good + "1ns edge.cpu0.0 41 idle sched:exit"),
            "line 2: 'idle' is no level");
  EXPECT_EQ(ComplaintAbout("x edge.cpu0.0 41 task sched:exit"), "line 1: 'x' is no time");
  EXPECT_EQ(ComplaintAbout("1ns moon.0 41 task sched:exit"),
            "line 1: 'moon.0' is no stream.sequence");
  EXPECT_EQ(ComplaintAbout("1ns edge.cpu0.0 41 task sched:exit mood=1"),
            "line 1: cannot understand 'mood=1' of the event");
  EXPECT_EQ(ComplaintAbout("!moan"), "line 1: there is no record '!moan'");
  EXPECT_EQ(ComplaintAbout("!map path=\"x"), "line 1: the quoted text of 'path' does not end");
  EXPECT_EQ(ComplaintAbout("1ns edge.cpu0.0 41 task \x1b[1m"),
            "line 1: '\\x1b[1m' is no adapter:verb");
  EXPECT_NE(ComplaintAbout("hello world\n"), "");
}

TEST(TextQuote, HarmfulCharactersNeverComeOut) {
  std::string out;
  AppendQuoted("a\x1b[0m\n\"\\ \xc3\xa4 \xc2\x9b \xe2\x80\xae \xff", &out);
  EXPECT_EQ(out, "\"a\\x1b[0m\\x0a\\\"\\\\ \xc3\xa4 \\xc2\\x9b \\xe2\\x80\\xae \\xff\"");
  std::string_view rest = out;
  EXPECT_EQ(TakeQuoted(&rest), "a\x1b[0m\n\"\\ \xc3\xa4 \xc2\x9b \xe2\x80\xae \xff");
  EXPECT_TRUE(rest.empty());
}

}  // namespace
}  // namespace cprof
