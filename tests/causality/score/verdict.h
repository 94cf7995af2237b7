// What became of each edge that a graph reports, and of each edge that the truth holds.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_VERDICT_H_
#define CPROF_TESTS_CAUSALITY_SCORE_VERDICT_H_

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/causality/oracle.h"
#include "tests/causality/score/graph_text.h"

namespace cprof::causality {

// In the place of an index: there is none, or the truth cannot name it.
inline constexpr uint32_t kNoRecord = UINT32_MAX;

// Kinds of true edges. Names are those of the capability table and of the scores.
enum class TrueType : uint8_t {
  kSubmit,
  kComplete,
  kHandOver,  // a hand-over that the workload itself named
  kWake,
  kSpawn,
  kQueue,
  kResume,
  kTimer,
  kWorkItem,
  kBlock,
  kSend,
  kAcquire,
  kRelease,
};
inline constexpr int kTrueTypeCount = 13;
std::string_view TrueTypeName(TrueType type);
TrueType TypeOfEdgeKind(EdgeKind kind);

// Of an edge in the graph.
enum class Fate : uint8_t {
  kUnjudged,   // the truth says nothing of edges like this one
  kForeign,    // of threads or lives that the truth knows nothing of
  kUndecided,  // the truth cannot tell
  kRight,
  kDuplicate,  // true, but reported before
  kWrong,      // its ends are not one operation, or there is no such operation
};

struct EdgeVerdict {
  Fate fate = Fate::kUnjudged;
  uint32_t record = kNoRecord;  // that it is, or that it contradicts
  const char* why = nullptr;    // wrong: in words
};

// Of an edge in the truth.
struct TrueEdge {
  enum class Status : uint8_t { kOutside, kMissing, kUndecided, kFound };
  uint32_t record = kNoRecord;
  TrueType type = TrueType::kSubmit;
  Status status = Status::kMissing;
  uint32_t edge = kNoRecord;  // found: the edge
  // Missing, but the graph says that something is missing here.
  bool has_orphan = false;
  bool has_break = false;
  bool is_visible = true;  // the hooks can see it
  // Both of its halves, as a recording without loss has them, were kept in this one.
  bool is_kept = true;
  // A rule is needed for it even without loss.
  bool needs_rule = false;
  // All that can have been lost in between, for loss to explain that it is missing.
  uint64_t from_ns = 0, to_ns = 0;
};

class Judgement {
 public:
  Judgement(const std::vector<OracleRecord>& records, const Graph& graph);

  // The edge is this record, if that was not found already.
  void Right(uint32_t edge, uint32_t record);
  void Wrong(uint32_t edge, const char* why, uint32_t record = kNoRecord);
  void Set(uint32_t edge, Fate fate) { edges_[edge].fate = fate; }
  void SetStatus(uint32_t record, TrueEdge::Status status);

  // Null for a record that is no true edge.
  TrueEdge* TruthOf(uint32_t record);
  std::vector<EdgeVerdict>& edges() { return edges_; }
  const std::vector<EdgeVerdict>& edges() const { return edges_; }
  std::vector<TrueEdge>& truths() { return truths_; }
  const std::vector<TrueEdge>& truths() const { return truths_; }

 private:
  std::vector<EdgeVerdict> edges_;  // by index in the graph
  std::vector<TrueEdge> truths_;    // in the order of the log
  std::vector<uint32_t> truth_of_record_;
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_VERDICT_H_
