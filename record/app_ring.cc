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
// Owners that were announced and not yet seen: no more than slots, and than this.
constexpr size_t kMaxOwners = 4096;
// Memory that is drained goes back to the system in pieces of 128 KiB (taking pages back and
// forth costs the writer some 0.5 us each), where a sweep finds the ring this empty: then it has
// room to spare while a piece is gathered, and its pages cost the writer under a part in a hundred.
constexpr uint64_t kGiveBackSlots = 2048;
constexpr uint64_t kSlowShare = 64;
constexpr uint64_t kPageBytes = 4096;

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

uint64_t RingPlace::header_offset() const {
  return CPROF_RINGS_OFFSET_ + uint64_t{index} * sizeof(cprof_ring_);
}

uint64_t RingPlace::slots_offset() const {
  return CPROF_SLOTS_OFFSET_(ring_count) + uint64_t{index} * ring_events * sizeof(cprof_slot_);
}

AppRing::AppRing(const RingPlace& place, uint32_t tgid, int64_t clock_offset_ns, uint64_t since_ns)
    : place_(place), tgid_(tgid), clock_offset_ns_(clock_offset_ns), loss_checked_ns_(since_ns) {}

void AppRing::StartAt(const cprof_ring_& header) {
  tail_ = header.head;
  attempted_before_ = attempted_ = header.attempted;
  known_loss_ = header.loss;
  WriteTail(tail_);
  Acknowledge();
}

void AppRing::EndAt(const cprof_ring_& header, uint64_t cut_ns) {
  if (end_) return;
  end_ = {cut_ns, header.reserved, header.attempted, header.loss};
  const uint64_t lost = SumOfVerbs(header.loss, known_loss_);
  // Nothing was lost before: all that is not told yet is later. Ring 0 keeps no first time.
  if (index() != 0 && lost != kContradiction && header.loss.first_ns != 0 &&
      ToKernelTime(header.loss.first_ns) > cut_ns) {
    end_->loss = known_loss_;
    after_end_ = lost;
  }
}

// What the recording has of the header.
cprof_ring_ AppRing::UpToTheEnd(const cprof_ring_& header) const {
  if (!end_) return header;
  cprof_ring_ ended = header;
  ended.head = std::min(header.head, end_->head);
  ended.reserved = std::min(header.reserved, end_->head);
  ended.attempted = std::min(header.attempted, end_->attempted);
  ended.loss = end_->loss;
  ended.loss.ended = ended.loss.begun;
  return ended;
}

void AppRing::Announce(uint64_t generation, const RingOwner& owner) {
  owners_[generation] = owner;
  if (owners_.size() > kMaxOwners) owners_.erase(owners_.begin());
}

bool AppRing::active(const cprof_ring_& whole_header) const {
  const cprof_ring_ header = UpToTheEnd(whole_header);
  return stream_.has_value() || header.head != tail_ || header.reserved != header.head ||
         SumOfVerbs(header.loss, known_loss_) != 0;
}

RoundMark::Counter AppRing::counter() const {
  // A program may say that it attempted less than it wrote; what was seen was attempted.
  const uint64_t others = skipped_ + after_end_;
  const uint64_t seen = taken_ + lost_ + others;
  return {*stream_, std::max(attempted_ - attempted_before_, seen) - others, lost_};
}

// The writer may go on where everything was read. Until it hears of that it cannot write there, so
// this is the moment to give memory back.
void AppRing::LetGo(uint64_t count) {
  if (count > place_.ring_events / kSlowShare || place_.ring_events < 4 * kGiveBackSlots) {
    WriteTail(tail_);
    return;
  }
  constexpr uint64_t kSlotsPerPage = kPageBytes / sizeof(cprof_slot_);
  const uint64_t tail = tail_ / kSlotsPerPage * kSlotsPerPage;
  if (tail < written_tail_ + kGiveBackSlots) return;
  GiveBack(written_tail_, tail);
  WriteTail(tail);
}

