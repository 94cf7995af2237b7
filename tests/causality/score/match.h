// Finds the operation, request or task behind what a graph reports, by thread and time alone.
//
// Each half of an edge has a thread and a time. The truth says how many things of a type that
// thread did between two readings of the clock, and in which order: the k-th half inside a bracket
// is the k-th operation of the batch. Where the numbers differ nothing is guessed: the batch is
// undecided. A profiler's own keys, generations and node ids are never asked.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_MATCH_H_
#define CPROF_TESTS_CAUSALITY_SCORE_MATCH_H_

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/causality/oracle.h"
#include "tests/causality/score/graph_text.h"

namespace cprof::causality {

// One reported half-edge: the event, and the edges and orphans that were made of it.
struct Half {
  uint64_t time_ns = 0;
  uint64_t stream = 0, sequence = 0;  // of the event, to order equal times
  std::vector<uint32_t> edges;        // indices into Graph::edges
  std::vector<uint32_t> orphans;      // indices into Graph::orphans
  enum class Verdict : uint8_t { kForeign, kDecided, kUndecided, kInvented };
  Verdict verdict = Verdict::kForeign;  // foreign: of a thread that the truth does not know
  uint32_t record = 0;                  // decided: index of the truth's record
};

// Halves of one type, and what became of the truth's records of that type.
struct Matched {
  std::vector<Half> halves;
  uint64_t truths = 0;      // records inside the recorded time
  uint64_t outside = 0;     // records before or after the recording
  uint64_t decided = 0;     // records with exactly one half
  uint64_t undecided = 0;   // records in batches whose numbers differ
  uint64_t unreported = 0;  // records in batches of which nothing at all was reported
  // Per truth record index: 1 + index of its half, 0 for none.
  std::unordered_map<uint32_t, uint32_t> half_of_record;
};

// The span of time that a graph covers with half-edges and bindings.
struct Window {
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
};
Window WindowOf(const Graph& graph);

// type: "submit" (halves at their source) and "complete" (at their destination), those that the
// application told left out; or "queue" (at their source, only those that the application told);
// truth: the matching kind of record.
Matched Match(const Graph& graph, const std::vector<OracleRecord>& records, std::string_view type,
              Truth truth, const Window& window);

// Lives of requests or tasks: which hidden id a node of the graph stands for. Nodes are found by
// the application's handle, which is reused, and by the life it had when the node was born.
class Lives {
 public:
  Lives(const std::vector<OracleRecord>& records, Truth begin, Truth end);
  // 0 where no life, or more than one, can be meant.
  uint64_t Find(const GraphNode& node) const;

  struct Life {
    uint64_t id = 0, owner = 0;
    uint64_t begin_before_ns = 0, begin_after_ns = 0;
    uint64_t end_before_ns = 0, end_after_ns = 0;  // 0: never ended
  };
  // Null for an unknown id.
  const Life* Of(uint64_t id) const;
  size_t count() const { return by_id_.size(); }

 private:
  std::unordered_map<uint64_t, Life> by_id_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> by_handle_;  // ids in order of birth
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_MATCH_H_
