// Damaged recordings: no crash, and the ledger and the breaks say exactly what is gone.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "format/chunk.h"
#include "tests/unit/recording_samples.h"

namespace cprof {
namespace {

using testing::LossOf;
using testing::MakeEvent;
using testing::MakeSession;
using testing::ReadBytes;

struct Piece {
  size_t begin;
  size_t end;
  size_t events;  // in it
  StreamId stream;
  uint64_t first_ns;
  uint64_t last_ns;
};

struct Sample {
  std::string bytes;
  std::vector<Piece> pieces;  // one a chunk
  size_t events = 0;
};

std::vector<Event> Events(StreamId stream, uint64_t sequence, uint64_t time_ns, size_t count) {
  std::vector<Event> events;
  for (size_t i = 0; i < count; ++i) {
    Event event = MakeEvent(stream, sequence + i, time_ns + 10 * i,
                            i % 2 == 0 ? verbs::kIoUringSubmit : verbs::kIoUringComplete);
    event.key.lo = 0x9e3779b97f4a7c15 * (1 + i / 2);
    event.arg = i / 2;
    events.push_back(event);
  }
  return events;
}

Sample MakeSample(uint8_t seed) {
  Sample sample;
  const auto writer = MakeWriter(MakeStringSink(&sample.bytes), {});
  size_t begin = kPreambleSize;
  const auto piece = [&](const Result<void>& result, std::span<const Event> events = {}) {
    EXPECT_TRUE(result);
    Piece made{begin, sample.bytes.size(), events.size(), kEveryStream, 0, 0};
    if (!events.empty()) {
      made.stream = events.front().stream;
      made.first_ns = events.front().time_ns;
      made.last_ns = events.back().time_ns;
    }
    sample.pieces.push_back(made);
    sample.events += events.size();
    begin = sample.bytes.size();
  };
  const auto a = Events(0, 0, 2000, 5), b = Events(1, 0, 2100, 9), c = Events(0, 5, 3000, 40);
  piece(writer->WriteHeader(MakeSession(seed)));
  piece(writer->WriteStream({0, StreamKind::kEdgeCpu, 0, 0, 0}));
  piece(writer->WriteStream({1, StreamKind::kEdgeCpu, 1, 0, 0}));
  piece(writer->WriteEvents(0, a), a);
  piece(writer->WriteEvents(1, b), b);
  piece(writer->WriteMark({2500, {{0, 5, 0}, {1, 9, 0}}}));
  piece(writer->WriteEvents(0, c), c);
  piece(writer->WriteBreak({1, BreakReason::kRingFull, 2600, 2700, 3, 1, {}, ""}));
  piece(writer->WriteMark({4000, {}}));
  piece(writer->WriteFooter({4100, {}, {}}));
  return sample;
}

uint64_t LostIn(const std::vector<Break>& breaks, BreakReason reason) {
  uint64_t total = 0;
  for (const Break& lost : breaks) {
    if (lost.reason == reason) total += lost.total;
  }
  return total;
}

// A break of that reason covers all events of the piece.
bool Covers(const std::vector<Break>& breaks, BreakReason reason, const Piece& piece) {
  for (const Break& lost : breaks) {
    if (lost.reason == reason && (lost.stream == piece.stream || lost.stream == kEveryStream) &&
        lost.from_ns <= piece.first_ns && lost.to_ns >= piece.last_ns &&
        lost.signature == ~uint64_t{0} && lost.lost.empty()) {
      return true;
    }
  }
  return false;
}

TEST(Damage, TheWholeRecordingHasNoLosses) {
  const Sample sample = MakeSample(1);
  const auto read = ReadBytes(sample.bytes);
  ASSERT_TRUE(read->summary);
  EXPECT_TRUE(read->summary->clean_end);
  EXPECT_TRUE(read->summary->losses.empty());
  EXPECT_EQ(read->all.events.size(), sample.events);
  EXPECT_EQ(read->all.breaks.size(), 1U);
}

TEST(Damage, TornTailIsNotDamageAtAnyByte) {
  const Sample sample = MakeSample(1);
  // Without the padding behind the footer the recording is still whole.
  const auto footer = DecodeChunkHeader(
      {reinterpret_cast<const uint8_t*>(sample.bytes.data()) + sample.pieces.back().begin,
       kChunkHeaderSize});
  const size_t end = sample.pieces.back().begin + kChunkHeaderSize + footer->stored_size;
  EXPECT_TRUE(ReadBytes(sample.bytes.substr(0, end))->summary->clean_end);
  for (size_t cut = 0; cut < end; ++cut) {
    SCOPED_TRACE(cut);
    const auto read = ReadBytes(sample.bytes.substr(0, cut));
    if (cut < kPreambleSize) {
      ASSERT_FALSE(read->summary);
      EXPECT_NE(read->summary.error().message, "");
      continue;
    }
    ASSERT_TRUE(read->summary);
    EXPECT_FALSE(read->summary->clean_end);
    ASSERT_EQ(read->summary->losses.size(), 1U);
    const LossEntry torn = read->summary->losses[0];
    EXPECT_EQ(torn.name, "torn_tail");
    EXPECT_EQ(torn.count, 1U);
    size_t whole = 0, lost = 0, lacking = 0;
    for (const Piece& piece : sample.pieces) {
      // The padding at the end of a chunk is not needed.
      const auto header = DecodeChunkHeader(
          {reinterpret_cast<const uint8_t*>(sample.bytes.data()) + piece.begin, kChunkHeaderSize});
      const size_t stored_end = piece.begin + kChunkHeaderSize + header->stored_size;
      if (cut >= stored_end) {
        whole += piece.events;
      } else if (cut >= piece.begin + kChunkHeaderSize) {
        lost = piece.events;
        lacking = stored_end - cut;
        if (lost > 0) {
          EXPECT_TRUE(Covers(read->all.breaks, BreakReason::kTornTail, piece));
        }
      } else if (cut > piece.begin) {
        lacking = piece.begin + kChunkHeaderSize - cut;
      }
    }
    EXPECT_EQ(read->all.events.size(), whole);
    EXPECT_EQ(torn.records, lost);
    EXPECT_EQ(torn.bytes, lacking);
    EXPECT_EQ(LostIn(read->all.breaks, BreakReason::kTornTail), lost);
    ASSERT_FALSE(read->all.breaks.empty());
    const Break& last = read->all.breaks.back();
    EXPECT_EQ(last.reason, BreakReason::kTornTail);
    EXPECT_EQ(last.stream, kEveryStream);
    EXPECT_EQ(last.from_ns, read->all.marks.empty() ? (read->all.headers[0].t0_ns)
                                                    : read->all.marks.back().final_ns);
  }
}

TEST(Damage, EveryBitOfEveryHeaderMayFlip) {
  const Sample sample = MakeSample(1);
  for (size_t index = 0; index < sample.pieces.size(); ++index) {
    const Piece& piece = sample.pieces[index];
    const bool is_footer = index + 1 == sample.pieces.size();
    for (size_t bit = 0; bit < kChunkHeaderSize * 8; ++bit) {
      SCOPED_TRACE(std::to_string(index) + " bit " + std::to_string(bit));
      std::string bytes = sample.bytes;
      bytes[piece.begin + bit / 8] = static_cast<char>(bytes[piece.begin + bit / 8] ^ 1 << bit % 8);
      const auto read = ReadBytes(bytes);
      ASSERT_TRUE(read->summary);
      EXPECT_EQ(read->all.headers.size(), 1U);
      EXPECT_EQ(read->all.streams.size(), 2U);
      EXPECT_EQ(read->summary->clean_end, !is_footer);
      EXPECT_EQ(read->all.events.size(), sample.events - piece.events);
      EXPECT_EQ(LossOf(*read->summary, "unreadable_bytes").bytes, piece.end - piece.begin);
      EXPECT_EQ(LossOf(*read->summary, "torn_tail").count, is_footer ? 1U : 0U);
      if (is_footer) continue;
      EXPECT_EQ(LossOf(*read->summary, "missing_chunk").count, 1U);
      EXPECT_EQ(LossOf(*read->summary, "missing_chunk").records, piece.events);
      EXPECT_EQ(LostIn(read->all.breaks, BreakReason::kDamagedChunk), piece.events);
      if (piece.events > 0) {
        EXPECT_TRUE(Covers(read->all.breaks, BreakReason::kDamagedChunk, piece));
      }
    }
  }
}

TEST(Damage, EveryBitOfAPayloadMayFlip) {
  const Sample sample = MakeSample(1);
  for (const size_t index : {size_t{3}, size_t{6}}) {
    const Piece& piece = sample.pieces[index];
    const auto header = DecodeChunkHeader(
        {reinterpret_cast<const uint8_t*>(sample.bytes.data()) + piece.begin, kChunkHeaderSize});
    for (size_t bit = 0; bit < header->stored_size * size_t{8}; ++bit) {
      SCOPED_TRACE(bit);
      std::string bytes = sample.bytes;
      char& byte = bytes[piece.begin + kChunkHeaderSize + bit / 8];
      byte = static_cast<char>(byte ^ 1 << bit % 8);
      const auto read = ReadBytes(bytes);
      ASSERT_TRUE(read->summary);
      EXPECT_TRUE(read->summary->clean_end);
      ASSERT_EQ(read->summary->losses.size(), 1U);
      const LossEntry damaged = read->summary->losses[0];
      EXPECT_EQ(damaged.name, "damaged_chunk");
      EXPECT_EQ(damaged.count, 1U);
      EXPECT_EQ(damaged.records, piece.events);
      EXPECT_EQ(read->all.events.size(), sample.events - piece.events);
      const Break& lost = read->all.breaks[0];
      EXPECT_EQ(lost.reason, BreakReason::kDamagedChunk);
      EXPECT_EQ(lost.stream, piece.stream);
      EXPECT_EQ(lost.from_ns, piece.first_ns);
      EXPECT_EQ(lost.to_ns, piece.last_ns);
      EXPECT_EQ(lost.total, piece.events);
      EXPECT_EQ(lost.signature, ~uint64_t{0});
    }
  }
}

TEST(Damage, ADamagedBreakStaysALoss) {
  const Sample sample = MakeSample(1);
  std::string bytes = sample.bytes;
  char& byte = bytes[sample.pieces[7].begin + kChunkHeaderSize];
  byte = static_cast<char>(byte ^ 1);
  const auto read = ReadBytes(bytes);
  ASSERT_TRUE(read->summary);
  ASSERT_EQ(read->all.breaks.size(), 1U);
  EXPECT_EQ(read->all.breaks[0].reason, BreakReason::kDamagedChunk);
  EXPECT_EQ(read->all.breaks[0].stream, 1U);
  EXPECT_EQ(read->all.breaks[0].from_ns, 2600U);
  EXPECT_EQ(read->all.breaks[0].to_ns, 2700U);
  EXPECT_EQ(read->all.breaks[0].total, 0U);
}

TEST(Damage, AChunkOfAnotherSessionIsSkippedAndNamed) {
  const Sample sample = MakeSample(1);
  const Sample other = MakeSample(77);
  for (size_t at = 1; at < sample.pieces.size(); ++at) {
    for (const Piece& piece : other.pieces) {
      std::string bytes = sample.bytes;
      bytes.insert(sample.pieces[at].begin,
                   other.bytes.substr(piece.begin, piece.end - piece.begin));
      const auto read = ReadBytes(bytes);
      ASSERT_TRUE(read->summary);
      EXPECT_TRUE(read->summary->clean_end);
      ASSERT_EQ(read->summary->losses.size(), 1U);
      EXPECT_EQ(read->summary->losses[0].name, "foreign_chunk");
      EXPECT_EQ(read->summary->losses[0].count, 1U);
      EXPECT_EQ(read->summary->losses[0].bytes, piece.end - piece.begin);
      EXPECT_EQ(read->all.events.size(), sample.events);
      EXPECT_EQ(read->all.breaks.size(), 1U);
    }
  }
}

TEST(Damage, AChunkCutOutWithoutATraceIsMissed) {
  const Sample sample = MakeSample(1);
  for (size_t index = 0; index + 1 < sample.pieces.size(); ++index) {
    SCOPED_TRACE(index);
    const Piece& piece = sample.pieces[index];
    std::string bytes = sample.bytes;
    bytes.erase(piece.begin, piece.end - piece.begin);
    const auto read = ReadBytes(bytes);
    ASSERT_TRUE(read->summary);
    ASSERT_EQ(read->summary->losses.size(), 1U);
    EXPECT_EQ(read->summary->losses[0].name, "missing_chunk");
    EXPECT_EQ(read->summary->losses[0].count, 1U);
    EXPECT_EQ(read->summary->losses[0].records, piece.events);
    EXPECT_EQ(read->all.events.size() + piece.events, sample.events);
    EXPECT_EQ(read->all.headers.size(), 1U);
    EXPECT_EQ(read->all.headers[0].session_id[7], MakeSession(1).session_id[7]);
    EXPECT_EQ(read->all.streams.size(), 2U);
  }
}

TEST(Damage, AChunkReadTwiceCountsOnce) {
  const Sample sample = MakeSample(1);
  const Piece& piece = sample.pieces[3];
  std::string bytes = sample.bytes;
  bytes.insert(sample.pieces[6].begin, bytes.substr(piece.begin, piece.end - piece.begin));
  const auto read = ReadBytes(bytes);
  ASSERT_TRUE(read->summary);
  EXPECT_EQ(read->all.events.size(), sample.events);
  ASSERT_EQ(read->summary->losses.size(), 1U);
  EXPECT_EQ(read->summary->losses[0].name, "repeated_chunk");
}

TEST(Damage, GarbageBetweenChunksCostsOnlyItself) {
  const Sample sample = MakeSample(1);
  for (const size_t size : {size_t{8}, size_t{80}, size_t{104}, size_t{100000}}) {
    std::string bytes = sample.bytes;
    bytes.insert(sample.pieces[4].begin, std::string(size, '\x55'));
    const auto read = ReadBytes(bytes);
    ASSERT_TRUE(read->summary);
    EXPECT_EQ(read->all.events.size(), sample.events);
    ASSERT_EQ(read->summary->losses.size(), 1U);
    EXPECT_EQ(read->summary->losses[0].name, "unreadable_bytes");
    EXPECT_EQ(read->summary->losses[0].bytes, size);
    EXPECT_EQ(read->all.breaks.size(), 1U);
  }
}

TEST(Damage, AHoleInAPayloadCostsOneChunk) {
  const Sample sample = MakeSample(1);
  std::string bytes = sample.bytes;
  bytes.erase(sample.pieces[6].begin + kChunkHeaderSize + 8, 16);
  const auto read = ReadBytes(bytes);
  ASSERT_TRUE(read->summary);
  EXPECT_TRUE(read->summary->clean_end);
  EXPECT_EQ(LossOf(*read->summary, "damaged_chunk").records, sample.pieces[6].events);
  EXPECT_EQ(read->all.marks.size(), 2U);
}

TEST(Damage, ADamagedPreambleCostsNothing) {
  const Sample sample = MakeSample(1);
  for (size_t bit = 0; bit < kPreambleSize * 8; ++bit) {
    SCOPED_TRACE(bit);
    std::string bytes = sample.bytes;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    const auto read = ReadBytes(bytes);
    ASSERT_TRUE(read->summary);
    EXPECT_EQ(read->all.events.size(), sample.events);
    ASSERT_EQ(read->summary->losses.size(), 1U);
    EXPECT_EQ(read->summary->losses[0].name, "damaged_preamble");
  }
}

TEST(Damage, EveryByteMayBeZeroFromAnywhereOn) {
  const Sample sample = MakeSample(1);
  for (size_t cut = kPreambleSize; cut < sample.bytes.size(); cut += 5) {
    std::string bytes = sample.bytes;
    std::memset(bytes.data() + cut, 0, bytes.size() - cut);
    const auto read = ReadBytes(bytes);
    ASSERT_TRUE(read->summary);
    size_t whole = 0;
    for (const Piece& piece : sample.pieces) whole += piece.end <= cut ? piece.events : 0;
    EXPECT_GE(read->all.events.size(), whole);
  }
}

TEST(Damage, NewerMajorVersionIsRefusedInASentence) {
  std::string bytes = MakeSample(1).bytes;
  bytes[8] = 2;
  const auto foreign = ReadBytes(bytes);
  // With a checksum that does not fit it is damage, not a version.
  ASSERT_TRUE(foreign->summary);
  const uint8_t newer[] = {0x89, 'C', 'P', 'R', 'O', 'F', 0x0d, 0x0a, 2, 0, 0, 0};
  const auto checksum = static_cast<uint32_t>(PayloadChecksum(newer));
  for (size_t i = 0; i < 4; ++i) bytes[12 + i] = static_cast<char>(checksum >> (8 * i));
  const auto read = ReadBytes(bytes);
  ASSERT_FALSE(read->summary);
  EXPECT_EQ(read->summary.error().message,
            "the recording has format version 2; this cprof reads up to version 1");
  EXPECT_EQ(read->summary.error().hint, "read it with a newer cprof");
}

TEST(Damage, NotARecordingIsSaidSo) {
  for (const char* text : {"", "hello",
                           "\x7f"
                           "ELF and much that follows behind it, but no recording"}) {
    const auto read = ReadBytes(text);
    ASSERT_FALSE(read->summary);
    EXPECT_NE(read->summary.error().message, "");
  }
}

}  // namespace
}  // namespace cprof
