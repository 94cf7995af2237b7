// Finds the operation, request or task behind what a graph reports, by thread and time alone.
//
// Each half of an edge has a thread and a time. The truth says how many things of a type that
// thread did between two readings of the clock, and in which order: the k-th half inside a bracket
// is the k-th operation of the batch. Where the numbers differ nothing is guessed: the batch is
// undecided. A profiler's own keys, generations and node ids are never asked.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_MATCH_H_
#define CPROF_TESTS_CAUSALITY_SCORE_MATCH_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/causality/oracle.h"
#include "tests/causality/score/domain.h"
#include "tests/causality/score/graph_text.h"
#include "tests/causality/score/verdict.h"

namespace cprof::causality {

// One reported half-edge: the event, and the edges and orphans that were made of it.
struct Half {
  uint64_t time_ns = 0;
  uint64_t stream = 0, sequence = 0;  // of the event, to order equal times
  std::vector<uint32_t> edges;        // indices into Graph::edges
  std::vector<uint32_t> orphans;      // indices into Graph::orphans
  bool has_event = false;
  enum class Verdict : uint8_t { kForeign, kDecided, kUndecided, kInvented };
  Verdict verdict = Verdict::kForeign;  // foreign: of a thread that the truth does not know
  uint32_t record = 0;                  // decided: index of the truth's record
};

// What the halves of a recording without loss are, by their events. In a recording that was made of
// it by taking events away, a lost half then does not shift its neighbours.
class HalfMemory {
 public:
  struct Known {
    Half::Verdict verdict = Half::Verdict::kForeign;
    uint32_t record = 0;
  };
  void Remember(TrueType type, const std::vector<Half>& halves);
  // Null for an event that the recording without loss does not have.
  const Known* Find(TrueType type, const Half& half) const;

 private:
  std::map<std::pair<uint64_t, uint64_t>, Known> known_[kTrueTypeCount];
};

// The span of time that a graph covers with half-edges and bindings.
struct Window {
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
};
Window WindowOf(const Graph& graph);

struct MatchInput {
  const Graph& graph;
  const std::vector<OracleRecord>& records;
  Window window;
  const Domains& domains;
  const HalfMemory* memory = nullptr;  // null: match by time alone
};

// Halves of one type: of submits and of hand-overs (which only an application tells) at their
// source, of completions at their other end. Sets the status of all true edges of that type: found
// is for the caller to say, who knows the other half.
std::vector<Half> Match(const MatchInput& input, TrueType type, Judgement* judgement);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_MATCH_H_
