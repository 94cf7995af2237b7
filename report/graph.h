// The causal graph as plain values, and the sink through which passes hand it on.
// Words and meanings are those of cprof-causality(7).
#ifndef CPROF_REPORT_GRAPH_H_
#define CPROF_REPORT_GRAPH_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/event.h"
#include "format/recording.h"

namespace cprof {

// Ids count from 1 in order of first mention, so the same file gives the same ids. 0: none.
using NodeId = uint32_t;
using EdgeId = uint64_t;
using BreakId = uint32_t;

enum class NodeKind : uint8_t {
  kThread,
  kRuntimeTask,
  kIoRequest,
  kWorkItem,
  kTimer,
  kBlockRequest,
  kMessage,
  kResource,
  kRequest,
  kInterrupt,
};
std::string_view NodeKindName(NodeKind kind);
std::string_view EdgeTypeName(EdgeType type);

enum class Source : uint8_t { kKernel, kRuntime, kApplication, kInferred };
enum class Confidence : uint8_t { kObserved, kReconstructed, kUnknown };
std::string_view SourceName(Source source);
std::string_view ConfidenceName(Confidence confidence);

// How a node's life ended.
enum class NodeEnd : uint8_t {
  kObserved,  // its end was seen
  kSilent,    // the mechanism emits no end here (CQE_SKIP), the next birth shows it
  kSuperseded,
  kRearmed,
  kCancelled,
  kEvicted,
  kOpen,  // still alive at the end of the recording
};
std::string_view NodeEndName(NodeEnd end);

enum class OrphanReason : uint8_t {
  kInCoverageBreak,
  kAmbiguous,
  kBeforeRecording,
  kOpenAtEnd,
  kEvicted,
  kFiltered,
  kHookUnavailable,
  kPeerNotRecorded,
  kSuperseded,
  kCancelled,
  kUnexplained,
};
std::string_view OrphanReasonName(OrphanReason reason);

// "stream.sequence" of a recorded event.
struct EventRef {
  StreamId stream = 0;
  uint64_t sequence = 0;
};

// Where a key is unique, without any text. FormatScope gives the text of the graph.
struct Scope {
  enum class Kind : uint8_t {
    kBoot,   // "boot"
    kRing,   // "ring:FD.GEN": a = fd (kUnknownFd prints as "?"), b = ring generation
    kImage,  // "image:TGID.EXECS", with a domain ".../domain": a = tgid, b = exec count
    kCpu,    // "cpu:N/hardirq": a = cpu, b = Level
  };
  static constexpr uint32_t kUnknownFd = UINT32_MAX;
  Kind kind = Kind::kBoot;
  uint32_t a = 0;
  uint32_t b = 0;
  StringId domain = 0;
  friend auto operator<=>(const Scope&, const Scope&) = default;
};
class StringTable;
std::string FormatScope(const Scope& scope, const StringTable& strings);

// Attributes that identify nothing and only describe.
struct NodeAttributes {
  ThreadKey thread;             // kThread
  std::array<char, 16> comm{};  // kThread: last known name, padded with zeros
  uint64_t user_data = 0;       // kIoRequest
  Key ring;                     // kIoRequest: raw key of its ring, as in ThreadSlice::wait_object
  uint8_t opcode = 0;           // kIoRequest
  int32_t result = 0;           // kIoRequest, once completed
  bool has_result = false;
  uint32_t tgid = 0;  // owner process, where known
  StringId name = 0;  // kRequest, kRuntimeTask, kResource: as the application gave it
  StringId domain = 0;
};

struct Node {
  NodeId id = 0;
  NodeKind kind = NodeKind::kThread;
  Scope scope;
  Key key;
  uint32_t generation = 1;
  uint64_t born_ns = 0;
  bool birth_seen = false;  // false: born_ns is the first sight
  uint64_t died_ns = 0;     // valid once died
  NodeEnd end = NodeEnd::kOpen;
  NodeId birth_thread = 0;  // who executed birth and end; 0: not known or no thread
  NodeId death_thread = 0;
  NodeAttributes attributes;
};

// The last known name of a thread; a view into attributes.
inline std::string_view CommText(const NodeAttributes& attributes) {
  const std::string_view text(attributes.comm.data(), attributes.comm.size());
  return text.substr(0, text.find('\0'));
}

// The 16 bytes of comm in an event's arguments.
inline std::array<char, 16> CommOf(const Event& event) {
  std::array<char, 16> comm{};
  for (size_t i = 0; i < 8; ++i) {
    comm[i] = static_cast<char>(event.arg >> (8 * i) & 0xff);
    comm[8 + i] = static_cast<char>(event.arg2 >> (8 * i) & 0xff);
  }
  return comm;
}

struct Edge {
  EdgeId id = 0;
  EdgeType type = EdgeType::kSubmit;
  NodeId src = 0;
  NodeId dst = 0;
  uint64_t src_time_ns = 0;
  uint64_t dst_time_ns = 0;
  EventRef src_event;
  EventRef dst_event;
  NodeId src_thread = 0;  // who executed each side; 0 where not a thread
  NodeId dst_thread = 0;
  Level level = Level::kTask;  // of the source side
  Source source = Source::kKernel;
  Confidence confidence = Confidence::kObserved;
  const char* rule = nullptr;   // name of the rule that made it, null where none was needed
  uint64_t wanted_ns = 0;       // acquire: when it was wanted; 0 else
  std::vector<BreakId> breaks;  // that touch it
};

struct Orphan {
  uint64_t id = 0;
  EdgeType type = EdgeType::kSubmit;
  Role half = Role::kHandOut;
  NodeId node = 0;  // 0 where not even the node is known
  NodeId thread = 0;
  EventRef event;
  uint64_t time_ns = 0;
  OrphanReason reason = OrphanReason::kUnexplained;
  std::string proof;  // the break, candidates, filter, event that proves the reason
};

// What a thread did over [from, to), from the scheduler's events; gapless while it is known.
enum class ThreadState : uint8_t { kRunning, kRunnable, kBlocked, kUnknown };
struct ThreadSlice {
  NodeId thread = 0;
  ThreadState state = ThreadState::kUnknown;
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  // For kBlocked: the wake edge that ended it (0: not known), who woke, in what context, and what
  // the thread waited on.
  EdgeId wake = 0;
  NodeId waker = 0;  // a thread or interrupt node
  Level wake_level = Level::kTask;
  enum class Wait : uint8_t { kNone, kFutex, kEventfd, kEpoll, kIoUring } wait = Wait::kNone;
  Key wait_object;
  bool own_timeout = false;  // what ended it was the thread's own timeout
  bool doubtful = false;     // a break touches it
  // For kRunning: by how much the scheduler's account of CPU time turned before the switch events
  // at from_ns and to_ns, as in Event::flags: 1 + units of 64 ns, 0: not known.
  uint16_t from_delay = 0;
  uint16_t to_delay = 0;
};

// An interval in which a thread works for a node. Emitted when it closes.
struct Binding {
  NodeId thread = 0;
  NodeId node = 0;  // 0: something that cannot be named; hides the bindings around it
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  uint32_t depth = 0;  // 0: outermost
  Source source = Source::kApplication;
  Confidence confidence = Confidence::kObserved;
};

// One entry of a thread's stack of open bindings.
struct OpenBinding {
  NodeId node = 0;  // 0: something whose enter was lost
  Confidence confidence = Confidence::kObserved;
};

// Which requests own a node over [from, to).
struct Owner {
  NodeId node = 0;
  std::vector<NodeId> requests;  // several: shared
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  Source source = Source::kKernel;
  Confidence confidence = Confidence::kObserved;
  const char* rule = nullptr;
};

// Where the wall time of a request goes. Every instant of a request has exactly one.
enum class WallState : uint8_t {
  kRunning,
  kRunnable,
  kRuntimeQueued,
  kKernelWork,
  kQueued,
  kIo,
  kTimer,
  kLock,
  kResource,
  kRemote,
  kBlocked,
  kInChild,
  kUnknown,
};
inline constexpr int kWallStateCount = 13;
std::string_view WallStateName(WallState state);

struct StateSpan {
  NodeId request = 0;
  WallState state = WallState::kUnknown;
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  EdgeId edge = 0;   // the edge that ended it, where one is known
  NodeId node = 0;   // the strand that was walked
  NodeId cause = 0;  // e.g. the releaser of a resource; 0 where none
  Confidence confidence = Confidence::kObserved;
};

struct Cost {
  NodeId request = 0;
  const char* kind = "cpu_ns";
  uint64_t value = 0, low = 0, high = 0;  // low..high: what is certain .. what is possible
};

// A request that ended, with everything about it, emitted after its StateSpans.
struct RequestEnd {
  NodeId request = 0;
  bool ended = false;  // false: open at the end of the recording, or its end is not sure
  bool begun = true;   // false: begun before the recording; begin_ns is the first sight
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};

struct GraphSummary {
  uint64_t events = 0, half_edges = 0, joined = 0, orphans = 0, lifecycle = 0, samples = 0;
  uint64_t edges = 0, edges_observed = 0, edges_reconstructed = 0, edges_unknown = 0;
  uint64_t breaks = 0;
  std::vector<uint64_t> orphans_by_reason;  // by OrphanReason
};

// Passes push, renderers and later passes receive. Calls come in an order that is a function of the
// file alone. A node is told when it is first mentioned (OnNode) and again when its life ends
// (OnNodeEnd, now with died_ns, end and final attributes); edges come when they are final.
class GraphSink {
 public:
  virtual ~GraphSink() = default;
  virtual void OnNode(const Node&) {}
  virtual void OnNodeEnd(const Node&) {}
  // A thread that was told already has a new name.
  virtual void OnThreadName(NodeId /*thread*/, const std::array<char, 16>& /*comm*/) {}
  virtual void OnEdge(const Edge&) {}
  virtual void OnOrphan(const Orphan&) {}
  virtual void OnBreak(BreakId, const Break&) {}
  virtual void OnThreadSlice(const ThreadSlice&) {}
  virtual void OnBinding(const Binding&) {}
  // The bindings that are open on thread from time_ns on, outermost first, at every change.
  virtual void OnBindingStack(NodeId /*thread*/, uint64_t /*time_ns*/,
                              std::span<const OpenBinding> /*stack*/) {}
  virtual void OnOwner(const Owner&) {}
  virtual void OnState(const StateSpan&) {}
  virtual void OnCost(const Cost&) {}
  virtual void OnRequestEnd(const RequestEnd&) {}
  // The thread exits: it works for nobody from here on, though it may still wake who waits for
  // that. Its node ends later.
  virtual void OnThreadExit(NodeId /*thread*/, uint64_t /*time_ns*/) {}
  // thread's exact CPU time so far, from the scheduler's accounting.
  virtual void OnThreadRuntime(NodeId /*thread*/, uint64_t /*time_ns*/, uint64_t /*runtime_ns*/) {}
  virtual void OnSample(NodeId /*node*/, NodeId /*thread*/, const StackSample&) {}
  // Nothing that is told later happened before final_ns.
  virtual void OnFinal(uint64_t /*final_ns*/) {}
  virtual void OnSummary(const GraphSummary&) {}
};

}  // namespace cprof

#endif  // CPROF_REPORT_GRAPH_H_
