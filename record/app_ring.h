// One in-process ring as the recorder drains it: events, losses, damage.
#ifndef CPROF_RECORD_APP_RING_H_
#define CPROF_RECORD_APP_RING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "record/app_slot.h"
#include "record/source.h"

namespace cprof {

// A thread that owns a ring from some generation on. Not wanted: it is not recorded.
struct RingOwner {
  uint32_t tid = 0;
  uint64_t start_time_ns = 0;
  bool wanted = true;
};

// What one sweep knows, the same for all rings.
struct SweepContext {
  uint64_t begin_ns = 0;     // the sweep began
  uint64_t floor_ns = 0;     // an earlier sweep said that nothing older follows
  bool owners_known = true;  // no announcement was ever lost: who is unknown came before recording
  BlockSink* sink = nullptr;
  std::vector<cprof_slot_>* slots = nullptr;  // room for what is read, kept between rings
};

// Where a ring lies in its region.
struct RingPlace {
  int fd = -1;  // the region, outlives the ring
  uint32_t index = 0;
  uint32_t ring_count = 0;   // in the region
  uint32_t ring_events = 0;  // slots of each ring, a power of two

  uint64_t header_offset() const;
  uint64_t slots_offset() const;
};

class AppRing {
 public:
  // since_ns: nothing in the ring is older.
  AppRing(const RingPlace& place, uint32_t tgid, int64_t clock_offset_ns, uint64_t since_ns);

  // Takes the state as the beginning: what happened before is not part of this recording.
  void StartAt(const cprof_ring_& header);
  // The recording ends at cut_ns: header was read after that, and what was written or lost since is
  // no part of it, nor counted.
  void EndAt(const cprof_ring_& header, uint64_t cut_ns);
  void Announce(uint64_t generation, const RingOwner& owner);

  // Drains to the head in header, which was read after the sweep began, and appends to block.
  void Drain(const cprof_ring_& header, const SweepContext& context, DrainedBlock* block);
  // The process is gone, and header is the last word: counts what can never come.
  void Finish(const cprof_ring_& header, const SweepContext& context, DrainedBlock* block);
  // The recording is over and its flag has fallen: gives all memory back but what an event that is
  // being written may lie in.
  void GiveBackAll(const cprof_ring_& header) const;
  // Frees the ring of a thread that ended without freeing it.
  void FreeIfOwnerGone(const cprof_ring_& header) const;

  void set_stream(StreamId stream) { stream_ = stream; }
  std::optional<StreamId> stream() const { return stream_; }
  // Whether there is anything to say about the ring: only then it gets a stream.
  bool active(const cprof_ring_& header) const;
  RoundMark::Counter counter() const;
  double fill() const { return fill_; }
  // Nothing older than this follows.
  uint64_t final_ns() const { return final_ns_; }

 private:
  void TakeSlots(const cprof_ring_& header, const SweepContext& context, DrainedBlock* block);
  cprof_ring_ UpToTheEnd(const cprof_ring_& header) const;
  bool ReadSlots(uint64_t head, std::vector<cprof_slot_>* slots) const;
  void TakeEvent(DecodedSlot* decoded, const cprof_ring_& header, const SweepContext& context,
                 uint64_t now_ns, DrainedBlock* block);
  void TakeLosses(const cprof_ring_& header, const SweepContext& context, DrainedBlock* block);
  void AdvanceFinal(const cprof_ring_& header, const SweepContext& context);
  void Damage(const char* why, const SweepContext& context, DrainedBlock* block);
  void Lose(const Event& event, BreakReason reason, const char* why, DrainedBlock* block);
  void LetGo(uint64_t count);
  void GiveBack(uint64_t first, uint64_t last) const;
  void WriteTail(uint64_t tail);
  uint32_t index() const { return place_.index; }
  void Acknowledge() const;
  uint64_t ToKernelTime(uint64_t time_ns) const {
    return time_ns - static_cast<uint64_t>(clock_offset_ns_);
  }

  const RingPlace place_;
  uint32_t tgid_;
  int64_t clock_offset_ns_;
  std::optional<StreamId> stream_;

  uint64_t tail_ = 0;
  uint64_t written_tail_ = 0;      // what the writer knows of it
  uint64_t attempted_ = 0;         // as last read
  uint64_t attempted_before_ = 0;  // when the recording began
  uint64_t skipped_ = 0;           // attempts of threads that are not recorded
  uint64_t taken_ = 0;             // events handed on
  uint64_t lost_ = 0;              // in breaks
  uint64_t after_end_ = 0;         // attempts that were read, and came after the recording
  cprof_loss_ known_loss_{};       // what breaks have told
  uint64_t loss_checked_ns_ = 0;   // no loss before this is unknown

  std::map<uint64_t, RingOwner> owners_;  // by generation; those that may still come
  std::optional<RingOwner> owner_;        // of the slots at tail_
  uint64_t owner_generation_ = 0;
  bool damaged_ = false;
  double fill_ = 0;

  // What was begun when some earlier sweep began: once that is complete, all before it is.
  struct Begun {
    uint64_t reserved = 0;
    uint64_t losses = 0;
    uint64_t begin_ns = 0;
  };
  Begun begun_;
  uint64_t final_ns_ = 0;

  struct End {
    uint64_t cut_ns = 0;
    uint64_t head = 0;  // slots from here on came after it
    uint64_t attempted = 0;
    cprof_loss_ loss{};
  };
  std::optional<End> end_;
};

// CLOCK_MONOTONIC of the initial time namespace, as events have it.
uint64_t KernelNowNs();

}  // namespace cprof

#endif  // CPROF_RECORD_APP_RING_H_
