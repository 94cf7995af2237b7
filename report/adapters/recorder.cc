// The recorder adapter: what existed before the first event.
#include "report/adapters/adapter.h"

namespace cprof {
namespace {

class RecorderAdapter : public JoinAdapter {
 public:
  explicit RecorderAdapter(JoinContext& context) : context_(context) {}

  void Apply(const Event& event) override {
    switch (event.verb) {
      case verbs::kRecorderThread: {
        ThreadRecord& thread = context_.Thread(OtherThread(event), event.time_ns);
        thread.followed = thread.key.tid != 0;
        thread.comm = CommOf(event);
        if (thread.since_ns == 0) thread.since_ns = event.time_ns;
        break;
      }
      case verbs::kRecorderRing:
        for (const auto& adapter : context_.adapters()) adapter->OnExistingRing(event);
        break;
      case verbs::kRecorderGate:
        if (event.arg != 0 && context_.gate_ns == 0) context_.gate_ns = event.time_ns;
        break;
      default: break;
    }
  }

 private:
  JoinContext& context_;
};

}  // namespace

std::unique_ptr<JoinAdapter> MakeRecorderAdapter(JoinContext& context) {
  return std::make_unique<RecorderAdapter>(context);
}

}  // namespace cprof
