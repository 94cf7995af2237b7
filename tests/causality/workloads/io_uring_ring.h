// One thread's io_uring in one of the modes that a profiler must understand, and its helper
// threads.
#ifndef CPROF_TESTS_CAUSALITY_WORKLOADS_IO_URING_RING_H_
#define CPROF_TESTS_CAUSALITY_WORKLOADS_IO_URING_RING_H_

#include <liburing.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "format/result.h"

namespace cprof::causality {

enum class RingMode { kPlain, kCooperative, kDefer, kSqPoll };
std::optional<RingMode> FindRingMode(std::string_view name);

class Ring {
 public:
  Ring() = default;
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Call on the thread that will use it.
  Result<void> Open(RingMode mode, uint32_t entries);
  io_uring_sqe* Next();
  // Hands over everything prepared, and returns once the kernel has taken all of it.
  void Submit();
  // Blocks for one completion. `more`: the operation will complete again.
  int32_t WaitResult(bool* more);
  int fd() const { return ring_.ring_fd; }
  // Who executes submissions: the SQPOLL thread, or the calling thread.
  uint32_t submitter_tid() const { return submitter_tid_; }

 private:
  io_uring ring_ = {};
  bool is_open_ = false;
  bool is_polled_ = false;
  uint32_t submitter_tid_ = 0;
};

// Kernel threads that work for this process's rings now: their tid, and the tid of the ring's
// owner, as the kernel names them (iou-wrk-TID, iou-sqp-TID).
std::map<uint32_t, uint32_t> FindRingHelpers();

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_WORKLOADS_IO_URING_RING_H_
