// Faults put into a recording: what is lost adds up, the same seed gives the same bytes, and what a
// recorder could never write is told and joined to nothing.
#include "format/inject.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "report/event_text.h"
#include "report/pipeline.h"

namespace cprof {
namespace {

constexpr uint64_t kRounds = 40;
constexpr uint64_t kEventsOfARound = 500;  // of each stream

// Three streams on which requests are submitted and completed, with a mark after each round.
std::string MakeRecording() {
  std::string bytes;
  const auto writer = MakeWriter(MakeStringSink(&bytes), {});
  SessionHeader header;
  header.t0_ns = 1;
  header.cpu_count = 2;
  EXPECT_TRUE(writer->WriteHeader(header));
  const StreamInfo streams[] = {{0, StreamKind::kEdgeCpu, 0, 0, 0},
                                {1, StreamKind::kEdgeCpu, 1, 0, 0},
                                {2, StreamKind::kApp, 0, 40, 1},
                                {3, StreamKind::kContextCpu, 0, 0, 0}};
  for (const StreamInfo& stream : streams) EXPECT_TRUE(writer->WriteStream(stream));
  uint64_t time_ns = 1000;
  RoundMark mark;
  for (uint64_t round = 0; round < kRounds; ++round) {
    std::vector<Event> events[3];
    std::vector<StackSample> samples;
    for (uint64_t i = 0; i < kEventsOfARound; ++i) {
      for (StreamId stream = 0; stream < 3; ++stream) {
        Event event;
        event.time_ns = time_ns += 1000;
        event.sequence = round * kEventsOfARound + i;
        event.stream = stream;
        event.tid = event.tgid = 40;
        event.start_time_ns = 9;
        event.verb = stream == 2 ? (i % 2 == 0 ? verbs::kAppBegin : verbs::kAppEnd)
                                 : (i % 2 == 0 ? verbs::kIoUringSubmit : verbs::kIoUringComplete);
        event.key.lo = stream == 2 ? i / 2 % 7 : (stream + 1) * 0x100 + i / 2 % 13;
        event.key2.lo = stream == 2 ? 0 : 0x77;
        // The user_data is used again all the time, so that no attribute can tell two lives apart.
        event.arg = stream == 2 ? uint64_t{1} : i / 2 % 3;
        if (stream == 2 && i % 2 == 0) event.name = writer->Intern("request");
        events[stream].push_back(event);
      }
    }
    for (uint64_t i = 0; i < 20; ++i) {
      StackSample sample;
      sample.event.time_ns = time_ns - i;
      sample.event.sequence = round * 20 + i;
      sample.event.stream = 3;
      sample.event.tid = sample.event.tgid = 40;
      sample.event.start_time_ns = 9;
      sample.event.verb = verbs::kSampleCpu;
      sample.event.arg = 1'000'000;
      samples.push_back(sample);
    }
    for (StreamId stream = 0; stream < 3; ++stream) {
      EXPECT_TRUE(writer->WriteEvents(stream, events[stream]));
    }
    EXPECT_TRUE(writer->WriteSamples(3, samples));
    mark.final_ns = time_ns + 1;
    mark.counters.clear();
    for (StreamId stream = 0; stream < 3; ++stream) {
      mark.counters.push_back({stream, (round + 1) * kEventsOfARound, 0});
    }
    mark.counters.push_back({3, (round + 1) * 20, 0});
    EXPECT_TRUE(writer->WriteMark(mark));
  }
  Footer footer;
  footer.end_ns = time_ns + 2;
  footer.final_counters = mark;
  EXPECT_TRUE(writer->WriteFooter(footer));
  return bytes;
}

std::string Inject(const std::string& bytes, const InjectOptions& options,
                   InjectSummary* summary = nullptr) {
  std::string out;
  StringTable strings;
  const auto sink = MakeStringSink(&out);
  Injector injector(strings, options, *sink);
  const auto source = MakeStringSource(bytes);
  EXPECT_TRUE(ReadRecording(*source, strings, injector));
  const auto injected = injector.Finish();
  EXPECT_TRUE(injected);
  if (injected && summary != nullptr) *summary = *injected;
  return out;
}

std::string Text(const std::string& bytes) {
  std::string text;
  StringTable strings;
  const auto printer = MakeTextPrinter(strings, &text);
  const auto source = MakeStringSource(bytes);
  EXPECT_TRUE(ReadRecording(*source, strings, *printer));
  return text;
}

struct Contents : RecordingVisitor {
  struct Stream {
    std::set<uint64_t> sequences;
    uint64_t records = 0;
    uint64_t lost = 0, injected = 0;
    RoundMark::Counter counter;
    std::map<Verb, uint64_t> verbs, lost_verbs;
  };
  std::map<StreamId, Stream> streams;
  std::vector<Break> breaks;
  std::vector<Event> events;
  uint64_t final_ns = 0;
  ReadSummary summary;

