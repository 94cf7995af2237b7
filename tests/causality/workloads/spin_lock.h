// A lock that never sleeps: every sleep of a thread is to be one that the log knows.
#ifndef CPROF_TESTS_CAUSALITY_WORKLOADS_SPIN_LOCK_H_
#define CPROF_TESTS_CAUSALITY_WORKLOADS_SPIN_LOCK_H_

#include <sched.h>

#include <atomic>

namespace cprof::causality {

class SpinLock {
 public:
  void lock() {
    for (int tries = 1; flag_.test_and_set(std::memory_order_acquire); ++tries) {
      if (tries % 64 == 0) sched_yield();
    }
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_WORKLOADS_SPIN_LOCK_H_
