// What the recorder drains: the kernel's rings, and the rings inside recorded processes.
#ifndef CPROF_RECORD_SOURCE_H_
#define CPROF_RECORD_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "format/recording.h"
#include "format/result.h"

namespace cprof {

// What one sweep took out of one stream, on its way to the writer thread.
struct DrainedBlock {
  StreamId stream = 0;
  std::vector<Event> events;
  std::vector<StackSample> samples;
  std::vector<Break> breaks;
  std::vector<StreamInfo> new_streams;  // must be written before anything of theirs
};

// Receives blocks on the drain thread; may block while the writer's queue is full (then the rings
// fill, and losses are counted in one place: by whoever writes into the rings).
class BlockSink {
 public:
  virtual ~BlockSink() = default;
  virtual void Put(DrainedBlock block) = 0;
  // Interns text for Event::name and Event::domain. Thread-safe.
  virtual StringId Intern(std::string_view text) = 0;
};

// All calls but Wake come from the drain thread.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // One sweep: everything that was in the rings when the sweep began. Returns true where every ring
  // was drained to the producer position read after the sweep began, with no busy record left, so
  // that a round mark may say "nothing older than the time read before the sweep".
  virtual bool Sweep(BlockSink& sink) = 0;
  // Every stream's attempted and lost counts now.
  virtual void AppendCounters(std::vector<RoundMark::Counter>* counters) = 0;
  // Bytes waiting in the fullest ring, as a share of its size, to choose the pace.
  virtual double Fill() const = 0;
  // How long the next sweep may be put off while the rings are nearly empty: as long as a writer
  // that wakes up needs to fill one.
  virtual uint64_t LongestPauseNs() const { return UINT64_MAX; }
  // After a Sweep that returned true: nothing older than this follows, where that is earlier than
  // the time read before the sweep. For rings of which some writer is always in the middle of an
  // event: their marks lag behind instead of waiting.
  virtual uint64_t FinalNs() const { return UINT64_MAX; }
};

// Hands out recording-wide stream ids. Thread-safe.
class StreamAllocator {
 public:
  virtual ~StreamAllocator() = default;
  virtual StreamId Allocate(const StreamInfo& stream) = 0;  // stream.id is ignored
};

}  // namespace cprof

#endif  // CPROF_RECORD_SOURCE_H_
