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

// A thread works for the request and for no other one nested in it.
struct OwnPiece {
  NodeId thread = 0;
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  bool shared = false;  // for other requests at the same time
  bool certain = true;  // false: a break left open whether it does
};

// Answers are valid until the next one of the same kind; the lists keep their memory.
class StrandCollector {
 public:
  explicit StrandCollector(const Ownership& graph) : graph_(graph) {}

  // All activities within [begin, end) of an unsettled request, in no order. They may overlap.
  const std::vector<Activity>& Activities(NodeId request);
  // By thread, then time; without overlap.
  const std::vector<OwnPiece>& OwnPieces(NodeId request, const std::vector<Activity>& activities);

 private:
  void Add(const RequestHistory& request, uint64_t from_ns, uint64_t to_ns, Strand strand);
  void AddOwned(NodeId request_id, const RequestHistory& request, NodeId id);

  const Ownership& graph_;
  std::vector<Activity> activities_;
  std::vector<OwnPiece> pieces_;
  std::vector<Activity> threads_;  // scratch
  std::vector<OwnPiece> found_;    // scratch
};

}  // namespace cprof

#endif  // CPROF_REPORT_STRAND_H_
