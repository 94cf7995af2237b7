// Passes "generations, join, orphans": events in time order into nodes, edges and orphans.
#ifndef CPROF_REPORT_JOIN_H_
#define CPROF_REPORT_JOIN_H_

#include <memory>

#include "format/reader.h"
#include "report/graph.h"
#include "report/order.h"

namespace cprof {

struct JoinOptions {
  // For tests only: a joiner with a known mistake, to show that the accounts notice it.
  enum class PlantedBug : uint8_t {
    kNone,
    kMissesRequests,  // looks some completions up under a wrong request object
  };
  PlantedBug planted_bug = PlantedBug::kNone;
};

// One table of lives for all adapters; each adapter (report/adapters/) brings its rules. Keeps what
// is alive, not what has been. After each batch it tells the sink OnFinal(batch.final_ns).
class Joiner {
 public:
  // `strings` and `sink` outlive the joiner.
  Joiner(const SessionHeader& header, const StringTable& strings, const JoinOptions& options,
         GraphSink& sink);
  ~Joiner();
  void AddStream(const StreamInfo& stream);
  void Apply(const Batch& batch);
  // After the last batch: orphans of what is open, node ends, OnSummary.
  void Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_JOIN_H_
