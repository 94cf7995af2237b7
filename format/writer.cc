// Writes a recording: every call becomes whole chunks, each handed to the sink in one piece.
#include "format/writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/chunk.h"
#include "format/event_codec.h"
#include "format/reader.h"
#include "format/record_codec.h"

namespace cprof {
namespace {

// Small enough that the columns of a chunk stay in the cache, large enough that its header and
// tables vanish beside them.
constexpr size_t kEventsPerChunk = 1U << 14;
constexpr size_t kSamplesPerChunk = 1U << 10;
constexpr size_t kSymbolsPerChunk = 1U << 14;
constexpr size_t kMappingsPerChunk = 1U << 10;
// Under --max-size this much (or a quarter, if that is less) is kept back for breaks, marks and
// the footer, so that the recording can still say what it had to refuse.
constexpr uint64_t kReserveBytes = 64U << 10;

std::string SystemHint(int error) {
  switch (error) {
    case ENOSPC: return "free some space or write elsewhere";
    case EDQUOT: return "the disk quota is used up; what was written can be read";
    case EFBIG: return "raise the file size limit (ulimit -f); what was written can be read";
    case EPIPE: return "the reader of the pipe has gone";
    default: return "";
  }
}

class FdSink : public ByteSink {
 public:
  FdSink(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  Result<void> Write(std::span<const uint8_t> bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written > 0) {
        bytes = bytes.subspan(static_cast<size_t>(written));
      } else if (written < 0 && errno != EINTR) {
        const int error = errno;
        return Error{"cannot write to " + name_ + ": " + std::strerror(error), SystemHint(error)};
      }
    }
    return {};
  }

 private:
  int fd_;
  std::string name_;
};

class StringSink : public ByteSink {
 public:
  explicit StringSink(std::string* out) : out_(out) {}
  Result<void> Write(std::span<const uint8_t> bytes) override {
    out_->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }

 private:
  std::string* out_;
};

class ChunkWriter : public Writer {
 public:
  ChunkWriter(std::unique_ptr<ByteSink> sink, const WriterOptions& options)
      : sink_(std::move(sink)),
        max_size_bytes_(options.max_size_bytes),
        compressor_(options.compression_level) {}

  StringId Intern(std::string_view text) override { return strings_.Intern(text); }
  uint64_t bytes_written() const override { return bytes_written_; }

  Result<void> WriteHeader(const SessionHeader& header) override;
  Result<void> WriteStream(const StreamInfo& stream) override;
  Result<void> WriteEvents(StreamId stream, std::span<const Event> events) override;
  Result<void> WriteSamples(StreamId stream, std::span<const StackSample> samples) override;
  Result<void> WriteBreak(const Break& lost) override;
  Result<void> WriteMark(const RoundMark& mark) override;
  Result<void> WriteMappings(std::span<const Mapping> mappings) override;
  Result<void> WriteKernelSymbols(std::span<const KernelSymbol> symbols) override;
  Result<void> WriteFooter(const Footer& footer) override;

 private:
  struct StreamState {
    StreamInfo info;
    uint64_t records = 0;
  };
  enum class Weight { kData, kEssential };

  ChunkHeader Start(ChunkType type, StreamId stream, size_t records, uint64_t first_ns,
                    uint64_t last_ns);
  static void Note(const Event& event, ChunkHeader* header);
  Result<void> Finish(ChunkHeader& header, Weight weight);
  Result<void> Put(std::span<const uint8_t> bytes);
  Result<void> WriteEventChunk(StreamState& state, std::span<const Event> events);
  Result<void> WriteSampleChunk(StreamState& state, std::span<const StackSample> samples);

