// Pass "attribute", wall time: where each instant of a request went.
#ifndef CPROF_REPORT_WALL_H_
#define CPROF_REPORT_WALL_H_

#include <vector>

#include "report/graph.h"
#include "report/ownership.h"
#include "report/strand.h"

namespace cprof {

// Splits the wall times of requests. Its lists keep their memory from one to the next.
class WallPartition {
 public:
  explicit WallPartition(const Ownership& graph) : graph_(graph) {}

  // The request's [begin, end) as spans in time order, without gap or overlap: their lengths add up
  // to the wall time exactly. The request must be unsettled and have an end; activities are those
  // that StrandCollector gives. What no edge explains is `unknown`. Valid until the next call.
  const std::vector<StateSpan>& Of(NodeId request, const std::vector<Activity>& activities);

  struct Lists {
    std::vector<StateSpan> spans;      // of the walk: latest first
    std::vector<Strand> entered;       // at the instant of the cursor
    std::vector<Activity> activities;  // by to_ns, latest first
    std::vector<Activity> active;      // reach to the cursor or beyond
  };

 private:
  const Ownership& graph_;
  Lists lists_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_WALL_H_
