// CPU time of each thread while it was recorded, from the scheduler's running account.
#ifndef CPROF_REPORT_THREAD_CLOCK_H_
#define CPROF_REPORT_THREAD_CLOCK_H_

#include <algorithm>
#include <cstdint>

namespace cprof {

// The account began before the recording for threads that did; then the first reading is the zero.
struct ThreadClock {
  bool known = false;  // the last reading can be counted from
  uint64_t last_ns = 0;

  static ThreadClock Begin(bool birth_seen) { return {birth_seen, 0}; }

  // What the thread used since the reading before; 0 for a first reading of an old thread.
  uint64_t Advance(uint64_t runtime_ns) {
    const uint64_t used_ns = known && runtime_ns > last_ns ? runtime_ns - last_ns : 0;
    known = true;
    last_ns = std::max(last_ns, runtime_ns);
    return used_ns;
  }
};

}  // namespace cprof

#endif  // CPROF_REPORT_THREAD_CLOCK_H_
