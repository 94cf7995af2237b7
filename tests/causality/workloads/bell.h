// Ways in which one thread wakes another that waits for it, each with one thread that waits.
//
// Whoever rings first since the last answer is the waker; who rings after it does nothing. So the
// program knows who woke whom, whatever happens to the queue that the bell stands beside.
#ifndef CPROF_TESTS_CAUSALITY_WORKLOADS_BELL_H_
#define CPROF_TESTS_CAUSALITY_WORKLOADS_BELL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/causality/workloads/truth_thread.h"

namespace cprof::causality {

enum class BellKind { kFutex, kEventfd, kPipe, kTimerfd, kMsgRing };
inline constexpr std::array<const char*, 5> kBellKinds = {"futex", "eventfd", "pipe", "timerfd",
                                                          "msgring"};

class Bell {
 public:
  virtual ~Bell() = default;
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // Any thread: false where the bell was rung already and not answered yet.
  bool Ring(TruthThread& ringer, uint64_t operation, uint64_t owner);
  // The one thread that answers. Blocks until the bell was rung. state: of the request that the
  // thread works for meanwhile; cause: where the ringer leaves who was waited for.
  void Wait(TruthThread& self, WallState state = WallState::kBlocked,
            const uint64_t* cause = nullptr);
  bool is_rung() const { return rung_.load(); }

 protected:
  Bell() = default;
  virtual void Strike(TruthThread& ringer) = 0;
  // One call that blocks until the bell was struck; it may come back too early.
  virtual void Sleep() = 0;
  virtual bool Answered() = 0;
  // A waker may still be about to wake when the waiting thread has long gone on.
  virtual bool wakes_late() const { return true; }
  virtual void Settle(TruthThread& self, const cprof::causality::Wait& wait, OracleRecord* offer,
                      bool answered);
  virtual EdgeKind kind() const { return EdgeKind::kWake; }

 private:
  std::atomic<bool> rung_{false};
  std::atomic<OracleRecord*> offer_{nullptr};
  WallState state_ = WallState::kBlocked;
  const uint64_t* cause_ = nullptr;
  OracleRecord* last_ = nullptr;  // the one answered before, if its wake may still come
};

std::unique_ptr<Bell> MakeBell(BellKind kind);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_WORKLOADS_BELL_H_
