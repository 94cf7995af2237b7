// What an adapter of the join pass implements, and what the pass offers it.
//
// Each row of format/adapters.def has an adapter here: report/adapters/<name>.cc defines
// Make<Id>Adapter. It receives the events of its verbs in time order and must lead every one of
// them to exactly one place: events of role HandOut and TakeUp are half-edges and each must once be
// told to CountJoined or AddOrphan, at the latest in Finish; Lifecycle events are counted by the
// pass.
#ifndef CPROF_REPORT_ADAPTERS_ADAPTER_H_
#define CPROF_REPORT_ADAPTERS_ADAPTER_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/reader.h"
#include "report/breaks.h"
#include "report/graph.h"
#include "report/join.h"
#include "report/threads.h"

namespace cprof {

class JoinContext;

// An io_request as other adapters may ask for it (an application names one by AppKind::kIo).
struct IoRequestView {
  NodeId node = 0;
  uint32_t tgid = 0;  // of the ring's owner as far as known, else of the submitter
  uint32_t fd = 0;    // of the ring
  uint64_t user_data = 0;
  uint64_t submit_ns = 0;
  EventRef submit_event;
  NodeId submit_thread = 0;  // 0 where the submitter is no thread
  bool completed = false;    // then of its latest completion:
  uint64_t complete_ns = 0;
  EventRef complete_event;
  NodeId complete_thread = 0;
};

class JoinAdapter {
 public:
  virtual ~JoinAdapter() = default;
  // Events of this adapter's verbs, in time order.
  virtual void Apply(const Event& event) = 0;
  // Of two events with one key, equal times and different streams, `first` being the next in line:
  // whether only the other order is one that the key's state accepts.
  virtual bool MustSwap(const Event& /*first*/, const Event& /*second*/) { return false; }
  // A break, before any event that happened after its beginning.
  virtual void OnBreak(BreakId, const Break&) {}
  // Some adapter asked for it (JoinContext::CallAt): the first event at time_ns comes next, of
  // whatever adapter.
  virtual void OnTime(uint64_t /*time_ns*/) {}
  // Nothing older than final_ns follows.
  virtual void OnFinal(uint64_t /*final_ns*/) {}
  // The recording ends at end_ns: orphans of what is open, then ends of nodes.
  virtual void Finish(uint64_t /*end_ns*/) {}

  // Told by the recorder adapter: an io_uring that existed at arming (fields as of
  // io_uring:create).
  virtual void OnExistingRing(const Event&) {}
  // Told by the sched adapter. On exec `before` and `after` are the same record unless a thread
  // that is no leader called exec: then `before` ends, and `after` is a new life of the leader's
  // identity. All bindings of user space end; keys of user space live in a new image from here on.
  virtual void OnExec(ThreadRecord& /*before*/, ThreadRecord& /*after*/, uint64_t /*time_ns*/) {}
  // The thread runs no user code any more. Its record and node live until its last switch.
  virtual void OnThreadExit(ThreadRecord&, uint64_t /*time_ns*/) {}
  // The record goes away; pointers to it must be dropped. OnThreadExit came before.
  virtual void OnThreadGone(ThreadRecord&) {}
  // Told by the io_uring adapter, to adapters that called JoinContext::WatchIoRequests: a request
  // was submitted, or (view.completed) one more completion of it was joined.
  virtual void OnIoRequest(const IoRequestView&) {}
  // The next event of a thread after JoinContext::Watch; the event has not been applied yet.
  virtual void OnWatchedThread(ThreadRecord&, const Event&) {}
};

// What the io_uring adapter answers to others.
class IoRequestIndex {
 public:
  virtual ~IoRequestIndex() = default;
  // Requests of that process on the ring with that fd that carry user_data: all that are open, then
  // the latest one that completed (completed lives are remembered for a while only).
  virtual std::vector<IoRequestView> FindIoRequests(uint32_t tgid, uint32_t fd,
                                                    uint64_t user_data) = 0;
};

class JoinContext {
 public:
  JoinContext(const SessionHeader& header, const StringTable& strings, const JoinOptions& options,
              GraphSink& sink);
  JoinContext(const JoinContext&) = delete;
  JoinContext& operator=(const JoinContext&) = delete;
  ~JoinContext();

  const SessionHeader& header() const { return header_; }
  const StringTable& strings() const { return strings_; }
  const JoinOptions& options() const { return options_; }
  GraphSink& sink() { return sink_; }
  const GraphSummary& summary() const { return summary_; }

  // Null for a stream that the recording does not know.
  const StreamInfo* StreamOf(StreamId stream) const {
    return stream < streams_.size() ? &streams_[stream] : nullptr;
  }

