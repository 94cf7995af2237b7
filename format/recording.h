// What a recording holds besides events, as values. cprof-format(5) says how they lie on disk.
#ifndef CPROF_FORMAT_RECORDING_H_
#define CPROF_FORMAT_RECORDING_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "format/event.h"

namespace cprof {

// First record of every recording.
struct SessionHeader {
  std::array<uint8_t, 16> session_id{};  // random; every chunk repeats its first 8 bytes
  uint64_t t0_ns = 0;                    // CLOCK_MONOTONIC at arming; output times are relative
  uint64_t wall_t0_ns = 0;               // CLOCK_REALTIME at the same moment
  uint32_t cpu_count = 0;                // possible CPUs
  bool raw_keys = false;                 // kernel addresses stand as they were
  bool system_wide = false;
  std::vector<uint32_t> target_tgids;  // as given on the command line, initial namespace
  std::vector<std::string> adapters;   // names that were armed
  // Free facts in a stable order: hostname, kernel, machine, cprof_version, cmdline, boot_id,
  // hook.<adapter>.<hook> = attached variant or "unavailable: why", filter.<n>, frequency_hz,
  // ring_bytes.edge, ring_bytes.context, clock ...
  std::map<std::string, std::string> attributes;
};

enum class StreamKind : uint8_t { kEdgeCpu = 0, kContextCpu = 1, kApp = 2, kRecorder = 3 };

// A source of events with sequence numbers of its own. Its text name is "edge.cpu0",
// "context.cpu0", "app.TGID.SLOT", "recorder".
struct StreamInfo {
  StreamId id = 0;
  StreamKind kind = StreamKind::kEdgeCpu;
  uint32_t cpu = 0;   // for the CPU kinds
  uint32_t tgid = 0;  // for kApp
  uint32_t slot = 0;  // for kApp: the how-manieth ring of that process
  friend bool operator==(const StreamInfo&, const StreamInfo&) = default;
};
std::string StreamName(const StreamInfo& stream);

enum class BreakReason : uint8_t {
  kRingFull = 0,
  kDamagedChunk = 1,
  kMissedRuns = 2,   // BPF recursion misses in a polling interval
  kTornTail = 3,     // the file ends before the gate closed; from_ns = last mark
  kRingDamaged = 4,  // an in-process ring was corrupt or truncated
  kBudget = 5,
  kInjected = 6,
  kWriterStalled = 7,  // storage refused (disk full, --max-size)
  kMissing = 8,        // found while reading: missing, and nothing says that it was lost
  kNotHeard = 9,       // what an application told while the recorder did not listen to it yet
};
const char* BreakReasonName(BreakReason reason);

// Stands for every stream of the recording, also those not announced yet: what a damaged chunk
// header, a missing chunk or a torn tail took may have come from any of them.
inline constexpr StreamId kEveryStream = 0xffffffffU;

// Events of one stream that were lost; cprof-causality(7) says what that makes of joins.
struct Break {
  StreamId stream = 0;  // or kEveryStream
  BreakReason reason = BreakReason::kRingFull;
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  uint64_t total = 0;      // events lost, 0 where not countable
  uint64_t signature = 0;  // SignatureBit of each lost key, all ones if unknown
  std::vector<std::pair<Verb, uint64_t>> lost;  // per verb; empty: any verb may be among them
  std::string detail;                           // one line for people; may be empty
  friend bool operator==(const Break&, const Break&) = default;
};

// "Nothing older than final_ns follows", with every stream's counters at that moment.
struct RoundMark {
  struct Counter {
    StreamId stream = 0;
    uint64_t attempted = 0;
    uint64_t lost = 0;
    friend bool operator==(const Counter&, const Counter&) = default;
  };
  uint64_t final_ns = 0;
  std::vector<Counter> counters;
  friend bool operator==(const RoundMark&, const RoundMark&) = default;
};

// One executable mapping of a process image, for symbolizing samples.
struct Mapping {
  uint32_t tgid = 0;
  uint64_t time_ns = 0;  // seen at; a later mapping over the same range replaces it
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  std::string path;
  std::string build_id;  // raw bytes, 20 for SHA-1; empty where there is none
  friend bool operator==(const Mapping&, const Mapping&) = default;
};

// A kernel text symbol; offset is relative to the base that kernel frames are relative to.
struct KernelSymbol {
  uint64_t offset = 0;
  std::string name;
  friend bool operator==(const KernelSymbol&, const KernelSymbol&) = default;
};

// A sampled stack. event.verb is a Sample verb, event.arg its weight in ns. Frames are leaf first;
// kernel frames are relative to the kernel base (see KernelSymbol) unless raw_keys is set.
struct StackSample {
  Event event;
  double probability = 1.0;  // inclusion probability
  std::vector<uint64_t> user_frames;
  std::vector<uint64_t> kernel_frames;
  friend bool operator==(const StackSample&, const StackSample&) = default;
};

// Last record of a recording that ended in good order.
struct Footer {
  uint64_t end_ns = 0;  // CLOCK_MONOTONIC when the gate closed
  RoundMark final_counters;
  std::map<std::string, std::string> attributes;  // e.g. exit_status, reason
};

}  // namespace cprof

#endif  // CPROF_FORMAT_RECORDING_H_
