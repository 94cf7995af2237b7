// Runs a function in a child process under the kernel capture, and returns what was recorded.
#ifndef CPROF_TESTS_KERNEL_CAPTURE_RUN_H_
#define CPROF_TESTS_KERNEL_CAPTURE_RUN_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "record/kernel_capture.h"

namespace cprof {

// A child that waits until it is told to go, runs, and exits with 0 where the function returns
// true. prepare runs before the wait, so that what it makes exists before the recording.
class Child {
 public:
  explicit Child(std::function<bool()> run, std::function<void()> prepare = {});
  ~Child();
  uint32_t pid() const { return pid_; }
  void Go();
  bool HasExited();
  bool succeeded() const { return succeeded_; }

 private:
  uint32_t pid_ = 0;
  int go_fd_ = -1;
  bool exited_ = false;
  bool succeeded_ = false;
};

struct Captured {
  std::vector<Event> events;  // by time
  std::vector<StackSample> samples;
  std::vector<Break> breaks;
  std::vector<StreamInfo> streams;
  std::vector<RoundMark::Counter> counters;
  std::map<std::string, std::string> attributes;
  std::vector<FoundThread> threads_before;
  std::vector<FoundRing> rings_before;
  uint64_t begin_ns = 0, end_ns = 0;
  bool last_sweep_complete = false;
  bool child_succeeded = false;
  uint32_t child_pid = 0;

  std::vector<Event> Of(Verb verb) const;
  uint64_t attempted() const;
  uint64_t lost() const;
};

struct RunOptions {
  bool sweep_while_running = true;
  std::function<void()> each_sweep;  // runs on the recorder's own thread
};

// Records child from before it goes until it has exited. Unless options name targets or the whole
// system, the child is the target.
Captured RecordChild(Child& child, KernelCaptureOptions options, const RunOptions& run = {});

// Skips the running test, saying why, where capture cannot work at all.
#define CPROF_SKIP_UNLESS_ROOT() \
  if (geteuid() != 0) GTEST_SKIP() << "loading BPF programs needs root"

}  // namespace cprof

#endif  // CPROF_TESTS_KERNEL_CAPTURE_RUN_H_