// Whole pages of the slots from first to before last, positions that are at most one lap apart.
void AppRing::GiveBack(uint64_t first, uint64_t last) const {
  while (first < last) {
    const uint64_t index = first % place_.ring_events;
    const uint64_t count = std::min(last - first, place_.ring_events - index);
    const uint64_t begin = place_.slots_offset() + index * sizeof(cprof_slot_);
    const uint64_t end = (begin + count * sizeof(cprof_slot_)) / kPageBytes * kPageBytes;
    const uint64_t aligned = (begin + kPageBytes - 1) / kPageBytes * kPageBytes;
    if (aligned < end) {
      // A refusal costs memory and nothing else.
      [[maybe_unused]] const int ignored =
          fallocate(place_.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(aligned), static_cast<off_t>(end - aligned));
    }
    first += count;
  }
}

void AppRing::GiveBackAll(const cprof_ring_& header) const {
  constexpr uint64_t kMostInOneGo = 1024;  // slots of an event and of handlers that interrupt it
  if (damaged_ || header.head == 0 || place_.ring_events <= 2 * kMostInOneGo) return;
  const uint64_t after = header.head + kMostInOneGo;
  GiveBack(after, after + place_.ring_events - 2 * kMostInOneGo);
}

void AppRing::WriteTail(uint64_t tail) {
  written_tail_ = tail;
  const uint64_t words[2] = {tail, tail * CPROF_CHECK_};
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // A region that refuses this is damaged, and the next read says so.
  [[maybe_unused]] const ssize_t ignored =
      pwrite(place_.fd, words, sizeof(words),
             static_cast<off_t>(place_.header_offset() + offsetof(cprof_ring_, tail)));
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

bool AppRing::ReadSlots(uint64_t head, std::vector<cprof_slot_>* slots) const {
  const uint64_t count = head - tail_;
  slots->resize(count);
  const uint64_t first = tail_ % place_.ring_events;
  const uint64_t until_end = std::min<uint64_t>(count, place_.ring_events - first);
  constexpr uint64_t kSlot = sizeof(cprof_slot_);
  const uint64_t offset = place_.slots_offset();
  return ReadWhole(place_.fd, slots->data(), until_end * kSlot, offset + first * kSlot) &&
         (until_end == count ||
          ReadWhole(place_.fd, slots->data() + until_end, (count - until_end) * kSlot, offset));
}

void AppRing::TakeEvent(DecodedSlot* decoded, const cprof_ring_& header,
                        const SweepContext& context, uint64_t now_ns, DrainedBlock* block) {
  Event& event = decoded->event;
  event.time_ns = ToKernelTime(event.time_ns);
  if (event.time_ns > now_ns) {
    Damage("an event is from the future", context, block);
    return;
  }
  if (end_ && event.time_ns > end_->cut_ns) {
    ++after_end_;
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

void AppRing::Drain(const cprof_ring_& whole_header, const SweepContext& context,
                    DrainedBlock* block) {
  const cprof_ring_ header = UpToTheEnd(whole_header);
  final_ns_ = std::max(final_ns_, context.floor_ns);
  if (damaged_) {
    final_ns_ = context.begin_ns;
    return;
  }
  const uint64_t count = header.head - tail_;
  const uint64_t room = place_.ring_events;
  fill_ = static_cast<double>(std::min(count, room)) / static_cast<double>(room);
  if (count > room || header.reserved - header.head > room || header.attempted < attempted_ ||
      (index() == 0 && count != 0)) {
    Damage("its counters contradict each other", context, block);
    return;
  }
  attempted_ = header.attempted;
  if (count != 0) TakeSlots(header, context, block);
  if (!damaged_) TakeLosses(header, context, block);
  if (!damaged_) AdvanceFinal(header, context);
  if (!damaged_ && end_ && tail_ == end_->head) {
    // What is left had been attempted and not yet been counted as lost: its writer was stopped in
    // between, and the recording ended first.
    attempted_ = attempted_before_ + taken_ + skipped_ + lost_ + after_end_;
    end_->attempted = attempted_;
  }
}

void AppRing::TakeSlots(const cprof_ring_& header, const SweepContext& context,
                        DrainedBlock* block) {
  std::atomic_thread_fence(std::memory_order_acquire);  // the head was read before the slots
  std::vector<cprof_slot_>& slots = *context.slots;
  if (!ReadSlots(header.head, &slots)) {
    Damage("its memory was cut short", context, block);
    return;
  }
  const uint64_t now_ns = KernelNowNs();
  for (size_t at = 0; at < slots.size() && !damaged_;) {
    DecodedSlot decoded = DecodeSlot(std::span(slots).subspan(at));
    at += decoded.slots;
    if (decoded.kind == SlotKind::kDamaged) {
      Damage("it holds what is no event", context, block);
    } else if (decoded.kind == SlotKind::kEvent) {
      TakeEvent(&decoded, header, context, now_ns, block);
    } else {
      const auto found = owners_.find(decoded.generation);
      owner_ = found == owners_.end() ? std::nullopt : std::optional(found->second);
      owner_generation_ = decoded.generation;
      owners_.erase(owners_.begin(), owners_.upper_bound(decoded.generation));
    }
  }
  if (damaged_) return;
  tail_ = header.head;
  LetGo(slots.size());
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
  if (!ReadWhole(place_.fd, &after, sizeof(after), place_.header_offset())) {
    Damage("its memory was cut short", context, block);
    return;
  }
  if (end_) {
    after.attempted = std::min(after.attempted, end_->attempted);
    after.loss.last_ns = std::min(after.loss.last_ns, end_->loss.last_ns);
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
  lost.from_ns = index() == 0 ? loss_checked_ns_ : ToKernelTime(after.loss.first_ns);
  lost.to_ns = ToKernelTime(after.loss.last_ns);
  lost.signature = after.loss.signature;
  if (index() == 0) lost.detail = "more threads than rings";
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
      pwrite(place_.fd, &acknowledged, sizeof(acknowledged),
             static_cast<off_t>(place_.header_offset() + offsetof(cprof_ring_, acknowledged)));
}

void AppRing::Finish(const cprof_ring_& whole_header, const SweepContext& context,
                     DrainedBlock* block) {
  const cprof_ring_ header = UpToTheEnd(whole_header);
  if (damaged_ || !stream_ || header.attempted < attempted_) return;
  const uint64_t attempted = header.attempted - attempted_before_;
  const uint64_t accounted = taken_ + skipped_ + lost_ + after_end_;
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

// Between the reading of the header and the end of its owner, that may have written more and freed
// the ring, and another thread have taken it: what holds once the owner is gone, and names it as
// the owner still, cannot change any more.
void AppRing::FreeIfOwnerGone(const cprof_ring_& header) const {
  if (damaged_ || !owner_ || header.owned == 0 || header.reserved != tail_) return;
  const std::string path =
      "/proc/" + std::to_string(tgid_) + "/task/" + std::to_string(owner_->tid);
  if (access(path.c_str(), F_OK) == 0) return;
  cprof_ring_ now;
  if (!ReadWhole(place_.fd, &now, sizeof(now), place_.header_offset())) return;
  if ((now.owned & CPROF_OWNED_(0)) == 0 || now.reserved != tail_) return;
  // By 31 bits: whoever takes the ring next has a later generation.
  const uint32_t behind = CPROF_OWNED_(owner_generation_) - now.owned;
  if ((behind & 0x40000000u) != 0) return;
  const uint32_t nobody = 0;
  [[maybe_unused]] const ssize_t ignored =
      pwrite(place_.fd, &nobody, sizeof(nobody),
             static_cast<off_t>(place_.header_offset() + offsetof(cprof_ring_, owned)));
}

}  // namespace cprof
