// What is written is what is read, for every kind of record.
#include <gtest/gtest.h>

#include "tests/unit/recording_samples.h"

namespace cprof {
namespace {

using testing::MakeEvent;
using testing::MakeSession;
using testing::RandomEvents;
using testing::ReadBytes;

struct Written {
  std::string bytes;
  std::unique_ptr<Writer> writer = MakeWriter(MakeStringSink(&bytes), {});
};

TEST(Recording, EveryKindOfRecordSurvives) {
  Written written;
  Writer& writer = *written.writer;
  const SessionHeader header = MakeSession(1);
  ASSERT_TRUE(writer.WriteHeader(header));
  const StreamInfo stream{3, StreamKind::kContextCpu, 1, 0, 0};
  ASSERT_TRUE(writer.WriteStream(stream));
  StackSample sample;
  sample.event = MakeEvent(3, 0, 2000, verbs::kSampleCpu);
  sample.event.arg = 1000000;
  sample.probability = 0.25;
  sample.user_frames = {0x5000, 0x4000, 0x7fff00000000};
  sample.kernel_frames = {0x100, 0x90};
  const std::vector<StackSample> samples(3, sample);
  ASSERT_TRUE(writer.WriteSamples(3, samples));
  const Break lost{3, BreakReason::kRingFull, 10, 20, 5, 0x8001, {{verbs::kSampleCpu, 5}}, "why"};
  ASSERT_TRUE(writer.WriteBreak(lost));
  const RoundMark mark{2500, {{3, 8, 5}}};
  ASSERT_TRUE(writer.WriteMark(mark));
  const std::vector<Mapping> mappings = {{41, 1, 0x1000, 0x2000, 0, "/bin/x", "\x01\x02"}};
  ASSERT_TRUE(writer.WriteMappings(mappings));
  const std::vector<KernelSymbol> symbols = {{0x100, "start"}, {0x80, "before"}};
  ASSERT_TRUE(writer.WriteKernelSymbols(symbols));
  ASSERT_TRUE(writer.WriteFooter({3000, mark, {{"exit_status", "0"}}}));
  EXPECT_EQ(writer.bytes_written(), written.bytes.size());

  const auto read = ReadBytes(written.bytes);
  ASSERT_TRUE(read->summary) << read->summary.error().message;
  EXPECT_TRUE(read->summary->clean_end);
  EXPECT_TRUE(read->summary->losses.empty());
  ASSERT_EQ(read->all.headers.size(), 1U);
  EXPECT_EQ(read->all.headers[0].session_id, header.session_id);
  EXPECT_EQ(read->all.headers[0].t0_ns, header.t0_ns);
  EXPECT_EQ(read->all.headers[0].wall_t0_ns, header.wall_t0_ns);
  EXPECT_EQ(read->all.headers[0].target_tgids, header.target_tgids);
  EXPECT_EQ(read->all.headers[0].adapters, header.adapters);
  EXPECT_EQ(read->all.headers[0].attributes, header.attributes);
  EXPECT_EQ(read->all.streams, std::vector{stream});
  EXPECT_EQ(read->all.samples, samples);
  EXPECT_EQ(read->all.breaks, std::vector{lost});
  EXPECT_EQ(read->all.marks, std::vector{mark});
  EXPECT_EQ(read->all.mappings, mappings);
  EXPECT_EQ(read->all.symbols, symbols);
  ASSERT_EQ(read->all.footers.size(), 1U);
  EXPECT_EQ(read->all.footers[0].end_ns, 3000U);
  EXPECT_EQ(read->all.footers[0].final_counters, mark);
  EXPECT_EQ(read->all.footers[0].attributes.at("exit_status"), "0");
}

TEST(Recording, RandomEventsSurvive) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    Written written;
    ASSERT_TRUE(written.writer->WriteHeader(MakeSession(1)));
    ASSERT_TRUE(written.writer->WriteStream({7, StreamKind::kEdgeCpu, 0, 0, 0}));
    const size_t count = seed < 40 ? 1 + random() % 50 : 20000 + random() % 20000;
    const auto events = RandomEvents(random, 7, count, written.writer.get());
    ASSERT_TRUE(written.writer->WriteEvents(7, events));
    ASSERT_TRUE(written.writer->WriteFooter({}));
    const auto read = ReadBytes(written.bytes);
    ASSERT_TRUE(read->summary);
    EXPECT_TRUE(read->summary->losses.empty());
    EXPECT_EQ(read->summary->events, events.size());
    ASSERT_EQ(read->all.events.size(), events.size());
    for (size_t i = 0; i < events.size(); ++i) {
      Event got = read->all.events[i];
      Event want = events[i];
      EXPECT_EQ(got.name == 0, want.name == 0);
      got.name = want.name = got.domain = want.domain = 0;
      ASSERT_EQ(got, want) << "seed " << seed << " event " << i;
    }
  }
}

TEST(Recording, NamesKeepTheirText) {
  Written written;
  ASSERT_TRUE(written.writer->WriteHeader(MakeSession(1)));
  ASSERT_TRUE(written.writer->WriteStream({0, StreamKind::kApp, 0, 41, 2}));
  std::vector<Event> events;
  for (uint64_t i = 0; i < 100; ++i) {
    Event event = MakeEvent(0, i, i, verbs::kAppBegin);
    event.name = written.writer->Intern("name " + std::to_string(99 - i));
    event.domain = written.writer->Intern(i % 2 == 0 ? "even" : "odd");
    events.push_back(event);
  }
  ASSERT_TRUE(written.writer->WriteEvents(0, std::span(events).first(50)));
  ASSERT_TRUE(written.writer->WriteEvents(0, std::span(events).subspan(50)));
  const auto read = ReadBytes(written.bytes);
  ASSERT_TRUE(read->summary);
  ASSERT_EQ(read->all.events.size(), 100U);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(read->strings.Get(read->all.events[i].name), "name " + std::to_string(99 - i));
    EXPECT_EQ(read->strings.Get(read->all.events[i].domain), i % 2 == 0 ? "even" : "odd");
  }
}

}  // namespace
}  // namespace cprof
