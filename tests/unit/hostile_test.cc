// Recordings made to harm: valid checksums around counts that lie. Memory stays bounded.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>

#include "format/chunk.h"
#include "format/column.h"
#include "format/cursor.h"
#include "tests/unit/recording_samples.h"

namespace {

std::atomic<size_t> live_bytes{0};
std::atomic<size_t> peak_bytes{0};

void* Allocate(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  const size_t live = live_bytes += malloc_usable_size(memory);
  size_t peak = peak_bytes;
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return memory;
}

void Free(void* memory) {
  live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }

namespace cprof {
namespace {

// What a reader may hold for one chunk: stored and raw payload, events and columns.
constexpr size_t kMostBytes = 96u << 20;

struct Outcome {
  ReadSummary summary;
  size_t events = 0;
  size_t peak_bytes = 0;
};

// Counts only, so that what is kept is the reader's own.
class Counter : public RecordingVisitor {
 public:
  void OnEvents(StreamId, std::span<const Event> more) override { events += more.size(); }
  size_t events = 0;
};

Outcome ReadBytes(std::string bytes) {
  const auto source = MakeStringSource(std::move(bytes));
  StringTable strings;
  Counter counter;
  const size_t before = live_bytes;
  peak_bytes = before;
  const auto summary = ReadRecording(*source, strings, counter);
  EXPECT_TRUE(summary);
  return {*summary, counter.events, peak_bytes - before};
}

Outcome ReadChunks(const std::vector<std::pair<ChunkHeader, Builder>>& chunks) {
  std::string bytes;
  const auto append = [&bytes](std::span<const uint8_t> more) {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
  };
  append(EncodePreamble());
  uint64_t number = 0;
  for (const auto& [given, payload] : chunks) {
    ChunkHeader header = given;
    header.session = 1;
    header.number = number++;
    header.stored_size = static_cast<uint32_t>(payload.size());
    if (header.raw_size == 0) header.raw_size = header.stored_size;
    header.payload_checksum = PayloadChecksum(payload.bytes());
    append(EncodeChunkHeader(header));
    append(payload.bytes());
    bytes.resize((bytes.size() + 7) / 8 * 8);
  }
  return ReadBytes(std::move(bytes));
}

ChunkHeader HeaderOf(ChunkType type, uint32_t records, StreamId stream = 0) {
  ChunkHeader header;
  header.type = static_cast<uint16_t>(type);
  header.records = records;
  header.stream = stream;
  return header;
}

void Numbers(Builder& out, std::initializer_list<uint64_t> numbers) {
  for (const uint64_t number : numbers) out.Varint(number);
}

// Stream and two empty tables.
void EventPrologue(Builder& out) { Numbers(out, {0, 0, 0, 0, 0, 0}); }

void Constant(Builder& out, uint64_t value) {
  Builder body;
  body.Varint(value);
  Numbers(out, {0, body.size()});
  out.Bytes(body.bytes());
}

Outcome ReadEvents(uint32_t records, const std::function<void(Builder&)>& fill) {
  Builder payload;
  fill(payload);
  return ReadChunks({{HeaderOf(ChunkType::kEvents, records), payload}});
}

void ExpectDamaged(const Outcome& outcome, uint64_t records) {
  EXPECT_EQ(testing::LossOf(outcome.summary, "damaged_chunk").count, 1U);
  EXPECT_EQ(testing::LossOf(outcome.summary, "damaged_chunk").records, records);
  EXPECT_EQ(outcome.events, 0U);
  EXPECT_LT(outcome.peak_bytes, kMostBytes);
}

TEST(Hostile, ManyEventsInFewBytesAreBounded) {
  const Outcome outcome = ReadEvents(kMaxChunkRecords, [](Builder& out) {
    EventPrologue(out);
    for (int i = 0; i < 6; ++i) Constant(out, i == 0 ? 1 : 0);
    Numbers(out, {1, 1, kMaxChunkRecords, 0});
  });
  EXPECT_EQ(outcome.events, kMaxChunkRecords);
  EXPECT_LT(outcome.peak_bytes, kMostBytes);
}

TEST(Hostile, CountsBeyondTheLimitAreNoHeader) {
  const Outcome outcome =
      ReadEvents(kMaxChunkRecords + 1, [](Builder& out) { EventPrologue(out); });
  EXPECT_EQ(testing::LossOf(outcome.summary, "unreadable_bytes").count, 1U);
  EXPECT_EQ(outcome.events, 0U);
  EXPECT_LT(outcome.peak_bytes, kMostBytes);
}

// Memory follows what has come of a file, not what a header says will come.
TEST(Hostile, ClaimedSizeOfAChunkTakesNoMemory) {
  ChunkHeader header = HeaderOf(ChunkType::kEvents, 1);
  header.session = 1;
  header.stored_size = header.raw_size = kMaxChunkBytes;
  const auto preamble = EncodePreamble();
  const auto encoded = EncodeChunkHeader(header);
  std::string bytes(preamble.begin(), preamble.end());
  bytes.append(encoded.begin(), encoded.end());
  const Outcome outcome = ReadBytes(std::move(bytes));
  EXPECT_EQ(testing::LossOf(outcome.summary, "torn_tail").records, 1U);
  EXPECT_LT(outcome.peak_bytes, 64U << 10);
}

TEST(Hostile, TablesThatClaimTooMuchAreRefused) {
  for (const uint64_t count : {uint64_t{5}, uint64_t{1} << 20, ~uint64_t{0}}) {
    ExpectDamaged(ReadEvents(9, [count](Builder& out) { Numbers(out, {0, 0, 0, 0, count}); }), 9);
    ExpectDamaged(ReadEvents(9,
                             [count](Builder& out) {
                               Numbers(out, {0, 0, 0, 0, 0, count});
                             }),
                  9);
  }
}

TEST(Hostile, GroupsMustHaveTheEventsOfTheChunk) {
  for (const uint64_t count : {uint64_t{0}, uint64_t{2}, uint64_t{4}, ~uint64_t{0}}) {
    ExpectDamaged(ReadEvents(3,
                             [count](Builder& out) {
                               EventPrologue(out);
                               for (int i = 0; i < 6; ++i) Constant(out, i == 0 ? 1 : 0);
                               Numbers(out, {1, 1, count, 0});
                             }),
                  3);
  }
}

TEST(Hostile, IdsOutsideTheirTablesAreRefused) {
  for (uint64_t id = 1; id < 11; ++id) {
    const Outcome outcome = ReadEvents(3, [id](Builder& out) {
      EventPrologue(out);
      for (int i = 0; i < 6; ++i) Constant(out, i == 0 ? 1 : 0);
      Numbers(out, {1, 1, 3, 1, id});
      Constant(out, 1);
    });
    const bool is_index = id >= 7;
    EXPECT_EQ(outcome.events, is_index ? 0U : 3U) << id;
  }
  // Executing thread, level and flags.
  for (const int column : {3, 4, 5}) {
    ExpectDamaged(ReadEvents(3,
                             [column](Builder& out) {
                               EventPrologue(out);
                               for (int i = 0; i < 6; ++i) Constant(out, i == column ? 1 << 20 : 0);
                               Numbers(out, {1, 0, 3, 0});
                             }),
                  3);
  }
}

TEST(Hostile, UnknownColumnsArePassedOver) {
  const Outcome outcome = ReadEvents(3, [](Builder& out) {
    EventPrologue(out);
    for (int i = 0; i < 6; ++i) Constant(out, i == 0 ? 1 : 0);
    Numbers(out, {1, 1, 3, 2, 99});
    Constant(out, 1);
    Numbers(out, {98, 77, 2, 1, 1});  // an encoding of the future
  });
  EXPECT_EQ(outcome.events, 3U);
  EXPECT_TRUE(testing::LossOf(outcome.summary, "damaged_chunk").name.empty());
}

TEST(Hostile, ColumnsMustFillTheirRows) {
  const auto with_body = [](uint64_t encoding, std::initializer_list<uint64_t> body) {
    return [encoding, body = std::vector<uint64_t>(body)](Builder& out) {
      EventPrologue(out);
      for (int i = 0; i < 6; ++i) Constant(out, i == 0 ? 1 : 0);
      Numbers(out, {1, 1, 3, 1, 1});
      Builder bytes;
      for (const uint64_t number : body) bytes.Varint(number);
      Numbers(out, {encoding, bytes.size()});
      out.Bytes(bytes.bytes());
    };
  };
  EXPECT_EQ(ReadEvents(3, with_body(2, {0, 1, 1, 2, 3})).events, 3U);
  ExpectDamaged(ReadEvents(3, with_body(2, {0, 1, 1, 2})), 3);           // too short
  ExpectDamaged(ReadEvents(3, with_body(2, {0, 0, 1, 2, 3})), 3);        // no width
  ExpectDamaged(ReadEvents(3, with_body(2, {0, 9, 1, 2, 3})), 3);        // too wide
  ExpectDamaged(ReadEvents(3, with_body(3, {0, 0, 1, 2})), 3);           // a step is missing
  ExpectDamaged(ReadEvents(3, with_body(4, {1, 1, 7, 0, 0, 1})), 3);     // index beyond entries
  ExpectDamaged(ReadEvents(3, with_body(4, {0, 1, 0, 0, 0})), 3);        // no entries
  ExpectDamaged(ReadEvents(3, with_body(4, {1 << 30, 1, 0, 0, 0})), 3);  // entries not there
  ExpectDamaged(ReadEvents(3, with_body(5, {7, 2})), 3);                 // runs too short
  ExpectDamaged(ReadEvents(3, with_body(5, {7, ~uint64_t{0}})), 3);      // runs too long
  ExpectDamaged(ReadEvents(3, with_body(5, {7, 0, 7, 3})), 3);           // a run of nothing
}

TEST(Hostile, FramesOfZstdMustAgreeWithTheHeader) {
  Builder raw;
  raw.Room(1000);
  Compressor compressor(1);
  Codec codec{};
  const auto stored = compressor.Compress(raw.bytes(), &codec);
  ASSERT_EQ(codec, Codec::kZstd);
  Builder payload;
  payload.Bytes(stored);
  for (const uint32_t size : {uint32_t{10}, uint32_t{1001}, kMaxChunkBytes}) {
    ChunkHeader header = HeaderOf(ChunkType::kEvents, 7);
    header.codec = static_cast<uint16_t>(Codec::kZstd);
    header.raw_size = size;
    ExpectDamaged(ReadChunks({{header, payload}}), 7);
  }
}

TEST(Hostile, ListsOfOtherRecordsAreBounded) {
  for (const ChunkType type :
       {ChunkType::kSession, ChunkType::kBreak, ChunkType::kMark, ChunkType::kFooter,
        ChunkType::kMappings, ChunkType::kKernelSymbols, ChunkType::kSamples}) {
    Builder payload;
    auto room = payload.Room(15u << 20);
    std::fill(room.begin(), room.end(), uint8_t{1});
    const Outcome outcome = ReadChunks({{HeaderOf(type, 65536), payload}});
    EXPECT_LT(outcome.peak_bytes, kMostBytes) << static_cast<int>(type);
    std::fill(room.begin(), room.end(), uint8_t{0xff});
    EXPECT_LT(ReadChunks({{HeaderOf(type, 65536), payload}}).peak_bytes, kMostBytes);
  }
}

TEST(Hostile, StreamIdsBeyondTheLimitAreRefused) {
  Builder payload;
  Numbers(payload, {0, 0, 0, 0});
  const Outcome outcome = ReadChunks({{HeaderOf(ChunkType::kStream, 1, kMaxStreams), payload}});
  EXPECT_EQ(testing::LossOf(outcome.summary, "damaged_chunk").count, 1U);
}

TEST(Hostile, RandomPayloadsNeverCrash) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {
    Builder payload;
    const auto room = payload.Room(random() % 300);
    for (uint8_t& byte : room)
      byte = static_cast<uint8_t>(random() % (random() % 4 == 0 ? 256 : 8));
    const auto type = static_cast<ChunkType>(1 + random() % 10);
    const auto records = static_cast<uint32_t>(random() % 20);
    const Outcome outcome = ReadChunks({{HeaderOf(type, records), payload}});
    ASSERT_LT(outcome.peak_bytes, kMostBytes);
  }
}

TEST(Hostile, TheStringTableIsBounded) {
  StringTable strings;
  for (uint32_t i = 0; i < kMaxStrings + 10; ++i) strings.Intern(std::to_string(i));
  EXPECT_EQ(strings.size(), kMaxStrings);
  EXPECT_EQ(strings.Get(strings.Intern("one more")), "[too many names]");
  EXPECT_EQ(strings.Get(strings.Intern("17")), "17");
  EXPECT_EQ(strings.Get(strings.Intern(std::string(10000, 'x'))), "[too many names]");
  EXPECT_EQ(StringTable().Intern(""), 0U);
}

TEST(Hostile, ALongNameIsCut) {
  StringTable strings;
  EXPECT_EQ(strings.Get(strings.Intern(std::string(10000, 'x'))),
            std::string(kMaxStringBytes, 'x'));
}

}  // namespace
}  // namespace cprof
