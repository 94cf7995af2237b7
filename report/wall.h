// Pass "attribute", wall time: where each instant of a request went.
#ifndef CPROF_REPORT_WALL_H_
#define CPROF_REPORT_WALL_H_

#include <vector>

#include "report/graph.h"
#include "report/ownership.h"

namespace cprof {

// The request's [begin, end) as spans in time order, without gap or overlap: their lengths add up
// to the wall time exactly. The request must be unsettled and have an end. What no edge explains is
// `unknown`.
std::vector<StateSpan> PartitionWall(const Ownership& graph, NodeId request);

}  // namespace cprof

#endif  // CPROF_REPORT_WALL_H_
