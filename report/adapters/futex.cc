// The futex adapter: names the object that a thread is about to wait on. It makes no edges: what
// ends the wait is a waking, which the scheduler tells.
#include "report/adapters/adapter.h"

namespace cprof {
namespace {

class FutexAdapter : public JoinAdapter {
 public:
  explicit FutexAdapter(JoinContext& context) : context_(context) {}

  void Apply(const Event& event) override {
    switch (event.verb) {
      case verbs::kFutexWait: Note(event, ThreadSlice::Wait::kFutex); break;
      case verbs::kEventfdWait: Note(event, ThreadSlice::Wait::kEventfd); break;
      case verbs::kEpollWait: Note(event, ThreadSlice::Wait::kEpoll); break;
      default: break;
    }
  }

 private:
  // Valid for the very next block of the thread only: the sched adapter clears it at the switch.
  void Note(const Event& event, ThreadSlice::Wait wait) {
    if (event.level != Level::kTask || event.tid == 0) return;
    ThreadRecord& thread = context_.Current(event);
    thread.wait = wait;
    // A private futex is an address in the image, a shared one an offset in key2.
    thread.wait_object = {event.key2.lo, event.key.lo};
  }

  JoinContext& context_;
};

}  // namespace

std::unique_ptr<JoinAdapter> MakeFutexAdapter(JoinContext& context) {
  return std::make_unique<FutexAdapter>(context);
}

}  // namespace cprof
