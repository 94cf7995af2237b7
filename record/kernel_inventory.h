// What exists when recording begins, asked of the kernel by BPF iterators.
#ifndef CPROF_RECORD_KERNEL_INVENTORY_H_
#define CPROF_RECORD_KERNEL_INVENTORY_H_

#include <cstdint>
#include <string>
#include <vector>

struct bpf_program;

namespace cprof {

// start_time_ns is exactly that of the events (/proc knows it to 10 ms only).
struct FoundThread {
  uint64_t start_time_ns = 0;
  uint64_t runtime_ns = 0;  // CPU time as of its last tick or switch
  uint32_t tid = 0;
  uint32_t tgid = 0;
  bool is_target = false;  // its events are recorded
  bool is_kernel = false;  // a kernel thread, not io-wq or SQPOLL
  std::string comm;
};

// One descriptor of an io_uring: shared and duplicated rings appear several times.
struct FoundRing {
  uint64_t ring = 0;           // key as in the events
  uint64_t start_time_ns = 0;  // of the process's leader
  uint32_t tgid = 0;
  uint32_t fd = 0;
  uint32_t setup_flags = 0;  // IORING_SETUP_*
};

// Empty where the program is not loaded or cannot run.
std::vector<FoundThread> ListThreads(bpf_program* program);
std::vector<FoundRing> ListRings(bpf_program* program);

}  // namespace cprof

#endif  // CPROF_RECORD_KERNEL_INVENTORY_H_
