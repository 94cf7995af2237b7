// Moves events out of the kernel's rings: wire to values, sequence numbers, losses to breaks.
#ifndef CPROF_RECORD_KERNEL_DRAIN_H_
#define CPROF_RECORD_KERNEL_DRAIN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "bpf/event.h"
#include "record/kernel_ring.h"
#include "record/source.h"

namespace cprof {

// One per-CPU ring of one plane with its counters.
class KernelStream {
 public:
  // counters lies in memory shared with the kernel and outlives the stream.
  KernelStream(const StreamInfo& info, KernelRing ring, cprof_stream_counters* counters)
      : info_(info), ring_(std::move(ring)), counters_(counters) {}

  const StreamInfo& info() const { return info_; }
  const KernelRing& ring() const { return ring_; }
  uint64_t attempted() const;
  uint64_t lost() const;

  // Everything up to the producer's position at the call goes to sink. False where a record was
  // not finished yet.
  bool Drain(BlockSink& sink);

  // Takes what loss slot number slot has gathered as a break; false where a producer is still in
  // it. Only for a slot that the epoch has turned away from, or after all programs were detached.
  bool HarvestLoss(int slot, std::vector<Break>* breaks);

  // After the last harvest: losses that no slot counted, as a break of unknown content.
  void CloseLoss(uint64_t from_ns, uint64_t to_ns, std::vector<Break>* breaks);

 private:
  Event ToEvent(const cprof_wire_event& wire);
  void Append(std::span<const uint8_t> record, DrainedBlock* block);

  StreamInfo info_;
  KernelRing ring_;
  cprof_stream_counters* counters_;
  uint64_t next_sequence_ = 0;  // of the last event, plus one: where unwrapping starts
  uint64_t lost_told_ = 0;      // losses that breaks told of
  bool announced_ = false;
};

}  // namespace cprof

#endif  // CPROF_RECORD_KERNEL_DRAIN_H_
