// Writes a recording, chunk by chunk, so that every finished chunk survives whatever comes after.
#ifndef CPROF_FORMAT_WRITER_H_
#define CPROF_FORMAT_WRITER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "format/recording.h"
#include "format/result.h"

namespace cprof {

// Where bytes go. Write takes all or returns why not; a short write of the system is retried
// inside.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Result<void> Write(std::span<const uint8_t> bytes) = 0;
};

// A sink on an open file descriptor (file or pipe); does not own it.
std::unique_ptr<ByteSink> MakeFdSink(int fd, std::string name);
// A sink into memory, for tests and for in-process pipelines.
std::unique_ptr<ByteSink> MakeStringSink(std::string* out);

struct WriterOptions {
  int compression_level = 1;    // zstd; 0: chunks are stored as they are
  uint64_t max_size_bytes = 0;  // 0: no limit; at the limit writes are refused
};

// Single-threaded. Every call appends whole chunks. An error of the sink is final: later calls
// return it too. At max_size_bytes events, samples, mappings and symbols are refused, while a
// little is kept for breaks, marks and the footer, so that what was refused can be told to the
// reader.
class Writer {
 public:
  virtual ~Writer() = default;

  // Interns text; ids are valid for this writer. The table is bounded: beyond the bound the id of
  // "[too many names]" is returned.
  virtual StringId Intern(std::string_view text) = 0;

  virtual Result<void> WriteHeader(const SessionHeader& header) = 0;
  virtual Result<void> WriteStream(const StreamInfo& stream) = 0;
  // Events of one stream, in sequence order (small inversions allowed). One chunk a call: hand over
  // thousands at a time.
  virtual Result<void> WriteEvents(StreamId stream, std::span<const Event> events) = 0;
  virtual Result<void> WriteSamples(StreamId stream, std::span<const StackSample> samples) = 0;
  virtual Result<void> WriteBreak(const Break& lost) = 0;
  virtual Result<void> WriteMark(const RoundMark& mark) = 0;
  virtual Result<void> WriteMappings(std::span<const Mapping> mappings) = 0;
  virtual Result<void> WriteKernelSymbols(std::span<const KernelSymbol> symbols) = 0;
  virtual Result<void> WriteFooter(const Footer& footer) = 0;

  virtual uint64_t bytes_written() const = 0;
};

std::unique_ptr<Writer> MakeWriter(std::unique_ptr<ByteSink> sink, const WriterOptions& options);

}  // namespace cprof

#endif  // CPROF_FORMAT_WRITER_H_