  // --- threads ---
  ThreadTable& threads() { return threads_; }
  // The executing thread of an event, created at first sight. An event without start time
  // (in-process rings) means the live thread with that tid.
  ThreadRecord& Current(const Event& event);
  // Another thread that an event names, created at first sight.
  ThreadRecord& Thread(const ThreadKey& key, uint64_t time_ns);
  // The record of a thread that an event names, or null for a thread whose switches are not
  // recorded and that nothing else has mentioned. Does not add outsiders.
  ThreadRecord* FollowedThread(const ThreadKey& key, uint64_t time_ns);
  // Asks for OnWatchedThread at the thread's next event.
  void Watch(ThreadRecord& thread) {
    if (!thread.watched) ++watched_threads_;
    thread.watched = true;
  }
  // The thread's node, told to the sink when first asked for.
  NodeId NodeOf(ThreadRecord& thread);
  // What caused an event: the node of the executing thread, or, above task level and on the idle
  // task, an interrupt node of that CPU. *thread_node: the executing thread's node, 0 for
  // interrupts.
  NodeId CauseOf(const Event& event, NodeId* thread_node);
  // Tells the end of sight of every interrupt that was a cause.
  void EndInterrupts(uint64_t end_ns);
  // Ends the thread's node and removes its record.
  void RemoveThread(ThreadRecord& thread, uint64_t time_ns, NodeEnd end);
  // Whether the recording holds the thread's own events; see followed in ThreadRecord.
  bool IsFollowed(const ThreadKey& key) const;
  // The recording left out whole CPUs, so that anything may have happened there unseen.
  bool cpus_left_out() const { return cpus_left_out_; }
  // Threads and processes that targets created were left out.
  bool children_left_out() const { return children_left_out_; }
  // The scope of user-space keys of this thread's process image, with or without a domain.
  Scope ImageScope(const ThreadRecord& thread, StringId domain) const;

  // --- nodes, edges, orphans ---
  // Assigns node->id and tells the sink.
  NodeId AddNode(Node* node);
  // died_ns, end and attributes must be final.
  void EndNode(const Node& node) { sink_.OnNodeEnd(node); }
  // Assigns the id, counts it by confidence and tells the sink. Does not count halves.
  EdgeId AddEdge(Edge* edge);
  // One half-edge found its other half.
  void CountJoined(uint64_t halves) { summary_.joined += halves; }
  // One half-edge did not. Fills orphan->id.
  void AddOrphan(Orphan* orphan);
  // The halves still to come out of adapters: half_edges - joined - orphans.
  uint64_t OpenHalves() const { return summary_.half_edges - summary_.joined - summary_.orphans; }

  // Asks for OnTime before the first event at or after time_ns.
  void CallAt(uint64_t time_ns) { call_ns_ = std::min(call_ns_, time_ns); }

  // --- breaks ---
  const BreakTable& breaks() const { return breaks_; }
  // "2.17": an event as proofs and the graph text name it.
  static std::string EventName(EventRef event);

  // When the gate opened: every switch of a followed thread since then is recorded. 0: not told.
  uint64_t gate_ns = 0;

  // --- between adapters ---
  void WatchIoRequests(JoinAdapter* adapter) { io_watchers_.push_back(adapter); }
  const std::vector<JoinAdapter*>& io_watchers() const { return io_watchers_; }
  // Null where the recording has no io_uring adapter.
  IoRequestIndex* io_requests = nullptr;
  const std::vector<std::unique_ptr<JoinAdapter>>& adapters() const { return adapters_; }

 private:
  friend class Joiner;
  ThreadRecord& FindOrAdd(const ThreadKey& key, uint64_t time_ns);
  // Removes records whose tid has been given to another thread since.
  void RemoveStaleThreads(uint64_t time_ns);

  // Reads the filter.<n> facts of the header.
  void ReadFilters();

  const SessionHeader header_;
  std::vector<uint32_t> target_tids_;
  bool cpus_left_out_ = false;
  bool children_left_out_ = false;
  const StringTable& strings_;
  const JoinOptions options_;
  GraphSink& sink_;
  GraphSummary summary_;
  ThreadTable threads_;
  BreakTable breaks_;
  std::vector<StreamInfo> streams_;  // by id
  std::vector<ThreadKey> stale_threads_;
  std::array<ThreadRecord*, 64> last_on_stream_{};  // a cache: who executed last, by stream
  // By CPU, whose numbers are as large as the file says, and level.
  std::map<uint32_t, std::array<NodeId, 5>> interrupt_nodes_;
  std::vector<Node> interrupts_;                        // the same, in order of first sight
  std::vector<std::unique_ptr<JoinAdapter>> adapters_;  // by Adapter
  std::vector<JoinAdapter*> io_watchers_;
  uint32_t watched_threads_ = 0;
  uint64_t call_ns_ = UINT64_MAX;
  NodeId last_node_ = 0;
  EdgeId last_edge_ = 0;
  uint64_t last_orphan_ = 0;
};

// One factory for each row of format/adapters.def, defined in report/adapters/<name>.cc.
#define CPROF_ADAPTER(id, name, default_on, description) \
  std::unique_ptr<JoinAdapter> Make##id##Adapter(JoinContext& context);
#define CPROF_VERB(...)
#include "format/adapters.def"
#undef CPROF_ADAPTER
#undef CPROF_VERB

}  // namespace cprof

#endif  // CPROF_REPORT_ADAPTERS_ADAPTER_H_
