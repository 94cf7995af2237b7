// The strands of a request: what was active on its behalf, and when.
#ifndef CPROF_REPORT_STRAND_H_
#define CPROF_REPORT_STRAND_H_

#include <vector>

#include "report/ownership.h"

namespace cprof {

struct Strand {
  // In the order in which a gap prefers them: who executes explains more than what is in flight.
  enum class Kind : uint8_t { kThread, kChild, kIo } kind = Kind::kThread;
  NodeId id = 0;
  friend auto operator<=>(const Strand&, const Strand&) = default;
};

// A strand is active over [from_ns, to_ns): a thread is bound to the request or a node it owns, an
// io_request is in flight, a nested request lives.
struct Activity {
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  Strand strand;
};

// All activities within [begin, end) of an unsettled request, in no order. They may overlap.
std::vector<Activity> CollectActivities(const Ownership& graph, NodeId request);

// A thread works for the request and for no other one nested in it.
struct OwnPiece {
  NodeId thread = 0;
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  bool shared = false;  // for other requests at the same time
  bool certain = true;  // false: a break left open whether it does
};

// By thread, then time; without overlap.
std::vector<OwnPiece> CollectOwnPieces(const Ownership& graph, NodeId request,
                                       const std::vector<Activity>& activities);

}  // namespace cprof

#endif  // CPROF_REPORT_STRAND_H_
