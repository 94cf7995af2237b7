// Reads a recording. Three questions are asked of each place in the file: does an intact header
// begin here (if not, search for the next), is its payload intact (if not, its header says what is
// lost, and the payload is searched for headers, since its size may be a lie), and does it continue
// what came before (chunk numbers and record counts show what is missing without a trace).
// Each step passes at least 8 bytes, so reading ends.
#include "format/reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "format/chunk.h"
#include "format/event_codec.h"
#include "format/ledger.h"
#include "format/record_codec.h"
#include "format/window.h"

namespace cprof {
namespace {

constexpr uint64_t kAllBits = ~uint64_t{0};

class RecordingReader {
 public:
  RecordingReader(ByteSource& source, StringTable& strings, RecordingVisitor& visitor)
      : window_(source), strings_(strings), visitor_(visitor) {}

  Result<ReadSummary> Read();

 private:
  struct StreamState {
    bool announced = false;
    StreamInfo info;
    uint64_t expected_records = 0;
    uint64_t final_ns = 0;  // of the last mark before its last chunk
  };

  Result<void> ReadPreamble();
  void ReadChunk();
  void Resynchronise(size_t known_bad);
  void ReadTorn(const ChunkHeader& header, size_t have);
  size_t FindHeader(std::span<const uint8_t> bytes, size_t from) const;

  // Whether the chunk is the next of this recording; tells what is missing before it.
  bool Continues(const ChunkHeader& header);
  void CountRecords(const ChunkHeader& header);
  void TellMissing(StreamId stream, uint64_t count, uint64_t from_ns, uint64_t to_ns);
  void TellHeader(const ChunkHeader& header, SessionHeader session);
  void Announce(const StreamInfo& info);
  void TellDamaged(const ChunkHeader& header, LossKind loss);

  bool Dispatch(const ChunkHeader& header, std::span<const uint8_t> payload);
  bool TellEvents(const ChunkHeader& header, Cursor& in);
  bool TellSamples(const ChunkHeader& header, Cursor& in);
  bool TellMappings(const ChunkHeader& header, Cursor& in);
  bool TellKernelSymbols(const ChunkHeader& header, Cursor& in);
  bool TellFooter(Cursor& in);
  void TellEnd();

