// Scores a graph against an oracle log: wrong joins, wrong owners, what is missing, what is unsure.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_SCORE_H_
#define CPROF_TESTS_CAUSALITY_SCORE_SCORE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/causality/oracle.h"
#include "tests/causality/score/graph_text.h"

namespace cprof::causality {

// Edges of one confidence. reported = right + wrong + undecided + foreign.
struct EdgeScore {
  uint64_t reported = 0;
  uint64_t right = 0;
  uint64_t wrong = 0;      // ends are not one operation, or no such operation exists
  uint64_t undecided = 0;  // the truth cannot tell
  uint64_t foreign = 0;    // of threads or lives that the truth knows nothing of
};

// Time given to requests. attributed = right + wrong.
struct OwnerScore {
  uint64_t attributed_ns = 0;
  uint64_t right_ns = 0;
  uint64_t wrong_ns = 0;
  uint64_t unknown_ns = 0;    // owned in truth, not attributed
  uint64_t undecided_ns = 0;  // between two readings of the clock
};

struct Scores {
  // Submits, completions and the hand-overs that an application named, by confidence.
  std::map<std::string, EdgeScore> edges;
  // Edges of types that these workloads' truth does not cover, by type.
  std::map<std::string, uint64_t> outside_domain;

  uint64_t operations = 0;         // true edges inside the recorded time
  uint64_t outside_recording = 0;  // true edges before or after it
  uint64_t found = 0;              // true edges with a right edge
  uint64_t undecided = 0;
  uint64_t missing = 0;  // decided, and no right edge
  uint64_t missing_with_orphan = 0;
  // Missing edges that an orphan or any break of the recording can account for.
  uint64_t missing_honestly = 0;
  uint64_t silent_operations = 0;  // that complete without a sign

  uint64_t half_edges = 0;  // as the summary says
  uint64_t orphans = 0;
  std::map<std::string, uint64_t> orphans_by_reason;
  uint64_t unexplained = 0;
  uint64_t breaks = 0;
  bool adds_up = false;  // half_edges = joined + orphans, and orphans are those in the graph

  OwnerScore threads;           // time of watched threads
  OwnerScore operations_owner;  // time of operations in flight

  uint64_t requests = 0;           // in the truth, begun and ended
  uint64_t requests_matched = 0;   // with a node and an end
  uint64_t requests_off = 0;       // wall more than 1 % from what the workload measured
  uint64_t states_not_adding = 0;  // matched requests whose states do not sum to their wall
  uint64_t wall_ns = 0;
  std::map<std::string, uint64_t> state_ns;

  // The first few wrong edges, in words.
  std::vector<std::string> wrong_examples;

  uint64_t WrongJoins() const;
  double Precision(const std::string& confidence) const;  // 1 where nothing was reported
  double Recall() const;
};

Scores Score(const std::vector<OracleRecord>& records, const Graph& graph);

// For people, and for programs.
std::string ScoresAsText(const Scores& scores);
std::string ScoresAsJson(const Scores& scores);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_SCORE_H_
