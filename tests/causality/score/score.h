// Scores a graph against an oracle log: wrong joins, wrong owners, what is missing, what is unsure.
// Words and definitions are those of tests/causality/README.md.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_SCORE_H_
#define CPROF_TESTS_CAUSALITY_SCORE_SCORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/causality/oracle.h"
#include "tests/causality/score/capability.h"
#include "tests/causality/score/graph_text.h"
#include "tests/causality/score/losses.h"
#include "tests/causality/score/verdict.h"

namespace cprof::causality {

// Edges of one confidence, or of one type.
// reported = right + wrong + duplicate + undecided + foreign.
struct EdgeScore {
  uint64_t reported = 0;
  uint64_t right = 0;
  uint64_t wrong = 0;      // false joins: ends are not one operation, or no such operation exists
  uint64_t duplicate = 0;  // true, but reported before
  uint64_t undecided = 0;  // the truth cannot tell
  uint64_t foreign = 0;    // of threads or lives that the truth knows nothing of

  // Judged edges that are true and were not said before; 1 where nothing was judged.
  double Precision() const;
};

// True edges of one type. found + missing + undecided = inside.
struct TruthScore {
  uint64_t outside = 0;  // before or after the recording
  uint64_t inside = 0;
  uint64_t found = 0;
  uint64_t undecided = 0;
  uint64_t missing = 0;
  // Missing ones that the graph has an orphan, or a break, to show for. shown counts each once.
  uint64_t with_orphan = 0, with_break = 0, shown = 0;
  // The same of those that the hooks can see, undecided ones left out.
  uint64_t visible = 0, visible_found = 0;
  // Of the visible ones, those whose halves survived the loss. Without a list of losses: all.
  uint64_t kept = 0, kept_found = 0;
  // Right joins that need no rule and that no loss touched, and how many of them are `observed`.
  uint64_t sure = 0, sure_observed = 0;
};

// Time given to requests. attributed = right + wrong.
struct OwnerScore {
  uint64_t attributed_ns = 0;
  uint64_t right_ns = 0;
  uint64_t wrong_ns = 0;
  uint64_t unknown_ns = 0;    // owned in truth, not attributed
  uint64_t undecided_ns = 0;  // between two readings of the clock
  uint64_t watched_ns = 0;    // all time that was looked at
  // attributed and wrong once more, by confidence.
  std::map<std::string, uint64_t> attributed_by, wrong_by;

  void Add(const OwnerScore& other);
};

// Something that a request spent, reported beside what it truly was. Errors are relative to the
// truth; one per request, of those that have a truth.
struct QuantityScore {
  std::vector<double> errors;
  uint64_t unreported = 0;  // requests with a truth and without a figure; their error is 1
  // Of the reported intervals: how many hold the truth; widths are relative to it.
  uint64_t intervals = 0, covering = 0;
  std::vector<double> widths;

  void Add(const QuantityScore& other);
};

struct Scores {
  std::map<std::string, EdgeScore> edges;          // by confidence
  std::map<std::string, EdgeScore> edges_by_type;  // by the graph's type
  std::map<std::string, EdgeScore> edges_by_rule;  // those that name one
  std::map<std::string, TruthScore> truths;        // by TrueTypeName
  // Edges of types and threads that these workloads' truth does not cover, by type.
  std::map<std::string, uint64_t> outside_domain;
  uint64_t silent_operations = 0;  // that complete without a sign

  uint64_t half_edges = 0;  // as the summary says
  uint64_t orphans = 0;
  std::map<std::string, uint64_t> orphans_by_reason;
  uint64_t unexplained = 0;
  uint64_t orphans_without_proof = 0;
  uint64_t accounts_off = 0;  // runs where half_edges = joined + orphans does not hold

  uint64_t breaks = 0;
  uint64_t lost_reported = 0;     // events in breaks
  double break_cpu_ns = 0;        // their length, times the CPUs they speak of
  uint64_t lost_truly = 0;        // where losses are given, else 0
  double lossy_cpu_ns = 0;        // likewise
  uint64_t runs_with_losses = 0;  // runs whose losses are given

  OwnerScore threads;           // time of watched threads
  OwnerScore operations_owner;  // time of operations in flight

  uint64_t requests = 0;           // in the truth, begun and ended
  uint64_t requests_matched = 0;   // with a node and an end
  uint64_t requests_off = 0;       // wall more than 1 % from what the workload measured
  uint64_t states_not_adding = 0;  // matched requests whose states do not sum to their wall
  uint64_t wall_ns = 0;
  std::map<std::string, uint64_t> state_ns;
  QuantityScore wall;  // states of the wall partition
  // Per request, the share of its wall that the truth leaves open: no error can be finer.
  std::vector<double> wall_open;
  QuantityScore cpu, resource;

  bool has_adapter = true;  // the profiler has one for this mechanism
  uint64_t runs = 1;

  uint64_t FalseJoins() const;
  uint64_t Reported() const;  // edges of which the truth could say something
  uint64_t Judged() const;    // edges that are right, duplicate or wrong
  double Precision(const std::string& confidence) const;  // 1 where nothing was reported
  TruthScore AllTruths() const;
  OwnerScore AllOwners() const;
  double Recall() const;  // of all true edges; 0 where there is none
  void Add(const Scores& other);
};

// What a scoring needs beside the log and the graph; all may be left out.
struct ScoreOptions {
  // The graph of the same recording without loss: halves are matched there.
  const Graph* lossless = nullptr;
  const Losses* losses = nullptr;
  const Capability* capability = nullptr;
  std::string mechanism, fault;  // rows of the capability table
  // The recording began before the workload and ended after it: nothing is outside of it.
  bool is_whole = false;
};

// All there is to know; kept for explanations.
struct Scored {
  Scores scores;
  std::vector<EdgeVerdict> edges;  // by index in the graph
  std::vector<TrueEdge> truths;
  struct WrongOwner {
    uint32_t tid = 0;  // of a thread; 0: of an operation in flight
    uint64_t node = 0;
    uint64_t from_ns = 0, to_ns = 0;
    uint64_t owner = 0;  // hidden id of the true one; 0: nobody
    std::vector<uint64_t> claimed;
  };
  std::vector<WrongOwner> wrong_owners;  // the longest come first
};

Scored ScoreGraph(const std::vector<OracleRecord>& records, const Graph& graph,
                  const ScoreOptions& options);
Scores Score(const std::vector<OracleRecord>& records, const Graph& graph,
             const ScoreOptions& options = {});

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_SCORE_H_