  std::unique_ptr<ByteSink> sink_;
  uint64_t max_size_bytes_;
  Compressor compressor_;
  EventEncoder encoder_;
  StringTable strings_;
  std::unordered_map<StreamId, StreamState> streams_;
  Builder payload_;
  std::vector<uint8_t> frame_;
  std::vector<Event> sample_events_;
  uint64_t session_ = 0;
  uint64_t next_number_ = 0;
  uint64_t newest_ns_ = 0;
  uint64_t bytes_written_ = 0;
  bool started_ = false;
  Result<void> failure_;
};

ChunkHeader ChunkWriter::Start(ChunkType type, StreamId stream, size_t records, uint64_t first_ns,
                               uint64_t last_ns) {
  CPROF_CHECK(started_);
  ChunkHeader header;
  header.type = static_cast<uint16_t>(type);
  header.session = session_;
  header.stream = stream;
  header.records = static_cast<uint32_t>(records);
  header.first_ns = first_ns;
  header.last_ns = last_ns;
  payload_.Clear();
  return header;
}

void ChunkWriter::Note(const Event& event, ChunkHeader* header) {
  header->first_ns = std::min(header->first_ns, event.time_ns);
  header->last_ns = std::max(header->last_ns, event.time_ns);
  if (event.verb < kVerbCount) header->verbs[event.verb / 64] |= uint64_t{1} << (event.verb % 64);
}

Result<void> ChunkWriter::Put(std::span<const uint8_t> bytes) {
  if (auto result = sink_->Write(bytes); !result) {
    failure_ = result.error();
    return failure_;
  }
  bytes_written_ += bytes.size();
  return {};
}

Result<void> ChunkWriter::Finish(ChunkHeader& header, Weight weight) {
  CPROF_RETURN_IF_ERROR(failure_);
  if (payload_.size() > kMaxChunkBytes) {
    return Error{"a record is too large for the recording (over 16 MiB)", ""};
  }
  Codec codec = Codec::kStored;
  const auto stored = compressor_.Compress(payload_.bytes(), &codec);
  header.codec = static_cast<uint16_t>(codec);
  header.stored_size = static_cast<uint32_t>(stored.size());
  header.raw_size = static_cast<uint32_t>(payload_.size());
  header.number = next_number_;
  header.newest_ns = newest_ns_;
  header.payload_checksum = PayloadChecksum(stored);
  const bool counted = header.Has(ChunkType::kEvents) || header.Has(ChunkType::kSamples);
  uint64_t* records = counted ? &streams_[header.stream].records : nullptr;
  if (counted) header.prior_records = *records;

  if (max_size_bytes_ != 0) {
    const uint64_t reserve =
        weight == Weight::kData ? std::min(kReserveBytes, max_size_bytes_ / 4) : 0;
    if (bytes_written_ + header.SizeOnDisk() > max_size_bytes_ - reserve) {
      return Error{"the recording has reached its size limit of " +
                       std::to_string(max_size_bytes_) + " bytes",
                   "raise --max-size, or record for a shorter time"};
    }
  }
  const auto head = EncodeChunkHeader(header);
  frame_.assign(head.begin(), head.end());
  frame_.insert(frame_.end(), stored.begin(), stored.end());
  frame_.resize(header.SizeOnDisk(), 0);
  CPROF_RETURN_IF_ERROR(Put(frame_));
  ++next_number_;
  newest_ns_ = std::max(newest_ns_, header.last_ns);
  if (counted) *records += header.records;
  return {};
}

Result<void> ChunkWriter::WriteHeader(const SessionHeader& header) {
  CPROF_RETURN_IF_ERROR(failure_);
  CPROF_CHECK(!started_);
  started_ = true;
  session_ = SessionWord(header.session_id);
  CPROF_RETURN_IF_ERROR(Put(EncodePreamble()));
  ChunkHeader chunk = Start(ChunkType::kSession, kEveryStream, 1, header.t0_ns, header.t0_ns);
  EncodeSession(header, payload_);
  return Finish(chunk, Weight::kEssential);
}

Result<void> ChunkWriter::WriteStream(const StreamInfo& stream) {
  CPROF_CHECK(stream.id < kMaxStreams);
  streams_[stream.id].info = stream;
  ChunkHeader chunk = Start(ChunkType::kStream, stream.id, 1, newest_ns_, newest_ns_);
  EncodeStream(stream, payload_);
  return Finish(chunk, Weight::kEssential);
}

Result<void> ChunkWriter::WriteEventChunk(StreamState& state, std::span<const Event> events) {
  const uint64_t first_ns = events.front().time_ns;
  ChunkHeader chunk = Start(ChunkType::kEvents, state.info.id, events.size(), first_ns, first_ns);
  for (const Event& event : events) Note(event, &chunk);
  encoder_.Encode(state.info, events, strings_, payload_);
  if (payload_.size() > kMaxChunkBytes && events.size() > 1) {
    const size_t half = events.size() / 2;
    CPROF_RETURN_IF_ERROR(WriteEventChunk(state, events.first(half)));
    return WriteEventChunk(state, events.subspan(half));
  }
  return Finish(chunk, Weight::kData);
}

Result<void> ChunkWriter::WriteEvents(StreamId stream, std::span<const Event> events) {
  const auto found = streams_.find(stream);
  CPROF_CHECK(found != streams_.end());
  for (size_t at = 0; at < events.size(); at += kEventsPerChunk) {
    const size_t count = std::min(kEventsPerChunk, events.size() - at);
    CPROF_RETURN_IF_ERROR(WriteEventChunk(found->second, events.subspan(at, count)));
  }
  return failure_;
}

Result<void> ChunkWriter::WriteSampleChunk(StreamState& state,
                                           std::span<const StackSample> samples) {
  const uint64_t first_ns = samples.front().event.time_ns;
  ChunkHeader chunk = Start(ChunkType::kSamples, state.info.id, samples.size(), first_ns, first_ns);
  sample_events_.clear();
  for (const StackSample& sample : samples) {
    CPROF_CHECK(sample.user_frames.size() <= kMaxStackFrames &&
                sample.kernel_frames.size() <= kMaxStackFrames);
    Note(sample.event, &chunk);
    sample_events_.push_back(sample.event);
  }
  encoder_.Encode(state.info, sample_events_, strings_, payload_);
  EncodeStacks(samples, payload_);
  return Finish(chunk, Weight::kData);
}

Result<void> ChunkWriter::WriteSamples(StreamId stream, std::span<const StackSample> samples) {
  const auto found = streams_.find(stream);
  CPROF_CHECK(found != streams_.end());
  for (size_t at = 0; at < samples.size(); at += kSamplesPerChunk) {
    const size_t count = std::min(kSamplesPerChunk, samples.size() - at);
    CPROF_RETURN_IF_ERROR(WriteSampleChunk(found->second, samples.subspan(at, count)));
  }
  return failure_;
}

Result<void> ChunkWriter::WriteBreak(const Break& lost) {
  ChunkHeader chunk = Start(ChunkType::kBreak, lost.stream, 1, lost.from_ns, lost.to_ns);
  for (const auto& entry : lost.lost) {
    if (entry.first < kVerbCount) {
      chunk.verbs[entry.first / 64] |= uint64_t{1} << (entry.first % 64);
    }
  }
  EncodeBreak(lost, payload_);
  return Finish(chunk, Weight::kEssential);
}

Result<void> ChunkWriter::WriteMark(const RoundMark& mark) {
  ChunkHeader chunk = Start(ChunkType::kMark, kEveryStream, 1, mark.final_ns, mark.final_ns);
  EncodeMark(mark, payload_);
  return Finish(chunk, Weight::kEssential);
}

Result<void> ChunkWriter::WriteMappings(std::span<const Mapping> mappings) {
  for (size_t at = 0; at < mappings.size(); at += kMappingsPerChunk) {
    const auto part = mappings.subspan(at, std::min(kMappingsPerChunk, mappings.size() - at));
    ChunkHeader chunk = Start(ChunkType::kMappings, kEveryStream, part.size(), part.front().time_ns,
                              part.front().time_ns);
    for (const Mapping& mapping : part) {
      chunk.first_ns = std::min(chunk.first_ns, mapping.time_ns);
      chunk.last_ns = std::max(chunk.last_ns, mapping.time_ns);
      EncodeMapping(mapping, payload_);
    }
    CPROF_RETURN_IF_ERROR(Finish(chunk, Weight::kData));
  }
  return failure_;
}

Result<void> ChunkWriter::WriteKernelSymbols(std::span<const KernelSymbol> symbols) {
  for (size_t at = 0; at < symbols.size(); at += kSymbolsPerChunk) {
    const auto part = symbols.subspan(at, std::min(kSymbolsPerChunk, symbols.size() - at));
    ChunkHeader chunk =
        Start(ChunkType::kKernelSymbols, kEveryStream, part.size(), newest_ns_, newest_ns_);
    uint64_t previous = 0;
    for (const KernelSymbol& symbol : part) {
      EncodeKernelSymbol(symbol, previous, payload_);
      previous = symbol.offset;
    }
    CPROF_RETURN_IF_ERROR(Finish(chunk, Weight::kData));
  }
  return failure_;
}

Result<void> ChunkWriter::WriteFooter(const Footer& footer) {
  StreamTotals totals;
  for (const auto& [id, state] : streams_) totals.emplace_back(id, state.records);
  std::ranges::sort(totals);
  ChunkHeader chunk = Start(ChunkType::kFooter, kEveryStream, 1, footer.end_ns, footer.end_ns);
  EncodeFooter(footer, totals, payload_);
  return Finish(chunk, Weight::kEssential);
}

}  // namespace

std::unique_ptr<ByteSink> MakeFdSink(int fd, std::string name) {
  return std::make_unique<FdSink>(fd, std::move(name));
}

std::unique_ptr<ByteSink> MakeStringSink(std::string* out) {
  return std::make_unique<StringSink>(out);
}

std::unique_ptr<Writer> MakeWriter(std::unique_ptr<ByteSink> sink, const WriterOptions& options) {
  return std::make_unique<ChunkWriter>(std::move(sink), options);
}

}  // namespace cprof
