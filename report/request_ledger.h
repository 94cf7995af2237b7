// Requests, whole: gathers what the passes tell of each and hands it on once it can be explained.
#ifndef CPROF_REPORT_REQUEST_LEDGER_H_
#define CPROF_REPORT_REQUEST_LEDGER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

#include "report/graph.h"
#include "report/node_map.h"
#include "report/node_table.h"
#include "report/sliding_vector.h"

namespace cprof {

// A node's label and thread id, kept once for all spans that mention nodes of that name.
using NameIndex = uint32_t;
struct NodeName {
  Label label;
  uint32_t tid = 0;
  friend bool operator==(const NodeName&, const NodeName&) = default;
};

// One stretch of a request's wall time with what explains it, by name: the nodes may be gone.
struct ExplainedSpan {
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  WallState state = WallState::kUnknown;
  Confidence confidence = Confidence::kObserved;
  NodeId node = 0;    // the strand
  NodeId peer = 0;    // what was waited for: the resource, the io request, who woke
  NodeId cause = 0;   // e.g. who held the resource
  NodeId thread = 0;  // who executed the taking side of the edge
  EdgeId edge = 0;
  bool has_edge = false;  // edge was found; edge_type is valid
  EdgeType edge_type = EdgeType::kSubmit;
  // What these nodes were called; see RequestLedger::NameAt.
  NameIndex node_name = 0;
  NameIndex peer_name = 0;
  NameIndex cause_name = 0;
  NameIndex thread_name = 0;

  uint64_t duration_ns() const { return to_ns - from_ns; }
};

struct RequestRecord {
  NodeId node = 0;
  Label label;
  NameIndex name = 0;  // that label's; 0 where there are too many names
  Key key;
  uint32_t generation = 0;
  uint32_t tgid = 0;
  bool ended = false;  // as in RequestEnd
  bool begun = true;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  std::array<uint64_t, kWallStateCount> state_ns{};
  bool has_cpu = false;
  uint64_t cpu_ns = 0, cpu_low_ns = 0, cpu_high_ns = 0;
  std::vector<ExplainedSpan> spans;  // by time
  bool spans_cut = false;            // more spans than kMaxSpans; the totals are complete

  bool whole() const { return begun && ended; }
  uint64_t wall_ns() const { return end_ns - begin_ns; }
};

// Feed it from a sink. Memory follows live requests and those that ended while one of them lived.
class RequestLedger {
 public:
  static constexpr size_t kMaxSpans = 1 << 16;      // kept of one request
  static constexpr size_t kMaxKeptSpans = 1 << 18;  // kept of all ended ones, 20 MB
  static constexpr size_t kMaxNames = 1 << 18;      // told apart; further ones are not known
  static constexpr size_t kFirstEdges = 1 << 12;    // room for them once there is one
  static constexpr size_t kMaxEdges = 1 << 20;      // remembered, 48 MB

  // Called once for each request, when every request that it waited for has ended too (or nothing
  // more will come). Not in the order of their ends, but in one that is a function of the file.
  using Consumer = std::function<void(const RequestRecord&)>;

  explicit RequestLedger(Consumer consumer) : consumer_(std::move(consumer)) {}

  void OnNode(const Node& node);
  void OnNodeEnd(const Node& node) { nodes_.End(node); }
  void OnThreadName(NodeId thread, const std::array<char, 16>& comm) {
    nodes_.Rename(thread, comm);
  }
  void OnEdge(const Edge& edge);
  void OnState(const StateSpan& span);
  void OnCost(const Cost& cost);
  void OnRequestEnd(const RequestEnd& end);
  void OnFinal(uint64_t final_ns);
  void Finish();

  const NodeTable& nodes() const { return nodes_; }
  NodeTable& nodes() { return nodes_; }
  const NodeName& NameAt(NameIndex index) const { return names_[index]; }
  const Label& LabelAt(NameIndex index) const { return names_[index].label; }
  // A request whose spans have been told, for what it did while others waited for it; null where it
  // is forgotten or was never one. Valid during a Consumer call.
  const RequestRecord* FindTold(NodeId request) const;

 private:
  struct EdgeBrief {
    EdgeId id = 0;
    uint64_t time_ns = 0;
    NodeId src = 0, dst = 0, dst_thread = 0;
    EdgeType type = EdgeType::kSubmit;
  };
  // A request from its begin until nobody can have waited for it.
  struct Entry {
    RequestRecord record;
    bool ended = false;      // OnRequestEnd came
    bool delivered = false;  // to the consumer
    bool awaited_any = false;
    uint32_t awaited = 0;         // requests still live that it waited for
    std::vector<NodeId> waiters;  // ended ones that wait for its end

    // All spans of a request come at once; its end may follow later, when its costs are known.
    bool IsTold() const { return ended || !record.spans.empty(); }
    void Clear();
  };
  struct Begin {
    NodeId node = 0;
    uint64_t begin_ns = 0;
  };

  const EdgeBrief* FindEdge(EdgeId id) const;
  NameIndex NameOf(NodeId id);
  // The begin of the oldest request whose spans have not been told, which edges may still explain.
  uint64_t OldestUntoldNs();
  // The begin of the oldest request that may still ask for what others did.
  uint64_t OldestNeededNs();
  void AwaitHolders(Entry* ended);
  void Deliver(Entry* ended);
  void Forget();

  Consumer consumer_;
  struct NameHash {
    size_t operator()(const NodeName& name) const noexcept {
      return LabelHash()(name.label) + name.tid * 0x9e3779b97f4a7c15ULL;
    }
  };

  NodeTable nodes_;
  std::vector<NodeName> names_{NodeName{}};  // 0: not known
  std::unordered_map<NodeName, NameIndex, NameHash> name_index_;
  std::vector<EdgeBrief> edges_;  // by id modulo its size, a power of two; or none
  NodeMap<Entry> entries_;
  // Ids count in order of first mention, so the first is the oldest but for requests told late.
  // Both hold requests that are live or untold, and some behind them that are not any more.
  SlidingVector<Begin> live_;
  SlidingVector<Begin> untold_;
  SlidingVector<NodeId> ended_order_;
  std::multiset<uint64_t> held_back_begins_ns_;
  std::vector<NodeId> holders_;  // scratch
  size_t live_count_ = 0;
  size_t kept_spans_ = 0;
};

}  // namespace cprof

#endif  // CPROF_REPORT_REQUEST_LEDGER_H_
