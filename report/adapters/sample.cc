// The sample adapter: samples come beside the events (Batch::samples) and join nothing, so that an
// event of a sample verb on the edge plane has nothing left to tell.
#include "report/adapters/adapter.h"

namespace cprof {
namespace {

class SampleAdapter : public JoinAdapter {
 public:
  void Apply(const Event&) override {}
};

}  // namespace

std::unique_ptr<JoinAdapter> MakeSampleAdapter(JoinContext&) {
  return std::make_unique<SampleAdapter>();
}

}  // namespace cprof
