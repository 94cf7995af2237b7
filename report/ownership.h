// Who owns what, when: the part of the graph that open requests still need, and questions to it.
//
// Holds the stacks of open bindings of each thread over time, the owners of each task, io_request
// and thread over time, and what was handed over to each node. MODEL words as in
// cprof-causality(7).
#ifndef CPROF_REPORT_OWNERSHIP_H_
#define CPROF_REPORT_OWNERSHIP_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "report/few.h"
#include "report/graph.h"
#include "report/node_map.h"
#include "report/sliding_vector.h"
#include "report/stack_history.h"

namespace cprof {

inline constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();

// Limits against programs that never end a request. What is dropped shows as `unknown`.
inline constexpr size_t kMaxThreadHistory = 1 << 15;  // slices, and stack changes, of one thread
inline constexpr size_t kMaxNodeHistory = 1 << 15;    // entries of each list of one node
inline constexpr size_t kMaxOpenRequests = 1 << 17;
inline constexpr size_t kMaxDeadThreads = 1 << 13;  // kept for requests that are still open

// Edge::rule of a spawn by which the kernel makes a worker of its own (io-wq, SQPOLL): it carries
// no ownership.
inline constexpr char kKernelWorkerRule[] = "io-thread";

// Ascending. Work has one owner nearly always.
using OwnerIds = Few<NodeId, 2>;

// Owners of a node over [from_ns, to_ns); to_ns is kForever while it lasts.
struct OwnerSpan {
  uint64_t from_ns = 0;
  uint64_t to_ns = kForever;
  OwnerIds requests;
  Source source = Source::kApplication;
  Confidence confidence = Confidence::kObserved;
  const char* rule = nullptr;
};

// A thread works for a node.
struct BoundSpan {
  NodeId thread = 0;
  uint64_t from_ns = 0;
  uint64_t to_ns = kForever;
};

// Something was handed over to a node at time_ns and waits to be taken up.
struct HandOver {
  uint64_t time_ns = 0;
  uint64_t src_time_ns = 0;  // of an io_request: its completion
  uint64_t wanted_ns = 0;    // of a resource: since when it was waited for; else 0
  EdgeId edge = 0;
  NodeId src = 0;
  NodeId thread = 0;  // that executed the hand-over
  NodeId cause = 0;   // of a resource: the releaser
  EdgeType type = EdgeType::kQueue;
  Confidence confidence = Confidence::kObserved;
};

// The wait of a request, or of a task of it, for a resource.
struct ResourceWait {
  uint64_t wanted_ns = 0;
  uint64_t got_ns = 0;
  NodeId thread = 0;  // that told it
  NodeId cause = 0;   // the releaser that satisfied it; 0 where none did
  NodeId resource = 0;
  EdgeId edge = 0;
};

// A request, task, resource or io_request.
struct NodeHistory {
  NodeKind kind = NodeKind::kRequest;
  uint8_t opcode = 0;
  Key ring;
  uint64_t born_ns = 0;
  uint64_t died_ns = kForever;
  NodeId birth_thread = 0;
  NodeId death_thread = 0;
  std::vector<OwnerSpan> owners;  // by time; not for requests, which own themselves
  std::vector<BoundSpan> bound;   // by from_ns
  std::vector<HandOver> in;       // by time_ns
  // io_request:
  NodeId submit_thread = 0;
  uint64_t submit_ns = 0;
  bool named = false;  // the application named the owner
  EdgeId complete_edge = 0;
  uint64_t complete_ns = 0;  // its latest completion; its end may be told much later
  // resource: its last release
  uint64_t released_ns = 0;
  NodeId releaser = 0;
  uint32_t users = 0;  // requests that are not settled and list this node

  // For NodeMap.
  void Clear();
};

struct RequestHistory {
  uint64_t begin_ns = 0;
  uint64_t end_ns = kForever;
  bool ended = false;
  bool begun = true;
  std::vector<NodeId> owned;        // tasks, io_requests, threads, children: each once
  std::vector<ResourceWait> waits;  // by got_ns

  void Clear();
};

struct ThreadHistory {
  uint64_t died_ns = kForever;
  StackHistory stacks;
  SlidingVector<ThreadSlice> slices;  // by from_ns; only those that a request may need
  uint64_t given_up_ns = 0;           // nothing is known of what was before
  OwnerSpan inherited;                // by spawn; no requests: none
  NodeId parent = 0;
  uint64_t spawn_ns = 0;  // on the parent
  EdgeId spawn_edge = 0;
  // The latest closed slice, whether kept or not.
  ThreadState last_state = ThreadState::kUnknown;
  uint64_t covered_ns = 0;
  // For the submit rule.
  uint64_t user_ns = 0;  // last event in user space that changed no binding
  struct RingUse {
    uint64_t wait_ns = 0;  // end of the last wait in the kernel on that ring
    uint64_t submit_ns = 0;
  };
  std::map<Key, RingUse> rings;
  // Completions of owned requests that the kernel shows it took up.
  SlidingVector<HandOver> resumed;
  mutable size_t near_slice = 0;  // where the last search ended