  Window window_;
  StringTable& strings_;
  RecordingVisitor& visitor_;
  Decompressor decompressor_;
  EventDecoder decoder_;
  Ledger ledger_;
  ReadSummary summary_;
  std::unordered_map<StreamId, StreamState> streams_;
  std::vector<StackSample> samples_;
  std::vector<Mapping> mappings_;
  std::vector<KernelSymbol> symbols_;
  bool has_session_ = false;
  bool told_header_ = false;
  uint64_t session_ = 0;
  uint64_t next_number_ = 0;
  uint64_t final_ns_ = 0;   // of the last mark: what is lost after it is not older
  uint64_t newest_ns_ = 0;  // the latest time that any header spoke of
};

Result<void> RecordingReader::ReadPreamble() {
  const size_t have = window_.Need(kPreambleSize + kChunkHeaderSize);
  if (!window_.failure() && have == 0) return window_.failure().error();
  if (have == 0) return Error{"the recording is empty", ""};
  uint16_t major = 0;
  const auto bytes = window_.bytes();
  const PreambleState state = CheckPreamble(bytes, &major);
  if (state == PreambleState::kNewer) {
    return Error{"the recording has format version " + std::to_string(major) +
                     "; this cprof reads up to version " + std::to_string(kMajorVersion),
                 "read it with a newer cprof"};
  }
  if (state == PreambleState::kGood) {
    window_.Skip(kPreambleSize);
    return {};
  }
  // The preamble may be damaged, but then a chunk must follow it.
  if (have >= kPreambleSize && DecodeChunkHeader(bytes.subspan(kPreambleSize))) {
    ledger_.Add(LossKind::kDamagedPreamble, 1, 0, kPreambleSize);
    window_.Skip(kPreambleSize);
    return {};
  }
  const size_t magic = std::min(have, kFileMagic.size());
  if (have < kPreambleSize &&
      std::ranges::equal(bytes.first(magic), std::span(kFileMagic).first(magic))) {
    return Error{"the recording ends after " + std::to_string(have) +
                     " bytes, before anything "
                     "was recorded",
                 ""};
  }
  return Error{"not a cprof recording", "recordings are made with 'cprof record'"};
}

Result<ReadSummary> RecordingReader::Read() {
  CPROF_RETURN_IF_ERROR(ReadPreamble());
  while (window_.Need(kChunkHeaderSize) > 0) ReadChunk();
  if (!window_.failure()) ledger_.Add(LossKind::kReadError, 1, 0, 0);
  TellEnd();
  summary_.bytes = window_.offset();
  summary_.losses = ledger_.Entries();
  return summary_;
}

size_t RecordingReader::FindHeader(std::span<const uint8_t> bytes, size_t from) const {
  // Chunks begin at multiples of 8 from the start of the file, not of the window.
  const size_t skew = static_cast<size_t>(window_.offset() % kChunkAlignment);
  from += (kChunkAlignment - (skew + from) % kChunkAlignment) % kChunkAlignment;
  for (; from + kChunkHeaderSize <= bytes.size(); from += kChunkAlignment) {
    if (std::memcmp(bytes.data() + from, kChunkMagic.data(), kChunkMagic.size()) == 0 &&
        DecodeChunkHeader(bytes.subspan(from))) {
      return from;
    }
  }
  return bytes.size();
}

// Passes bytes until an intact header begins. At the end of the file everything is passed.
void RecordingReader::Resynchronise(size_t known_bad) {
  uint64_t skipped = 0;
  size_t from = known_bad;
  while (true) {
    const size_t have = window_.Need(kChunkHeaderSize + from);
    const size_t found = FindHeader(window_.bytes(), from);
    const bool at_end = found == have && window_.Need(have + 1) == have;
    // Without the header's last bytes a header may begin in what is left.
    const size_t pass =
        found < have || at_end ? found : std::max(from, have - (kChunkHeaderSize - 1));
    window_.Skip(pass);
    skipped += pass;
    from = 0;
    if (found < have || at_end) break;
  }
  ledger_.Add(LossKind::kUnreadableBytes, 1, 0, skipped);
}

void RecordingReader::ReadTorn(const ChunkHeader& header, size_t have) {
  const bool counted = header.Has(ChunkType::kEvents) || header.Has(ChunkType::kSamples);
  const bool ours = !has_session_ || header.session == session_;
  if (ours && Continues(header)) {
    CountRecords(header);
    ledger_.Add(LossKind::kTornTail, 0, counted ? header.records : 0,
                kChunkHeaderSize + header.stored_size - have);
    if (counted) {
      Break lost{header.stream,
                 BreakReason::kTornTail,
                 header.first_ns,
                 header.last_ns,
                 header.records,
                 kAllBits,
                 {},
                 {}};
      lost.detail = "the file ends " +
                    std::to_string(kChunkHeaderSize + header.stored_size - have) +
                    " bytes before the end of a chunk";
      visitor_.OnBreak(lost);
    }
  }
  window_.Skip(have);
}

void RecordingReader::ReadChunk() {
  if (const size_t have = window_.bytes().size(); have < kChunkHeaderSize) {
    ledger_.Add(LossKind::kTornTail, 0, 0, kChunkHeaderSize - have);
    window_.Skip(have);
    return;
  }
  const auto header = DecodeChunkHeader(window_.bytes());
  if (!header) return Resynchronise(1);
  const size_t size = kChunkHeaderSize + header->stored_size;
  const size_t have = window_.Need(header->SizeOnDisk());
  const auto stored =
      window_.bytes().subspan(kChunkHeaderSize, std::min<size_t>(have, size) - kChunkHeaderSize);
  const bool whole = have >= size && PayloadChecksum(stored) == header->payload_checksum;
  // A payload that is not what the header promises may be shorter than promised.
  const size_t end = std::min(header->SizeOnDisk(), have);
  size_t next = end;
  if (!whole) {
    // The next header may begin in what was promised, and end behind it.
    const size_t more = window_.Need(end + kChunkHeaderSize);
    const auto searched = window_.bytes().first(std::min(more, end + kChunkHeaderSize));
    next = std::min(end, FindHeader(searched, kChunkHeaderSize));
  }
  if (have < size && next == end) return ReadTorn(*header, have);

  if (has_session_ && header->session != session_) {
    ledger_.Add(LossKind::kForeignChunk, 1, header->records, next);
  } else if (Continues(*header)) {
    CountRecords(*header);
    if (!whole) {
      TellDamaged(*header, LossKind::kDamagedChunk);
    } else {
      const auto payload = decompressor_.Decompress(*header, stored);
      if (!payload) {
        TellDamaged(*header, LossKind::kDamagedChunk);
      } else if (!Dispatch(*header, *payload)) {
        TellDamaged(*header, LossKind::kDamagedChunk);
      }
    }
  } else {
    ledger_.Add(LossKind::kRepeatedChunk, 1, header->records, next);
  }
  window_.Skip(next);
}

bool RecordingReader::Continues(const ChunkHeader& header) {
  if (!has_session_) {
    has_session_ = true;
    session_ = header.session;
  }
  if (header.number < next_number_) return false;
  if (!told_header_ && !header.Has(ChunkType::kSession)) {
    // Its session chunk is gone: what the other headers know must do.
    SessionHeader session;
    session.t0_ns = header.first_ns;
    TellHeader(header, session);
  }
  if (header.number > next_number_) {
    const uint64_t missing = header.number - next_number_;
    ledger_.Add(LossKind::kMissingChunk, missing, 0, 0);
    Break lost{kEveryStream,
               BreakReason::kDamagedChunk,
               final_ns_,
               std::max(header.newest_ns, final_ns_),
               0,
               kAllBits,
               {},
               std::to_string(missing) + " chunks are missing"};
    visitor_.OnBreak(lost);
  }
  next_number_ = header.number + 1;
  newest_ns_ = std::max({newest_ns_, header.newest_ns, header.last_ns});
  return true;
}

// What went with missing chunks has left a count: each stream's share is told as soon as the next
// chunk of that stream shows it.
void RecordingReader::TellMissing(StreamId stream, uint64_t count, uint64_t from_ns,
                                  uint64_t to_ns) {
  ledger_.Add(LossKind::kMissingChunk, 0, count, 0);
  Break lost{stream, BreakReason::kDamagedChunk, from_ns, std::max(from_ns, to_ns), count, kAllBits,
             {},     "events of missing chunks"};
  visitor_.OnBreak(lost);
}

void RecordingReader::CountRecords(const ChunkHeader& header) {
  if (!header.Has(ChunkType::kEvents) && !header.Has(ChunkType::kSamples)) return;
  if (header.stream >= kMaxStreams) return;
  StreamState& state = streams_[header.stream];
  if (header.prior_records > state.expected_records) {
    TellMissing(header.stream, header.prior_records - state.expected_records, state.final_ns,
                header.newest_ns);
  }
  state.final_ns = final_ns_;
  state.expected_records = header.prior_records + header.records;
}

void RecordingReader::TellHeader(const ChunkHeader& header, SessionHeader session) {
  if (told_header_) return;
  told_header_ = true;
  if (session.session_id == SessionHeader{}.session_id) {
    for (size_t i = 0; i < 8; ++i) {
      session.session_id[i] = static_cast<uint8_t>(header.session >> (8 * i));
    }
  }
  final_ns_ = std::max(final_ns_, session.t0_ns);
  visitor_.OnHeader(session);
}

void RecordingReader::Announce(const StreamInfo& info) {
  StreamState& state = streams_[info.id];
  if (state.announced) return;
  state.announced = true;
  state.info = info;
  visitor_.OnStream(info);
}

void RecordingReader::TellDamaged(const ChunkHeader& header, LossKind loss) {
  const bool counted = header.Has(ChunkType::kEvents) || header.Has(ChunkType::kSamples);
  ledger_.Add(loss, 1, counted ? header.records : 0, header.stored_size);
  if (header.Has(ChunkType::kSession)) {
    SessionHeader session;
    session.t0_ns = header.first_ns;
    TellHeader(header, session);
  }
  const bool unknown = header.type > static_cast<uint16_t>(ChunkType::kFooter);
  // A damaged break is a loss all the same: of how many events is gone with it.
  if (!counted && !unknown && !header.Has(ChunkType::kBreak)) return;
  Break lost{header.stream,
             BreakReason::kDamagedChunk,
             header.first_ns,
             header.last_ns,
             counted ? header.records : 0,
             kAllBits,
             {},
             {}};
  for (int verb = 0; verb < kVerbCount; ++verb) {
    if ((header.verbs[static_cast<size_t>(verb) / 64] >> (verb % 64) & 1) != 0) {
      lost.lost.emplace_back(static_cast<Verb>(verb), header.records);
    }
  }
  // Only where all records have one verb is the count of that verb known.
  if (!counted || lost.lost.size() != 1) lost.lost.clear();
  visitor_.OnBreak(lost);
}

bool RecordingReader::TellEvents(const ChunkHeader& header, Cursor& in) {
  if (header.stream >= kMaxStreams) return false;
  StreamInfo stream;
  const auto events = decoder_.Decode(in, header.stream, header.records, strings_, &stream);
  if (!in.ok()) return false;
  Announce(stream);
  summary_.events += events.size();
  visitor_.OnEvents(header.stream, events);
  return true;
}

bool RecordingReader::TellSamples(const ChunkHeader& header, Cursor& in) {
  if (header.records > kMaxChunkSamples) return false;
  if (header.stream >= kMaxStreams) return false;
  StreamInfo stream;
  const auto events = decoder_.Decode(in, header.stream, header.records, strings_, &stream);
  samples_.assign(events.size(), {});
  DecodeStacks(in, samples_);
  if (!in.ok()) return false;
  for (size_t i = 0; i < events.size(); ++i) samples_[i].event = events[i];
  Announce(stream);
  visitor_.OnSamples(header.stream, samples_);
  return true;
}

bool RecordingReader::TellMappings(const ChunkHeader& header, Cursor& in) {
  mappings_.clear();
  for (uint32_t i = 0; i < header.records && in.ok(); ++i) mappings_.push_back(DecodeMapping(in));
  if (in.ok()) visitor_.OnMappings(mappings_);
  return in.ok();
}

bool RecordingReader::TellKernelSymbols(const ChunkHeader& header, Cursor& in) {
  symbols_.clear();
  uint64_t previous = 0;
  for (uint32_t i = 0; i < header.records && in.ok(); ++i) {
    symbols_.push_back(DecodeKernelSymbol(in, previous));
    previous = symbols_.back().offset;
  }
  if (in.ok()) visitor_.OnKernelSymbols(symbols_);
  return in.ok();
}

bool RecordingReader::TellFooter(Cursor& in) {
  StreamTotals totals;
  const Footer footer = DecodeFooter(in, &totals);
  if (!in.ok()) return false;
  for (const auto& [id, records] : totals) {
    const auto found = streams_.find(id);
    const StreamState seen = found == streams_.end() ? StreamState{} : found->second;
    if (records > seen.expected_records) {
      TellMissing(id, records - seen.expected_records, seen.final_ns, newest_ns_);
    }
  }
  summary_.clean_end = true;
  visitor_.OnFooter(footer);
  return true;
}

// Returns whether the payload was well formed.
bool RecordingReader::Dispatch(const ChunkHeader& header, std::span<const uint8_t> payload) {
  Cursor in(payload);
  switch (static_cast<ChunkType>(header.type)) {
    case ChunkType::kSession: {
      const SessionHeader session = DecodeSession(in);
      if (in.ok()) TellHeader(header, session);
      break;
    }
    case ChunkType::kStream: {
      const StreamInfo stream = DecodeStream(in, header.stream);
      if (header.stream >= kMaxStreams) in.Fail();
      if (in.ok()) Announce(stream);
      break;
    }
    case ChunkType::kEvents: return TellEvents(header, in);
    case ChunkType::kSamples: return TellSamples(header, in);
    case ChunkType::kBreak: {
      Break lost = DecodeBreak(in);
      lost.stream = header.stream;
      lost.from_ns = header.first_ns;
      lost.to_ns = header.last_ns;
      if (in.ok()) visitor_.OnBreak(lost);
      break;
    }
    case ChunkType::kMark: {
      const RoundMark mark = DecodeMark(in);
      if (!in.ok()) break;
      final_ns_ = std::max(final_ns_, mark.final_ns);
      visitor_.OnMark(mark);
      break;
    }
    case ChunkType::kMappings: return TellMappings(header, in);
    case ChunkType::kKernelSymbols: return TellKernelSymbols(header, in);
    case ChunkType::kFooter: return TellFooter(in);
    default:
      if ((header.type & kSkippableBit) == 0) TellDamaged(header, LossKind::kUnknownChunk);
      break;
  }
  return in.ok();
}

void RecordingReader::TellEnd() {
  if (!told_header_) TellHeader({}, {});
  if (summary_.clean_end) return;
  ledger_.Add(LossKind::kTornTail, 1, 0, 0);
  Break lost{kEveryStream,
             BreakReason::kTornTail,
             final_ns_,
             std::max(newest_ns_, final_ns_),
             0,
             kAllBits,
             {},
             {}};
  lost.detail = "the recording ends without its footer";
  visitor_.OnBreak(lost);
}

class FdSource : public ByteSource {
 public:
  FdSource(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  Result<size_t> Read(std::span<uint8_t> buffer) override {
    while (true) {
      const ssize_t size = ::read(fd_, buffer.data(), buffer.size());
      if (size >= 0) return static_cast<size_t>(size);
      if (errno != EINTR) return Error{"cannot read " + name_ + ": " + std::strerror(errno), ""};
    }
  }

 private:
  int fd_;
  std::string name_;
};

class StringSource : public ByteSource {
 public:
  explicit StringSource(std::string bytes) : bytes_(std::move(bytes)) {}

