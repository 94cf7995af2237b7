// Text names of streams and break reasons.
#include "format/recording.h"

namespace cprof {

std::string StreamName(const StreamInfo& stream) {
  switch (stream.kind) {
    case StreamKind::kEdgeCpu: return "edge.cpu" + std::to_string(stream.cpu);
    case StreamKind::kContextCpu: return "context.cpu" + std::to_string(stream.cpu);
    case StreamKind::kApp:
      return "app." + std::to_string(stream.tgid) + "." + std::to_string(stream.slot);
    case StreamKind::kRecorder: return "recorder";
  }
  return "stream" + std::to_string(stream.id);
}

const char* BreakReasonName(BreakReason reason) {
  switch (reason) {
    case BreakReason::kRingFull: return "ring_full";
    case BreakReason::kDamagedChunk: return "damaged_chunk";
    case BreakReason::kMissedRuns: return "missed_runs";
    case BreakReason::kTornTail: return "torn_tail";
    case BreakReason::kRingDamaged: return "ring_damaged";
    case BreakReason::kBudget: return "budget";
    case BreakReason::kInjected: return "injected";
    case BreakReason::kWriterStalled: return "writer_stalled";
    case BreakReason::kMissing: return "missing";
    case BreakReason::kNotHeard: return "not_heard";
  }
  return "unknown";
}

}  // namespace cprof
