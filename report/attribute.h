// Passes "bindings, attribute": the graph into owners, wall states and costs of each request.
#ifndef CPROF_REPORT_ATTRIBUTE_H_
#define CPROF_REPORT_ATTRIBUTE_H_

#include <memory>

#include "report/graph.h"

namespace cprof {

// A GraphSink between joiner and renderer: passes everything on to `next`, and adds OnOwner,
// OnState, OnCost, OnRequestEnd. Keeps what live requests need.
std::unique_ptr<GraphSink> MakeAttributePass(GraphSink& next);

}  // namespace cprof

#endif  // CPROF_REPORT_ATTRIBUTE_H_
