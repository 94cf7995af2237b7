// The two clocks of a recording.
#ifndef CPROF_RECORD_CLOCK_H_
#define CPROF_RECORD_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace cprof {

inline uint64_t ReadClockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The clock of the events: bpf_ktime_get_ns.
inline uint64_t MonotonicNs() { return ReadClockNs(CLOCK_MONOTONIC); }

}  // namespace cprof

#endif  // CPROF_RECORD_CLOCK_H_
