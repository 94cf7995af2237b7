// Waits.
#include "record/wait_loop.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cprof {
namespace {

sigset_t WantedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

Result<void> WaitLoop::TakeSignals() {
  // A shell without job control starts background jobs with SIGINT ignored, and an ignored signal
  // never arrives. SIGHUP stays as it is: nohup means what it says.
  signal(SIGINT, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  const sigset_t signals = WantedSignals();
  if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    return Error{std::string("cannot block signals: ") + std::strerror(error), ""};
  }
  return {};
}

WaitLoop::WaitLoop()
    : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      timer_fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  const sigset_t signals = WantedSignals();
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  CPROF_CHECK(epoll_fd_ >= 0 && signal_fd_ >= 0 && timer_fd_ >= 0);
  Add(signal_fd_, false, [this] { ReadSignals(); });
  Add(timer_fd_, true, [] {});
}

WaitLoop::~WaitLoop() {
  close(signal_fd_);
  close(timer_fd_);
  close(epoll_fd_);
}

void WaitLoop::Add(int fd, bool is_eventfd, std::function<void()> ready) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  CPROF_CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0);
  entries_[fd] = {is_eventfd, std::move(ready)};
}

void WaitLoop::Remove(int fd) {
  if (entries_.erase(fd) != 0) epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

void WaitLoop::ReadSignals() {
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (on_signal_) on_signal_(static_cast<int>(info.ssi_signo));
  }
}

void WaitLoop::Wait(uint64_t deadline_ns) {
  itimerspec timer{};
  if (deadline_ns != UINT64_MAX) {
    // All zeros would disarm it.
    if (deadline_ns == 0) deadline_ns = 1;
    timer.it_value.tv_sec = static_cast<time_t>(deadline_ns / 1'000'000'000);
    timer.it_value.tv_nsec = static_cast<long>(deadline_ns % 1'000'000'000);
  }
  timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &timer, nullptr);
  std::array<epoll_event, 32> events;
  const int count = epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), -1);
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<size_t>(i)].data.fd;
    const auto entry = entries_.find(fd);
    if (entry == entries_.end()) continue;  // Removed by one that was ready before it.
    eventfd_t ignored = 0;
    if (entry->second.is_eventfd) (void)!eventfd_read(fd, &ignored);
    const std::function<void()> ready = entry->second.ready;
    ready();
  }
}

}  // namespace cprof
