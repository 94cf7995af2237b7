// The app adapter: so far it only keeps the accounts of what applications tell.
#include "report/adapters/adapter.h"

namespace cprof {
namespace {

class AppAdapter : public JoinAdapter {
 public:
  explicit AppAdapter(JoinContext& context) : context_(context) {}

  void Apply(const Event& event) override {
    if (event.verb != verbs::kAppEdge) return;
    Orphan orphan;
    orphan.type = static_cast<EdgeType>((event.arg >> 16) & 0xff);
    orphan.event = {event.stream, event.sequence};
    orphan.time_ns = event.time_ns;
    orphan.reason = OrphanReason::kHookUnavailable;
    orphan.proof = "this version joins no edges of applications";
    context_.AddOrphan(&orphan);
  }

 private:
  JoinContext& context_;
};

}  // namespace

std::unique_ptr<JoinAdapter> MakeAppAdapter(JoinContext& context) {
  return std::make_unique<AppAdapter>(context);
}

}  // namespace cprof
