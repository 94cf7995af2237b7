// The names of the graph's words, as in the graph text and in every output.
#include "report/graph.h"

#include "format/reader.h"

namespace cprof {

std::string FormatScope(const Scope& scope, const StringTable& strings) {
  std::string text;
  switch (scope.kind) {
    case Scope::Kind::kBoot: return "boot";
    case Scope::Kind::kRing:
      text = "ring:";
      text += scope.a == Scope::kUnknownFd ? std::string("?") : std::to_string(scope.a);
      text += '.';
      text += std::to_string(scope.b);
      return text;
    case Scope::Kind::kImage:
      text = "image:";
      text += std::to_string(scope.a);
      text += '.';
      text += std::to_string(scope.b);
      if (scope.domain != 0) {
        text += '/';
        text += strings.Get(scope.domain);
      }
      return text;
    case Scope::Kind::kCpu: {
      constexpr std::string_view kLevels[] = {"task", "softirq", "hardirq", "nmi", "unknown"};
      text = "cpu:";
      text += std::to_string(scope.a);
      text += '/';
      text += kLevels[scope.b < 5 ? scope.b : 4];
      return text;
    }
  }
  return "unknown";
}

std::string_view NodeKindName(NodeKind kind) {
  switch (kind) {
    case NodeKind::kThread: return "thread";
    case NodeKind::kRuntimeTask: return "runtime_task";
    case NodeKind::kIoRequest: return "io_request";
    case NodeKind::kWorkItem: return "work_item";
    case NodeKind::kTimer: return "timer";
    case NodeKind::kBlockRequest: return "block_request";
    case NodeKind::kMessage: return "message";
    case NodeKind::kResource: return "resource";
    case NodeKind::kRequest: return "request";
    case NodeKind::kInterrupt: return "interrupt";
  }
  return "unknown";
}

std::string_view EdgeTypeName(EdgeType type) {
  switch (type) {
    case EdgeType::kSubmit: return "submit";
    case EdgeType::kComplete: return "complete";
    case EdgeType::kQueue: return "queue";
    case EdgeType::kWake: return "wake";
    case EdgeType::kSpawn: return "spawn";
    case EdgeType::kResume: return "resume";
    case EdgeType::kAcquire: return "acquire";
    case EdgeType::kRelease: return "release";
    case EdgeType::kSend: return "send";
    case EdgeType::kReceive: return "receive";
  }
  return "unknown";
}

std::string_view SourceName(Source source) {
  switch (source) {
    case Source::kKernel: return "kernel";
    case Source::kRuntime: return "runtime";
    case Source::kApplication: return "application";
    case Source::kInferred: return "inferred";
  }
  return "unknown";
}

std::string_view ConfidenceName(Confidence confidence) {
  switch (confidence) {
    case Confidence::kObserved: return "observed";
    case Confidence::kReconstructed: return "reconstructed";
    case Confidence::kUnknown: return "unknown";
  }
  return "unknown";
}

std::string_view NodeEndName(NodeEnd end) {
  switch (end) {
    case NodeEnd::kObserved: return "observed";
    case NodeEnd::kSilent: return "silent";
    case NodeEnd::kSuperseded: return "superseded";
    case NodeEnd::kRearmed: return "rearmed";
    case NodeEnd::kCancelled: return "cancelled";
    case NodeEnd::kEvicted: return "evicted";
    case NodeEnd::kOpen: return "open";
  }
  return "unknown";
}

std::string_view OrphanReasonName(OrphanReason reason) {
  switch (reason) {
    case OrphanReason::kInCoverageBreak: return "in_coverage_break";
    case OrphanReason::kAmbiguous: return "ambiguous";
    case OrphanReason::kBeforeRecording: return "before_recording";
    case OrphanReason::kOpenAtEnd: return "open_at_end";
    case OrphanReason::kEvicted: return "evicted";
    case OrphanReason::kFiltered: return "filtered";
    case OrphanReason::kHookUnavailable: return "hook_unavailable";
    case OrphanReason::kPeerNotRecorded: return "peer_not_recorded";
    case OrphanReason::kSuperseded: return "superseded";
    case OrphanReason::kCancelled: return "cancelled";
    case OrphanReason::kUnexplained: return "unexplained";
  }
  return "unknown";
}

std::string_view WallStateName(WallState state) {
  switch (state) {
    case WallState::kRunning: return "running";
    case WallState::kRunnable: return "runnable";
    case WallState::kRuntimeQueued: return "runtime_queued";
    case WallState::kKernelWork: return "kernel_work";
    case WallState::kQueued: return "queued";
    case WallState::kIo: return "io";
    case WallState::kTimer: return "timer";
    case WallState::kLock: return "lock";
    case WallState::kResource: return "resource";
    case WallState::kRemote: return "remote";
    case WallState::kBlocked: return "blocked";
    case WallState::kInChild: return "in_child";
    case WallState::kUnknown: return "unknown";
  }
  return "unknown";
}

}  // namespace cprof