  // The index of the first slice that is not before what is sought; is_before(slice) holds for
  // the first slices only.
  template <typename IsBefore>
  size_t FindSlice(IsBefore is_before) const {
    near_slice = SearchNear(slices.size(), near_slice,
                            [&](size_t index) { return is_before(slices[index]); });
    return near_slice;
  }
  void Forget(uint64_t horizon_ns);
  void Clear() { *this = ThreadHistory{}; }
};

// What a thread does for one request just before an instant, unchanged since from_ns.
struct Relation {
  enum class Kind : uint8_t { kNone, kOwn, kChild, kUnknown } kind = Kind::kNone;
  uint64_t from_ns = 0;
  NodeId bound = 0;  // the node by which it is bound; 0 where it inherited
  NodeId child = 0;  // kChild: the request nested inside
  bool shared = false;
};

// Owners of what a thread does just before an instant, unchanged since from_ns.
struct OwnersNow {
  OwnerIds requests;
  uint64_t from_ns = 0;
  bool bound = false;  // by a binding, not inherited
};

class Ownership {
 public:
  explicit Ownership(GraphSink& sink) : sink_(sink) {}

  // --- input, in the order of the graph ---
  void AddNode(const Node& node);
  void EndNode(const Node& node);
  void ExitThread(NodeId thread, uint64_t time_ns);
  void AddEdge(const Edge& edge);
  void SetStack(NodeId thread, uint64_t time_ns, std::span<const OpenBinding> stack);
  void AddSlice(const ThreadSlice& slice);

  // --- questions ---
  // Null: nothing is kept of it.
  const NodeHistory* FindNode(NodeId node) const;
  const ThreadHistory* FindThread(NodeId thread) const;
  const RequestHistory* FindRequest(NodeId request) const;
  Relation RelationBefore(NodeId thread, uint64_t time_ns, NodeId request) const;
  OwnersNow OwnersBefore(NodeId thread, uint64_t time_ns) const;
  bool IsOwnedBefore(NodeId node, uint64_t time_ns, NodeId request) const;
  // The completions of ring in (after_ns, ...], by time: when, and of which node.
  struct Completion {
    uint64_t time_ns = 0;
    NodeId node = 0;
    NodeId thread = 0;
    EdgeId edge = 0;
  };
  const SlidingVector<Completion>* CompletionsOf(const Key& ring) const;

  // --- life of requests ---
  // Requests that ended since the last call and wait to be settled, in the order of their ends.
  std::vector<NodeId> TakeEnded();
  // Requests that are open, by begin.
  std::vector<NodeId> Open() const;
  // Ends a request whose end was not seen.
  void GiveUp(NodeId request, uint64_t time_ns);
  // Nothing asks for the request any more.
  void Settle(NodeId request);
  // The open request that began first; 0 where there is none.
  NodeId OldestOpen() const;
  // Drops what no unsettled request needs; new ones never begin before final_ns. Returns the begin
  // of the oldest unsettled request, or final_ns.
  uint64_t Prune(uint64_t final_ns);
  size_t open_count() const { return open_count_; }
  // All that is still owned stops being so.
  void Finish(uint64_t end_ns);

 private:
  struct Owners {
    OwnerIds requests;
    uint64_t from_ns = 0;
  };
  Owners OwnersOf(NodeId node, uint64_t time_ns) const;
  void AddOwners(NodeId node, NodeHistory& history, const OwnerIds& requests, uint64_t time_ns,
                 Source source, const char* rule);
  void CloseOwners(NodeId node, OwnerSpan* span, uint64_t time_ns);
  void Own(NodeId request, NodeId node);
  void EndRequest(NodeId request, uint64_t time_ns);
  void OnSubmit(const Edge& edge, NodeHistory& io);
  void OnSpawn(const Edge& edge);
  void OnApplicationEdge(const Edge& edge);
  void OnResourceEdge(const Edge& edge, NodeId resource, NodeId user);
  void OnComplete(const Edge& edge);
  void EndThread(const Node& node);
  void Unuse(NodeId node);
  void Rebind(NodeId thread, uint64_t time_ns, std::span<const StackEntry> before,
              std::span<const StackEntry> after);
  Owners OwnersOf(const StackEntry& entry, uint64_t time_ns) const;
  void DropOwner(NodeId node, NodeId request, uint64_t time_ns);
  void DropEnded(NodeId node, const OwnerIds& requests);
  uint64_t Horizon(uint64_t final_ns);

  GraphSink& sink_;
  NodeMap<NodeHistory> nodes_;
  NodeMap<ThreadHistory> threads_;
  NodeMap<RequestHistory> requests_;
  std::map<Key, SlidingVector<Completion>> completions_;
  std::deque<NodeId> by_begin_;  // unsettled requests, and settled ones not yet dropped
  std::deque<NodeId> dead_threads_;
  std::vector<NodeId> ended_;
  size_t open_count_ = 0;
  Owner told_;                         // scratch
  std::vector<StackEntry> stack_;      // scratch
  std::vector<NodeId> settled_owned_;  // scratch
};

}  // namespace cprof

#endif  // CPROF_REPORT_OWNERSHIP_H_