  Result<size_t> Read(std::span<uint8_t> buffer) override {
    const size_t size = std::min(buffer.size(), bytes_.size() - at_);
    if (size > 0) std::memcpy(buffer.data(), bytes_.data() + at_, size);
    at_ += size;
    return size;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> MakeFdSource(int fd, std::string name) {
  return std::make_unique<FdSource>(fd, std::move(name));
}

std::unique_ptr<ByteSource> MakeStringSource(std::string bytes) {
  return std::make_unique<StringSource>(std::move(bytes));
}

bool LooksLikeText(std::span<const uint8_t> first_bytes) {
  return std::ranges::none_of(first_bytes,
                              [](uint8_t byte) {
                                const bool blank = byte == '\n' || byte == '\t' || byte == '\r';
                                return (byte < 0x20 && !blank) || byte == 0x7f;
                              }) &&
         !std::ranges::equal(
             first_bytes.first(std::min(first_bytes.size(), kFileMagic.size())),
             std::span(kFileMagic).first(std::min(first_bytes.size(), kFileMagic.size())));
}

Result<ReadSummary> ReadRecording(ByteSource& source, StringTable& strings,
                                  RecordingVisitor& visitor) {
  return RecordingReader(source, strings, visitor).Read();
}

}  // namespace cprof
