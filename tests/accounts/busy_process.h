// A process whose threads use the CPU in known ways, and what the kernel says that they used.
#ifndef CPROF_TESTS_ACCOUNTS_BUSY_PROCESS_H_
#define CPROF_TESTS_ACCOUNTS_BUSY_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>

namespace cprof::test {

// Threads: one is always on a CPU, one naps, two hand a byte to and fro, one starts short ones that
// use 20 ms each, one sleeps all the time.
class BusyProcess {
 public:
  enum class Mode {
    kRounds,   // parked until Work, which runs a fixed amount and returns when all are parked again
    kForever,  // at work from the start until destroyed
  };
  explicit BusyProcess(Mode mode);
  ~BusyProcess();
  pid_t pid() const { return pid_; }
  // CPU time of the short threads, by tid, as they measured it just before their end.
  std::map<uint32_t, uint64_t> Work();
  // The first field of /proc/PID/task/*/schedstat, by tid.
  std::map<uint32_t, uint64_t> ReadSchedstat() const;

 private:
  pid_t pid_ = -1;
  int go_fd_ = -1;
  int done_fd_ = -1;
};

}  // namespace cprof::test

#endif  // CPROF_TESTS_ACCOUNTS_BUSY_PROCESS_H_
