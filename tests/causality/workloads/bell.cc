// Ways in which one thread wakes another: see bell.h.
#include "tests/causality/workloads/bell.h"

#include <liburing.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

namespace cprof::causality {
namespace {

constexpr uint64_t kTimerDelayNs = 60000;

class FutexBell : public Bell {
 protected:
  void Strike(TruthThread&) override {
    word_.store(1);
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void Sleep() override {
    if (word_.load() == 0) {
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
  }
  bool Answered() override { return word_.exchange(0) == 1; }

 private:
  std::atomic<uint32_t> word_{0};
};

class EventfdBell : public Bell {
 public:
  EventfdBell() : event_(eventfd(0, EFD_CLOEXEC)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event wanted = {};
    wanted.events = EPOLLIN;
    CPROF_CHECK(event_ >= 0 && epoll_ctl(epoll_, EPOLL_CTL_ADD, event_, &wanted) == 0);
  }
  ~EventfdBell() override {
    close(epoll_);
    close(event_);
  }

 protected:
  void Strike(TruthThread&) override { CPROF_CHECK(eventfd_write(event_, 1) == 0); }
  void Sleep() override {
    epoll_event ready;
    is_ready_ = epoll_wait(epoll_, &ready, 1, -1) == 1;
  }
  bool Answered() override {
    eventfd_t value = 0;
    return is_ready_ && eventfd_read(event_, &value) == 0;
  }
  // The counter and the wake-up are one step, under the lock of the eventfd.
  bool wakes_late() const override { return false; }

 private:
  int event_, epoll_;
  bool is_ready_ = false;
};

class PipeBell : public Bell {
 public:
  PipeBell() { CPROF_CHECK(pipe(ends_) == 0); }
  ~PipeBell() override {
    close(ends_[0]);
    close(ends_[1]);
  }

 protected:
  void Strike(TruthThread&) override { CPROF_CHECK(write(ends_[1], "r", 1) == 1); }
  void Sleep() override {
    char byte = 0;
    has_byte_ = read(ends_[0], &byte, 1) == 1;
  }
  bool Answered() override { return has_byte_; }

 private:
  int ends_[2] = {};
  bool has_byte_ = false;
};

// The ringer arms a timer; an interrupt wakes whoever waits for it.
class TimerfdBell : public Bell {
 public:
  TimerfdBell() : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) { CPROF_CHECK(timer_ >= 0); }
  ~TimerfdBell() override { close(timer_); }

 protected:
  void Strike(TruthThread&) override {
    itimerspec when = {};
    when.it_value.tv_nsec = static_cast<long>(kTimerDelayNs);
    CPROF_CHECK(timerfd_settime(timer_, 0, &when, nullptr) == 0);
  }
  void Sleep() override {
    uint64_t count = 0;
    has_run_out_ = read(timer_, &count, sizeof(count)) == sizeof(count);
  }
  bool Answered() override { return has_run_out_; }
  EdgeKind kind() const override { return EdgeKind::kTimer; }
  void Settle(TruthThread& self, const cprof::causality::Wait& wait, OracleRecord* offer,
              bool /*answered*/) override {
    const uint64_t due_ns = offer->before_ns + kTimerDelayNs;
    self.WokenByClock(wait, due_ns, WallState::kBlocked);
    self.TakeUp(offer, {due_ns, wait.clock.after_ns});
  }

 private:
  int timer_;
  bool has_run_out_ = false;
};

// A ring of the waiting thread, into which ringers post from rings of their own.
class MsgRingBell : public Bell {
 public:
  MsgRingBell() { CPROF_CHECK(io_uring_queue_init(8, &ring_, 0) == 0); }
  ~MsgRingBell() override { io_uring_queue_exit(&ring_); }

 protected:
  void Strike(TruthThread& ringer) override {
    thread_local OwnRing own;
    io_uring_sqe* sqe = io_uring_get_sqe(&own.ring);
    io_uring_prep_msg_ring(sqe, ring_.ring_fd, 0, 0, 0);
    sqe->user_data = 0;  // it identifies nothing
    const uint64_t operation = ringer.NewId();
    const uint64_t before_ns = NowNs();
    CPROF_CHECK(io_uring_submit(&own.ring) == 1);
    io_uring_cqe* cqe = nullptr;
    CPROF_CHECK(io_uring_peek_cqe(&own.ring, &cqe) == 0 && cqe->res == 0);
    io_uring_cqe_seen(&own.ring, cqe);
    // The post comes first and is no operation's; then the operation completes.
    ringer.Operation(operation, {0, operation}, {before_ns, NowNs()});
  }
  void Sleep() override {
    io_uring_cqe* cqe = nullptr;
    has_post_ = io_uring_wait_cqe(&ring_, &cqe) == 0;
    if (has_post_) io_uring_cqe_seen(&ring_, cqe);
  }
  bool Answered() override { return has_post_; }

 private:
  struct OwnRing {
    OwnRing() { CPROF_CHECK(io_uring_queue_init(8, &ring, 0) == 0); }
    ~OwnRing() { io_uring_queue_exit(&ring); }
    io_uring ring;
  };
  io_uring ring_;
  bool has_post_ = false;
};

}  // namespace

bool Bell::Ring(TruthThread& ringer, uint64_t operation, uint64_t owner) {
  if (rung_.exchange(true)) return false;
  OracleRecord* offer = ringer.Offer(kind(), operation, owner);
  offer_.store(offer);
  Strike(ringer);
  std::atomic_ref(offer->inner_from_ns).store(NowNs());
  return true;
}

void Bell::Wait(TruthThread& self, WallState state, const uint64_t* cause) {
  state_ = state;
  cause_ = cause;
  bool answered = false;
  while (!answered) {
    const cprof::causality::Wait wait = self.Block([this] { Sleep(); });
    answered = Answered();
    Settle(self, wait, offer_.load(), answered);
  }
  rung_.store(false);
}

// A wake that came too late for the wait it was meant for ends the next one, or seems to.
void Bell::Settle(TruthThread& self, const cprof::causality::Wait& wait, OracleRecord* offer,
                  bool answered) {
  if (wait.sleeps != 1) {
    if (wait.sleeps > 1) self.Doubt(wait);
    if (wait.sleeps == 0) self.WokenBy(wait, nullptr, WallState::kNone);
    if (answered) last_ = wait.sleeps == 0 && wakes_late() ? offer : nullptr;
    return;
  }
  bool is_late = false;
  if (last_ != nullptr) {
    const uint64_t rung_ns = std::atomic_ref(last_->inner_from_ns).load();
    is_late = rung_ns == 0 || rung_ns >= wait.clock.before_ns;
  }
  if (answered && !is_late) {
    self.WokenBy(wait, offer, state_, cause_ == nullptr ? 0 : *cause_);
  } else if (!answered && is_late) {
    self.WokenBy(wait, last_, WallState::kBlocked);
  } else {
    self.Doubt(wait);
  }
  last_ = nullptr;
}

std::unique_ptr<Bell> MakeBell(BellKind kind) {
  switch (kind) {
    case BellKind::kFutex: return std::make_unique<FutexBell>();
    case BellKind::kEventfd: return std::make_unique<EventfdBell>();
    case BellKind::kPipe: return std::make_unique<PipeBell>();
    case BellKind::kTimerfd: return std::make_unique<TimerfdBell>();
    case BellKind::kMsgRing: return std::make_unique<MsgRingBell>();
  }
  return nullptr;
}

}  // namespace cprof::causality
