// Drains one in-process ring. All access is by pread and pwrite on the region's descriptor: memory
// that its owner cuts short or punches holes into is then a short read, and never a SIGBUS.
#include "record/app_ring.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>

#include "bpf/event.h"
#include "record/app_process.h"
#include "record/procfs.h"

namespace cprof {
namespace {

// An event is written in some 40 ns. A writer that takes longer than this was stopped in the middle
// or has died there, and marks go on without it; what it writes later is a loss.
constexpr uint64_t kStuckNs = 1'000'000'000;
// A ring cannot hold more owners than slots.
constexpr size_t kMaxOwners = CPROF_RING_EVENTS_;

bool ReadWhole(int fd, void* to, size_t size_bytes, uint64_t offset) {
  return pread(fd, to, size_bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(size_bytes);
}

// More than any thread can lose.
constexpr uint64_t kContradiction = UINT64_MAX;

// kContradiction where a count fell, or all are more than a number can hold.
uint64_t SumOfVerbs(const cprof_loss_& loss, const cprof_loss_& before) {
  uint64_t sum = 0;
  for (size_t i = 0; i < CPROF_LOSS_VERBS_; ++i) {
    const uint64_t count = loss.verbs[i] - before.verbs[i];
    if (loss.verbs[i] < before.verbs[i] || count > UINT64_MAX - sum) return kContradiction;
    sum += count;
  }
  return sum;
}

}  // namespace

uint64_t KernelNowNs() {
  // The recorder may itself live in a time namespace.
  static const int64_t offset_ns = [] {
    const auto text = ReadSmallFile("/proc/self/timens_offsets", 4096);
    return text ? ParseMonotonicOffset(*text).value_or(0) : 0;
  }();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - offset_ns);
}

AppRing::AppRing(int fd, uint32_t tgid, uint32_t index, uint32_t ring_count,
                 int64_t clock_offset_ns, uint64_t since_ns)
    : fd_(fd),
      tgid_(tgid),
      index_(index),
      header_offset_(CPROF_RINGS_OFFSET_ + uint64_t{index} * sizeof(cprof_ring_)),
      slots_offset_(CPROF_SLOTS_OFFSET_(ring_count) +
                    uint64_t{index} * CPROF_RING_EVENTS_ * sizeof(cprof_slot_)),
      clock_offset_ns_(clock_offset_ns),
      loss_checked_ns_(since_ns) {}

void AppRing::StartAt(const cprof_ring_& header) {
  tail_ = header.head;
  attempted_before_ = attempted_ = header.attempted;
  known_loss_ = header.loss;
  WriteTail();
  Acknowledge();
}

void AppRing::Announce(uint64_t generation, const RingOwner& owner) {
  owners_[generation] = owner;
  if (owners_.size() > kMaxOwners) owners_.erase(owners_.begin());
}

bool AppRing::active(const cprof_ring_& header) const {
  return stream_.has_value() || header.head != tail_ || header.reserved != header.head ||
         SumOfVerbs(header.loss, known_loss_) != 0;
}

RoundMark::Counter AppRing::counter() const {
  // A program may say that it attempted less than it wrote; what was seen was attempted.
  const uint64_t seen = taken_ + skipped_ + lost_;
  return {*stream_, std::max(attempted_ - attempted_before_, seen) - skipped_, lost_};
}

void AppRing::WriteTail() const {
  const uint64_t words[2] = {tail_, tail_ * CPROF_CHECK_};
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // A region that refuses this is damaged, and the next read says so.
  [[maybe_unused]] const ssize_t ignored = pwrite(
      fd_, words, sizeof(words), static_cast<off_t>(header_offset_ + offsetof(cprof_ring_, tail)));
}

void AppRing::Damage(const char* why, const SweepContext& context, DrainedBlock* block) {
  Break lost;
  lost.stream = *stream_;
  lost.reason = BreakReason::kRingDamaged;
  lost.from_ns = loss_checked_ns_;
  lost.to_ns = std::max(context.begin_ns, lost.from_ns);
  lost.signature = ~uint64_t{0};
  lost.detail = why;
  block->breaks.push_back(lost);
  damaged_ = true;
  fill_ = 0;
}

void AppRing::Lose(const Event& event, BreakReason reason, const char* why, DrainedBlock* block) {
  ++lost_;
  const uint64_t bits = SignatureBit(event.key.lo) | SignatureBit(event.key2.lo);
  // Neighbours go into one record: a thread that nobody knows may have written thousands.
  if (!block->breaks.empty() && block->breaks.back().reason == reason &&
      block->breaks.back().detail == why) {
    Break& last = block->breaks.back();
    last.from_ns = std::min(last.from_ns, event.time_ns);
    last.to_ns = std::max(last.to_ns, event.time_ns);
    ++last.total;
    last.signature |= bits;
    const auto count = std::find_if(last.lost.begin(), last.lost.end(),
                                    [&](const auto& pair) { return pair.first == event.verb; });
    if (count != last.lost.end()) {
      ++count->second;
    } else {
      last.lost.emplace_back(event.verb, 1);
    }
    return;
  }
  Break lost;
  lost.stream = *stream_;
  lost.reason = reason;
  lost.from_ns = lost.to_ns = event.time_ns;
  lost.total = 1;
  lost.signature = bits;
  lost.lost = {{event.verb, 1}};
  lost.detail = why;
  block->breaks.push_back(lost);
}

bool AppRing::ReadSlots(uint64_t head) {
  const uint64_t count = head - tail_;
  slots_.resize(count);
  const uint64_t first = tail_ % CPROF_RING_EVENTS_;
  const uint64_t until_end = std::min<uint64_t>(count, CPROF_RING_EVENTS_ - first);
  constexpr uint64_t kSlot = sizeof(cprof_slot_);
  return ReadWhole(fd_, slots_.data(), until_end * kSlot, slots_offset_ + first * kSlot) &&
         (until_end == count ||
          ReadWhole(fd_, slots_.data() + until_end, (count - until_end) * kSlot, slots_offset_));
}

void AppRing::TakeEvent(DecodedSlot* decoded, const cprof_ring_& header,
                        const SweepContext& context, uint64_t now_ns, DrainedBlock* block) {
  Event& event = decoded->event;
  event.time_ns = ToKernelTime(event.time_ns);
  if (event.time_ns > now_ns) {
    Damage("an event is from the future", context, block);
    return;
  }
  if (!owner_ && !context.owners_known) {
    Lose(event, BreakReason::kMissedRuns, "its thread did not reach the recorder", block);
    return;
  }
  if (!owner_ || !owner_->wanted) {
    ++skipped_;
    return;
  }
  if (event.time_ns < context.floor_ns) {
    Lose(event, BreakReason::kRingDamaged, "written too late to be put in order", block);
    return;
  }
  const uint64_t attempt =
      header.attempted + static_cast<uint64_t>(int64_t{static_cast<int32_t>(
                             decoded->sequence - static_cast<uint32_t>(header.attempted))});
  event.sequence = attempt - attempted_before_ - skipped_;
  event.stream = *stream_;
  event.tid = owner_->tid;
  event.tgid = tgid_;
  event.start_time_ns = owner_->start_time_ns;
  if (event.verb == CPROF_APP_EDGE && event.arg2 != 0) event.arg2 = ToKernelTime(event.arg2);
  if (!decoded->name.empty()) event.name = context.sink->Intern(decoded->name);
  if (!decoded->domain.empty()) event.domain = context.sink->Intern(decoded->domain);
  if (!decoded->domain2.empty()) event.domain2 = context.sink->Intern(decoded->domain2);
  block->events.push_back(event);
  ++taken_;
}

void AppRing::Drain(const cprof_ring_& header, const SweepContext& context, DrainedBlock* block) {
  final_ns_ = std::max(final_ns_, context.floor_ns);
  if (damaged_) {
    final_ns_ = context.begin_ns;
    return;
  }
  const uint64_t count = header.head - tail_;
  fill_ = static_cast<double>(std::min<uint64_t>(count, CPROF_RING_EVENTS_)) / CPROF_RING_EVENTS_;
  if (count > CPROF_RING_EVENTS_ || header.reserved - header.head > CPROF_RING_EVENTS_ ||
      header.attempted < attempted_ || (index_ == 0 && count != 0)) {
    Damage("its counters contradict each other", context, block);
    return;
  }
  attempted_ = header.attempted;
  if (count != 0) TakeSlots(header, context, block);
  if (!damaged_) TakeLosses(header, context, block);
  if (!damaged_) AdvanceFinal(header, context);
}

void AppRing::TakeSlots(const cprof_ring_& header, const SweepContext& context,
                        DrainedBlock* block) {
  std::atomic_thread_fence(std::memory_order_acquire);  // the head was read before the slots
  if (!ReadSlots(header.head)) {
    Damage("its memory was cut short", context, block);
    return;
  }
  const uint64_t now_ns = KernelNowNs();
  for (size_t at = 0; at < slots_.size() && !damaged_;) {
    DecodedSlot decoded = DecodeSlot(std::span(slots_).subspan(at));
    at += decoded.slots;
    if (decoded.kind == SlotKind::kDamaged) {
      Damage("it holds what is no event", context, block);
    } else if (decoded.kind == SlotKind::kEvent) {
      TakeEvent(&decoded, header, context, now_ns, block);
    } else {
      const auto found = owners_.find(decoded.generation);
      owner_ = found == owners_.end() ? std::nullopt : std::optional(found->second);
      owners_.erase(owners_.begin(), owners_.upper_bound(decoded.generation));
    }
  }
  if (damaged_) return;
  tail_ = header.head;
  WriteTail();
}

// An event that is being written now was begun after the last sweep that found all complete that is
// missing now. So the answer lags behind by a sweep where a thread writes all the time, and does
// not wait for the moment when none of a hundred does.
void AppRing::AdvanceFinal(const cprof_ring_& header, const SweepContext& context) {
  const bool caught_up = header.head >= begun_.reserved && header.loss.ended >= begun_.losses;
  if (caught_up) final_ns_ = std::max(final_ns_, begun_.begin_ns);
  if (header.reserved == header.head && header.loss.begun == header.loss.ended) {
    final_ns_ = context.begin_ns;
  } else if (!caught_up && context.begin_ns - begun_.begin_ns > kStuckNs) {
    final_ns_ = context.begin_ns;
  } else if (!caught_up) {
    return;
  }
  begun_ = {header.reserved, header.loss.begun, context.begin_ns};
}

// The writer may be at it all the time. Each count is whole in itself, and whatever it counts had
// set its bit and times before: what is read after the counts covers them.
void AppRing::TakeLosses(const cprof_ring_& header, const SweepContext& context,
                         DrainedBlock* block) {
  const uint64_t total = SumOfVerbs(header.loss, known_loss_);
  if (total == 0) {
    if (header.loss.begun == header.loss.ended) loss_checked_ns_ = context.begin_ns;
    return;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  cprof_ring_ after;
  if (!ReadWhole(fd_, &after, sizeof(after), header_offset_)) {
    Damage("its memory was cut short", context, block);
    return;
  }
  const uint64_t attempted = after.attempted - attempted_before_;
  if (total == kContradiction || after.attempted < attempted_ || lost_ > attempted ||
      total > attempted - lost_) {
    Damage("it lost more than was attempted", context, block);
    return;
  }
  attempted_ = after.attempted;
  Break lost;
  lost.stream = *stream_;
  lost.reason = BreakReason::kRingFull;
  lost.total = total;
  lost.from_ns = index_ == 0 ? loss_checked_ns_ : ToKernelTime(after.loss.first_ns);
  lost.to_ns = ToKernelTime(after.loss.last_ns);
  lost.signature = after.loss.signature;
  if (index_ == 0) lost.detail = "more threads than rings";
  for (size_t i = 0; i < CPROF_LOSS_VERBS_; ++i) {
    const uint64_t count = header.loss.verbs[i] - known_loss_.verbs[i];
    if (count != 0) lost.lost.emplace_back(static_cast<Verb>(CPROF_APP_BEGIN + i), count);
  }
  if (lost.from_ns > lost.to_ns || lost.to_ns > KernelNowNs() || after.loss.first_ns == 0) {
    lost.from_ns = loss_checked_ns_;
    lost.to_ns = std::max(context.begin_ns, loss_checked_ns_);
    lost.signature = ~uint64_t{0};
  }
  block->breaks.push_back(lost);
  lost_ += total;
  known_loss_ = header.loss;
  loss_checked_ns_ = context.begin_ns;
  Acknowledge();
}

// So that the next loss begins a record of its own.
void AppRing::Acknowledge() const {
  const uint64_t acknowledged = SumOfVerbs(known_loss_, cprof_loss_{});
  [[maybe_unused]] const ssize_t ignored =
      pwrite(fd_, &acknowledged, sizeof(acknowledged),
             static_cast<off_t>(header_offset_ + offsetof(cprof_ring_, acknowledged)));
}

void AppRing::Finish(const cprof_ring_& header, const SweepContext& context, DrainedBlock* block) {
  if (damaged_ || !stream_ || header.attempted < attempted_) return;
  const uint64_t attempted = header.attempted - attempted_before_;
  const uint64_t accounted = taken_ + skipped_ + lost_;
  if (header.reserved == header.head && attempted == accounted) return;
  Break lost;
  lost.stream = *stream_;
  lost.reason = BreakReason::kRingDamaged;
  lost.from_ns = std::min(loss_checked_ns_, context.begin_ns);
  lost.to_ns = context.begin_ns;
  lost.total = attempted > accounted ? attempted - accounted : 0;
  lost.signature = ~uint64_t{0};
  lost.detail = "its process ended in the middle of an event";
  block->breaks.push_back(lost);
  lost_ += lost.total;
  attempted_ = std::max(header.attempted, attempted_);
  damaged_ = true;
}

void AppRing::FreeIfOwnerGone(const cprof_ring_& header) {
  if (damaged_ || !owner_ || header.owned == 0 || header.reserved != tail_) return;
  const std::string path =
      "/proc/" + std::to_string(tgid_) + "/task/" + std::to_string(owner_->tid);
  if (access(path.c_str(), F_OK) == 0) return;
  const uint32_t nobody = 0;
  [[maybe_unused]] const ssize_t ignored =
      pwrite(fd_, &nobody, sizeof(nobody),
             static_cast<off_t>(header_offset_ + offsetof(cprof_ring_, owned)));
  owner_.reset();
}

}  // namespace cprof
