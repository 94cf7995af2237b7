// Pass "order": one time order out of many streams, in bounded memory.
#include "report/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "tests/unit/recording_samples.h"

namespace cprof {
namespace {

using testing::MakeEvent;

bool InOrder(const Event& a, const Event& b) {
  return std::tuple(a.time_ns, a.stream, a.sequence) < std::tuple(b.time_ns, b.stream, b.sequence);
}

std::vector<uint64_t> Sequences(const Batch& batch) {
  std::vector<uint64_t> sequences;
  for (const Event& event : batch.events) sequences.push_back(event.sequence);
  return sequences;
}

TEST(Order, TheNextMarkReleasesWhatAMarkMadeFinal) {
  Orderer orderer;
  Batch batch;
  const std::vector<Event> events = {MakeEvent(0, 1, 10, 1), MakeEvent(0, 2, 20, 1),
                                     MakeEvent(0, 3, 30, 1)};
  orderer.AddEvents(0, events);
  orderer.Mark({20, {}}, &batch);
  EXPECT_EQ(batch.final_ns, 0U);
  EXPECT_TRUE(batch.events.empty());
  orderer.Mark({15, {}}, &batch);  // marks never go back
  EXPECT_EQ(batch.final_ns, 20U);
  EXPECT_FALSE(batch.last);
  EXPECT_EQ(Sequences(batch), (std::vector<uint64_t>{1}));
  orderer.Mark({15, {}}, &batch);
  EXPECT_EQ(batch.final_ns, 20U);
  EXPECT_TRUE(batch.events.empty());
  orderer.Finish(&batch);
  EXPECT_TRUE(batch.last);
  EXPECT_EQ(batch.final_ns, 31U);
  EXPECT_EQ(Sequences(batch), (std::vector<uint64_t>{2, 3}));
}

TEST(Order, EqualTimesGoByStreamThenSequence) {
  Orderer orderer;
  Batch batch;
  const std::vector<Event> second = {MakeEvent(1, 7, 10, 1), MakeEvent(1, 8, 10, 1)};
  const std::vector<Event> first = {MakeEvent(0, 6, 10, 1), MakeEvent(0, 5, 10, 1)};
  orderer.AddEvents(1, second);
  orderer.AddEvents(0, first);
  orderer.Mark({11, {}}, &batch);
  orderer.Mark({11, {}}, &batch);
  EXPECT_EQ(Sequences(batch), (std::vector<uint64_t>{5, 6, 7, 8}));
}

TEST(Order, InversionsWithinAndAcrossPiecesAreUndone) {
  Orderer orderer;
  Batch batch;
  const std::vector<Event> one = {MakeEvent(0, 1, 10, 1), MakeEvent(0, 3, 30, 1),
                                  MakeEvent(0, 2, 20, 1)};
  const std::vector<Event> two = {MakeEvent(0, 4, 25, 1), MakeEvent(0, 5, 40, 1)};
  orderer.AddEvents(0, one);
  orderer.AddEvents(0, two);
  orderer.Mark({100, {}}, &batch);
  orderer.Mark({100, {}}, &batch);
  EXPECT_EQ(Sequences(batch), (std::vector<uint64_t>{1, 2, 4, 3, 5}));
}

TEST(Order, BreaksComeWithTheBatchTheyBeginIn) {
  Orderer orderer;
  Batch batch;
  orderer.AddBreak({0, BreakReason::kRingFull, 50, 60, 1, 1, {}, "late"});
  orderer.AddBreak({0, BreakReason::kRingFull, 5, 60, 1, 1, {}, "early"});
  orderer.Mark({10, {}}, &batch);
  EXPECT_TRUE(batch.breaks.empty());
  orderer.Mark({10, {}}, &batch);
  ASSERT_EQ(batch.breaks.size(), 1U);
  EXPECT_EQ(batch.breaks[0].detail, "early");
  orderer.Finish(&batch);
  ASSERT_EQ(batch.breaks.size(), 1U);
  EXPECT_EQ(batch.breaks[0].detail, "late");
}

// The last events before a mark are not there, and only what comes behind the mark shows it: by an
// event that is late, by one that is as new as the next mark, or by one that is newer.
TEST(Order, WhatIsMissingBeforeAMarkHasABreakInTheBatchOfItsTime) {
  for (const uint64_t shown_by_ns : {20U, 60U, 95U}) {
    Orderer orderer;
    Batch batch;
    const std::vector<Event> first = {MakeEvent(0, 0, 10, 1)};
    orderer.AddEvents(0, first);
    orderer.Mark({50, {{0, 3, 0}}}, &batch);
    EXPECT_TRUE(batch.events.empty());
    const std::vector<Event> second = {MakeEvent(0, 2, shown_by_ns, 1)};
    orderer.AddEvents(0, second);
    orderer.Mark({90, {{0, 3, 0}}}, &batch);
    EXPECT_EQ(batch.final_ns, 50U);
    EXPECT_EQ(Sequences(batch), (std::vector<uint64_t>{0}));
    ASSERT_EQ(batch.breaks.size(), 1U) << shown_by_ns;
    EXPECT_EQ(batch.breaks[0].reason, BreakReason::kMissing);
    EXPECT_EQ(batch.breaks[0].from_ns, 10U);
    EXPECT_GE(batch.breaks[0].to_ns, 10U);
    EXPECT_EQ(batch.breaks[0].total, shown_by_ns < 50 ? 2U : 1U);
  }
}

// Against the plain definition: sort everything, cut at the marks.
TEST(Order, RandomStreamsGiveTheSortedWhole) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const StreamId stream_count = 1 + static_cast<StreamId>(random() % 9);
    const uint64_t disorder = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 10 : 2000;
    Orderer orderer;
    std::vector<Event> all, got;
    std::vector<uint64_t> clock(stream_count, 1000), sequence(stream_count);
    Batch batch;
    uint64_t final_ns = 0;
    for (int round = 0; round < 10; ++round) {
      for (StreamId stream = 0; stream < stream_count; ++stream) {
        std::vector<Event> events;
        for (size_t i = random() % 60; i > 0; --i) {
          clock[stream] += random() % 20;
          const uint64_t time_ns =
              std::max(final_ns, clock[stream] - std::min(clock[stream], random() % disorder));
          events.push_back(MakeEvent(stream, sequence[stream]++, time_ns, 1));
        }
        all.insert(all.end(), events.begin(), events.end());
        orderer.AddEvents(stream, events);
      }
      final_ns = std::max(final_ns, *std::min_element(clock.begin(), clock.end()));
      orderer.Mark({final_ns, {}}, &batch);
      for (const Event& event : batch.events) EXPECT_LT(event.time_ns, final_ns);
      got.insert(got.end(), batch.events.begin(), batch.events.end());
    }
    orderer.Finish(&batch);
    got.insert(got.end(), batch.events.begin(), batch.events.end());
    std::ranges::sort(all, InOrder);
    ASSERT_EQ(got, all) << "seed " << seed;
  }
}

TEST(Order, SamplesAreOrderedLikeEvents) {
  Orderer orderer;
  Batch batch;
  const std::vector<StackSample> one = {{MakeEvent(4, 1, 30, verbs::kSampleCpu), 1, {1, 2}, {3}}};
  const std::vector<StackSample> two = {{MakeEvent(2, 9, 20, verbs::kSampleCpu), 0.5, {4}, {}}};
  orderer.AddSamples(4, one);
  orderer.AddSamples(2, two);
  orderer.Mark({31, {}}, &batch);
  orderer.Mark({31, {}}, &batch);
  ASSERT_EQ(batch.samples.size(), 2U);
  EXPECT_EQ(batch.samples[0], two[0]);
  EXPECT_EQ(batch.samples[1], one[0]);
}

}  // namespace
}  // namespace cprof
