// One epoll over everything that the control thread waits for: signals, ends of processes, threads
// that are done, and time.
#ifndef CPROF_RECORD_WAIT_LOOP_H_
#define CPROF_RECORD_WAIT_LOOP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "format/result.h"

namespace cprof {

class WaitLoop {
 public:
  // Blocks SIGINT, SIGTERM and SIGHUP for this and all later threads; they arrive here from then
  // on. SIGPIPE and SIGXFSZ become errors of write.
  static Result<void> TakeSignals();

  WaitLoop();
  ~WaitLoop();
  WaitLoop(const WaitLoop&) = delete;
  WaitLoop& operator=(const WaitLoop&) = delete;

  // Calls `ready` in Wait whenever fd is readable, until Remove. Eventfds are read before.
  void Add(int fd, bool is_eventfd, std::function<void()> ready);
  void Remove(int fd);
  // Calls `arrived` with the signal's number.
  void OnSignal(std::function<void(int)> arrived) { on_signal_ = std::move(arrived); }
  // Waits until something is ready or deadline_ns (CLOCK_MONOTONIC) has come, and calls what is
  // due.
  void Wait(uint64_t deadline_ns);

 private:
  struct Entry {
    bool is_eventfd;
    std::function<void()> ready;
  };
  void ReadSignals();

  int epoll_fd_ = -1;
  int signal_fd_ = -1;
  int timer_fd_ = -1;
  std::map<int, Entry> entries_;
  std::function<void(int)> on_signal_;
};

}  // namespace cprof

#endif  // CPROF_RECORD_WAIT_LOOP_H_
