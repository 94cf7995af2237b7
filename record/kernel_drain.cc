// The drain of one kernel ring. Positions only grow; a sweep ends at the producer's position read
// when it began, so it ends however fast the producers are.
#include "record/kernel_drain.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cprof {
namespace {

// Events handed over at once: large enough that a chunk compresses well, small enough that the
// ring gets its space back while a sweep goes on.
constexpr size_t kBlockEvents = 16384;
constexpr size_t kBlockSamples = 1024;
// Above it, on x86_64 with five levels of page tables, no address is user space's.
constexpr uint64_t kUserSpaceEnd = uint64_t{1} << 56;

template <typename T>
T Load(const T& shared) {
  return __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
}

}  // namespace

uint64_t KernelStream::attempted() const { return Load(counters_->attempted); }
uint64_t KernelStream::lost() const { return Load(counters_->lost); }

Event KernelStream::ToEvent(const cprof_wire_event& wire) {
  Event event;
  event.time_ns = wire.time_ns;
  // The nearest number with these low bits: interrupts can swap neighbours, losses can skip many.
  const auto step = static_cast<int32_t>(wire.sequence - static_cast<uint32_t>(next_sequence_));
  event.sequence = next_sequence_ + static_cast<uint64_t>(int64_t{step});
  if (event.sequence >= next_sequence_) next_sequence_ = event.sequence + 1;
  event.start_time_ns = wire.start_time_ns;
  event.tid = wire.tid;
  event.tgid = wire.tgid;
  event.stream = info_.id;
  event.verb = wire.verb;
  event.level = static_cast<Level>(wire.level);
  event.flags = wire.flags;
  event.key.lo = wire.key;
  event.key2.lo = wire.key2;
  event.arg = wire.arg;
  event.arg2 = wire.arg2;
  return event;
}

void KernelStream::Append(std::span<const uint8_t> record, DrainedBlock* block) {
  cprof_wire_event wire;
  CPROF_CHECK(record.size() >= sizeof(wire));
  std::memcpy(&wire, record.data(), sizeof(wire));
  if (info_.kind != StreamKind::kContextCpu) {
    block->events.push_back(ToEvent(wire));
    return;
  }
  StackSample sample;
  sample.event = ToEvent(wire);
  const size_t user_count = wire.arg2 & 0xffff;
  const size_t kernel_count = wire.arg2 >> 16 & 0xffff;
  CPROF_CHECK(record.size() >= sizeof(wire) + (user_count + kernel_count) * sizeof(uint64_t));
  sample.user_frames.resize(user_count);
  sample.kernel_frames.resize(kernel_count);
  const uint8_t* frames = record.data() + sizeof(wire);
  if (user_count != 0) {
    std::memcpy(sample.user_frames.data(), frames, user_count * sizeof(uint64_t));
  }
  if (kernel_count != 0) {
    std::memcpy(sample.kernel_frames.data(), frames + user_count * sizeof(uint64_t),
                kernel_count * sizeof(uint64_t));
  }
  // A walk by frame pointers that meets code without them ends in whatever lay in the register.
  const auto no_code = std::find_if(sample.user_frames.begin(), sample.user_frames.end(),
                                    [](uint64_t frame) { return frame >= kUserSpaceEnd; });
  sample.user_frames.erase(no_code, sample.user_frames.end());
  sample.event.arg2 = sample.user_frames.size() | sample.kernel_frames.size() << 16;
  block->samples.push_back(std::move(sample));
}

bool KernelStream::Drain(BlockSink& sink) {
  const uint64_t end = ring_.producer_position();
  bool is_complete = true;
  bool is_open = true;
  while (is_open) {
    DrainedBlock block;
    block.stream = info_.id;
    if (!std::exchange(announced_, true)) block.new_streams.push_back(info_);
    if (info_.kind != StreamKind::kContextCpu) {
      block.events.reserve(std::min<uint64_t>(
          kBlockEvents, ring_.waiting_bytes() / (sizeof(cprof_wire_event) + 8) + 1));
    }
    while (block.events.size() < kBlockEvents && block.samples.size() < kBlockSamples) {
      std::span<const uint8_t> record;
      const KernelRing::Next next = ring_.Read(end, &record);
      if (next != KernelRing::Next::kRecord) {
        is_complete = next == KernelRing::Next::kEnd;
        is_open = false;
        break;
      }
      Append(record, &block);
    }
    // Before the sink, which may block: the ring is free as soon as its bytes are copied.
    ring_.Release();
    if (!block.events.empty() || !block.samples.empty() || !block.new_streams.empty()) {
      sink.Put(std::move(block));
    }
  }
  return is_complete;
}

bool KernelStream::HarvestLoss(int slot, std::vector<Break>* breaks) {
  cprof_loss_slot& losses = counters_->slot[slot];
  const uint64_t finished = Load(losses.finished);
  if (Load(losses.begun) != finished) return false;
  if (losses.total == 0) return true;
  Break lost;
  lost.stream = info_.id;
  lost.reason = BreakReason::kRingFull;
  lost.from_ns = losses.first_ns;
  lost.to_ns = losses.last_ns;
  lost.total = losses.total;
  lost.signature = losses.signature;
  for (size_t verb = 0; verb < CPROF_VERB_MAX; ++verb) {
    if (losses.count[verb] != 0) {
      lost.lost.emplace_back(static_cast<Verb>(verb), losses.count[verb]);
      losses.count[verb] = 0;
    }
  }
  losses.first_ns = 0;
  losses.last_ns = 0;
  losses.signature = 0;
  losses.total = 0;
  lost_told_ += lost.total;
  breaks->push_back(std::move(lost));
  return true;
}

void KernelStream::CloseLoss(uint64_t from_ns, uint64_t to_ns, std::vector<Break>* breaks) {
  const uint64_t total = lost();
  if (total <= lost_told_) return;
  Break rest;
  rest.stream = info_.id;
  rest.reason = BreakReason::kRingFull;
  rest.from_ns = from_ns;
  rest.to_ns = to_ns;
  rest.total = total - std::exchange(lost_told_, total);
  rest.signature = ~uint64_t{0};
  rest.detail = "losses between two epochs, of unknown content";
  breaks->push_back(std::move(rest));
}

}  // namespace cprof