  void Take(StreamId id, const Event& event) {
    ++streams[id].records;
    ++streams[id].verbs[event.verb];
    streams[id].sequences.insert(event.sequence);
  }
  void OnEvents(StreamId id, std::span<const Event> values) override {
    for (const Event& event : values) Take(id, event);
    events.insert(events.end(), values.begin(), values.end());
  }
  void OnSamples(StreamId id, std::span<const StackSample> values) override {
    for (const StackSample& sample : values) Take(id, sample.event);
  }
  void OnBreak(const Break& lost) override {
    if (lost.reason == BreakReason::kInjected) {
      // It stands before the mark that makes its beginning final.
      EXPECT_GE(lost.from_ns, final_ns);
      streams[lost.stream].injected += lost.total;
    }
    breaks.push_back(lost);
    streams[lost.stream].lost += lost.total;
    for (const auto& [verb, count] : lost.lost) streams[lost.stream].lost_verbs[verb] += count;
  }
  void OnMark(const RoundMark& mark) override {
    final_ns = mark.final_ns;
    for (const auto& counter : mark.counters) {
      EXPECT_EQ(counter.lost, streams[counter.stream].injected);
    }
  }
  void OnFooter(const Footer& footer) override {
    for (const auto& counter : footer.final_counters.counters) {
      streams[counter.stream].counter = counter;
    }
  }
};

Contents Read(const std::string& bytes) {
  Contents contents;
  StringTable strings;
  const auto source = MakeStringSource(bytes);
  const auto summary = ReadRecording(*source, strings, contents);
  EXPECT_TRUE(summary);
  if (summary) contents.summary = *summary;
  return contents;
}

// What the whole line makes of a recording.
struct Outcome : ReportSink {
  std::vector<Edge> edges;
  std::map<OrphanReason, uint64_t> orphans;
  std::vector<Break> breaks;
  GraphSummary summary;
  ReadSummary read;
  void OnEdge(const Edge& edge) override { edges.push_back(edge); }
  void OnOrphan(const Orphan& orphan) override { ++orphans[orphan.reason]; }
  void OnBreak(BreakId, const Break& lost) override { breaks.push_back(lost); }
  void OnSummary(const GraphSummary& value) override { summary = value; }
  uint64_t LossRecords(const std::string& name) const {
    for (const LossEntry& entry : read.losses) {
      if (entry.name == name) return entry.records;
    }
    return 0;
  }
};

Outcome Join(const std::string& bytes) {
  Outcome outcome;
  StringTable strings;
  const auto source = MakeStringSource(bytes);
  const auto read = RunPipeline(*source, strings, {}, outcome);
  EXPECT_TRUE(read);
  if (read) outcome.read = *read;
  EXPECT_EQ(outcome.summary.half_edges, outcome.summary.joined + outcome.summary.orphans);
  return outcome;
}

// Both ends of a completion are of one stream here, one number apart: anything else is false.
uint64_t FalseJoins(const Outcome& outcome) {
  uint64_t wrong = 0;
  for (const Edge& edge : outcome.edges) {
    if (edge.type != EdgeType::kComplete) continue;
    const bool is_true = edge.src_event.stream == edge.dst_event.stream &&
                         edge.src_event.sequence + 1 == edge.dst_event.sequence;
    if (!is_true) ++wrong;
  }
  return wrong;
}

TEST(Inject, NothingInjectedLeavesTheRecordingAsItWas) {
  const std::string bytes = MakeRecording();
  EXPECT_EQ(Text(Inject(bytes, {})), Text(bytes));
}

TEST(Inject, WhatIsLostAddsUpAtEveryRateAndBurst) {
  const std::string bytes = MakeRecording();
  const Contents whole = Read(bytes);
  for (const double rate : {0.001, 0.01, 0.1, 0.5, 1.0}) {
    for (const uint32_t burst : {1U, 20U, 300U}) {
      InjectOptions options;
      options.drop = rate;
      options.burst = burst;
      InjectSummary summary;
      const Contents rest = Read(Inject(bytes, options, &summary));
      uint64_t lost = 0;
      for (const auto& [id, stream] : rest.streams) {
        EXPECT_EQ(stream.counter.attempted, stream.records + stream.lost) << rate << " " << burst;
        EXPECT_EQ(stream.counter.lost, stream.lost);
        for (const auto& [verb, count] : whole.streams.at(id).verbs) {
          const auto kept = stream.verbs.find(verb);
          const auto gone = stream.lost_verbs.find(verb);
          EXPECT_EQ(count, (kept == stream.verbs.end() ? 0 : kept->second) +
                               (gone == stream.lost_verbs.end() ? 0 : gone->second));
        }
        lost += stream.lost;
      }
      EXPECT_EQ(lost, summary.dropped);
      EXPECT_EQ(rest.breaks.size(), summary.breaks);
      const double share = static_cast<double>(lost) / static_cast<double>(summary.records);
      EXPECT_NEAR(share, rate, 0.02 + rate * 0.25) << "bursts of " << burst;
      if (rate == 1.0) {
        EXPECT_EQ(lost, summary.records);
      }
    }
  }
}

TEST(Inject, ABreakCoversTheTimesAndKeysOfWhatWasLost) {
  const std::string bytes = MakeRecording();
  InjectOptions options;
  options.drop = 0.05;
  const Contents whole = Read(bytes), rest = Read(Inject(bytes, options));
  uint64_t looked_at = 0;
  for (const Event& event : whole.events) {
    if (rest.streams.at(event.stream).sequences.contains(event.sequence)) continue;
    ++looked_at;
    const uint64_t bits = SignatureBit(event.key.lo) | SignatureBit(event.key2.lo);
    EXPECT_TRUE(std::any_of(rest.breaks.begin(), rest.breaks.end(), [&](const Break& lost) {
      return lost.stream == event.stream && lost.from_ns <= event.time_ns &&
             event.time_ns <= lost.to_ns && (lost.signature & bits) == bits &&
             lost.reason == BreakReason::kInjected;
    }));
  }
  EXPECT_GT(looked_at, 100U);
}

TEST(Inject, TheSameSeedGivesTheSameBytesAndAnotherSeedOthers) {
  const std::string bytes = MakeRecording();
  InjectOptions options;
  options.drop = options.duplicate = options.delay = options.truncate = 0.02;
  options.seed = 7;
  const std::string first = Inject(bytes, options);
  EXPECT_EQ(first, Inject(bytes, options));
  options.seed = 8;
  EXPECT_NE(first, Inject(bytes, options));
}

TEST(Inject, OneFaultDoesNotMoveAnother) {
  const std::string bytes = MakeRecording();
  InjectOptions options;
  options.drop = 0.02;
  const Contents alone = Read(Inject(bytes, options));
  options.duplicate = 0.5;
  const Contents both = Read(Inject(bytes, options));
  for (const auto& [id, stream] : alone.streams) {
    EXPECT_EQ(stream.sequences, both.streams.at(id).sequences);
  }
  // And a greater rate takes what a smaller one took.
  options.drop = 0.2;
  const Contents more = Read(Inject(bytes, options));
  for (const auto& [id, stream] : more.streams) {
    for (const uint64_t number : stream.sequences) {
      EXPECT_TRUE(alone.streams.at(id).sequences.contains(number));
    }
  }
}

TEST(Inject, AdapterAndPlaneChooseWhatIsLost) {
  const std::string bytes = MakeRecording();
  InjectOptions options;
  options.drop = 1;
  options.adapters = {Adapter::kApp};
  Contents rest = Read(Inject(bytes, options));
  EXPECT_EQ(rest.streams[0].lost + rest.streams[1].lost + rest.streams[3].lost, 0U);
  EXPECT_EQ(rest.streams[2].lost, kRounds * kEventsOfARound);
  options.adapters.clear();
  options.plane = InjectOptions::Plane::kContext;
  rest = Read(Inject(bytes, options));
  EXPECT_EQ(rest.streams[0].lost + rest.streams[1].lost + rest.streams[2].lost, 0U);
  EXPECT_EQ(rest.streams[3].lost, kRounds * 20);
  options.plane = InjectOptions::Plane::kEdge;
  rest = Read(Inject(bytes, options));
  EXPECT_EQ(rest.streams[3].lost, 0U);
  EXPECT_EQ(rest.streams[1].lost, kRounds * kEventsOfARound);
}

TEST(Inject, NoLossMakesAFalseJoin) {
  const std::string bytes = MakeRecording();
  EXPECT_EQ(FalseJoins(Join(bytes)), 0U);
  for (const double rate : {0.001, 0.01, 0.1, 0.5}) {
    for (const uint32_t burst : {1U, 50U}) {
      InjectOptions options;
      options.drop = rate;
      options.burst = burst;
      const Outcome outcome = Join(Inject(bytes, options));
      EXPECT_EQ(FalseJoins(outcome), 0U) << rate << " " << burst;
      EXPECT_EQ(outcome.orphans.count(OrphanReason::kUnexplained), 0U) << rate << " " << burst;
      EXPECT_TRUE(outcome.read.losses.empty());
    }
  }
}

TEST(Inject, RepeatedRecordsAreLeftOutAndCounted) {
  const std::string bytes = MakeRecording();
  const Outcome whole = Join(bytes);
  for (const uint32_t burst : {1U, 10U}) {
    InjectOptions options;
    options.duplicate = 0.1;
    options.burst = burst;
    InjectSummary summary;
    const Outcome outcome = Join(Inject(bytes, options, &summary));
    EXPECT_GT(summary.duplicated, 100U);
    EXPECT_EQ(outcome.LossRecords("repeated_record"), summary.duplicated);
    // What is left is the recording as it was.
    EXPECT_EQ(outcome.summary.events, whole.summary.events);
    EXPECT_EQ(outcome.summary.edges_observed, whole.summary.edges_observed);
    EXPECT_EQ(outcome.summary.orphans, whole.summary.orphans);
    EXPECT_TRUE(outcome.breaks.empty());
  }
}

TEST(Inject, LateRecordsAreLostAndABreakStandsForThem) {
  const std::string bytes = MakeRecording();
  for (const auto& [rate, burst] : {std::pair(0.001, 1U), {0.01, 1U}, {0.1, 1U}, {0.1, 50U}}) {
    InjectOptions options;
    options.delay = rate;
    options.burst = burst;
    InjectSummary summary;
    const Outcome outcome = Join(Inject(bytes, options, &summary));
    EXPECT_GT(summary.delayed, 0U);
    EXPECT_EQ(outcome.LossRecords("late_record"), summary.delayed);
    EXPECT_EQ(outcome.LossRecords("missing_record"), summary.delayed);
    EXPECT_EQ(FalseJoins(outcome), 0U) << rate;
    uint64_t told = 0;
    for (const Break& lost : outcome.breaks) {
      EXPECT_EQ(lost.reason, BreakReason::kMissing);
      told += lost.total;
    }
    EXPECT_EQ(told, summary.delayed);
  }
}

TEST(Inject, CutChunksAreDamageAndAddUp) {
  const std::string bytes = MakeRecording();
  for (const uint32_t burst : {1U, 3U}) {
    InjectOptions options;
    options.truncate = 0.2;
    options.burst = burst;
    InjectSummary summary;
    const std::string cut = Inject(bytes, options, &summary);
    EXPECT_GT(summary.truncated_chunks, 5U);
    const Contents rest = Read(cut);
    uint64_t lost = 0;
    for (const auto& [id, stream] : rest.streams) {
      if (id == kEveryStream) continue;
      EXPECT_EQ(stream.counter.attempted, stream.records + stream.lost);
      lost += stream.lost;
    }
    EXPECT_EQ(lost, summary.truncated);
    const Outcome outcome = Join(cut);
    EXPECT_EQ(FalseJoins(outcome), 0U);
    EXPECT_EQ(outcome.LossRecords("damaged_chunk"), summary.truncated);
    EXPECT_EQ(outcome.LossRecords("missing_record"), 0U);
  }
}

TEST(Inject, WhatARecordingLosesWithoutAWordIsFound) {
  // A break that says less than was lost: the rest is missing.
  const std::string bytes = MakeRecording();
  StringTable strings;
  std::string text = Text(bytes);
  std::string rest;
  std::istringstream lines(text);
  uint64_t removed = 0, number = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_event = !line.empty() && line[0] != '!';
    if (is_event && line.find("edge.cpu1.") != std::string::npos && ++number % 1000 == 500) {
      ++removed;
      continue;
    }
    rest += line + "\n";
  }
  Outcome outcome;
  const auto source = MakeStringSource(rest);
  const auto read = RunPipeline(*source, strings, {}, outcome);
  ASSERT_TRUE(read);
  outcome.read = *read;
  EXPECT_EQ(outcome.LossRecords("missing_record"), removed);
  EXPECT_EQ(outcome.breaks.size(), removed);
  EXPECT_EQ(FalseJoins(outcome), 0U);
  EXPECT_EQ(outcome.orphans.count(OrphanReason::kUnexplained), 0U);
}

TEST(Inject, SharesAreReadAsPercentOrAsAFraction) {
  EXPECT_EQ(ParseShare("1%"), 0.01);
  EXPECT_EQ(ParseShare("0.5 %"), 0.005);
  EXPECT_EQ(ParseShare("0.25"), 0.25);
  EXPECT_EQ(ParseShare("100%"), 1.0);
  EXPECT_EQ(ParseShare("0"), 0.0);
  for (const char* bad : {"", "%", "101%", "-1%", "1.5", "1%%", "nan", "x", "1 per cent"}) {
    EXPECT_FALSE(ParseShare(bad)) << bad;
  }
}

}  // namespace
}  // namespace cprof
