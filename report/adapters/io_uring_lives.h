// The lives of io_uring requests and the rings they are on: tables without rules.
#ifndef CPROF_REPORT_ADAPTERS_IO_URING_LIVES_H_
#define CPROF_REPORT_ADAPTERS_IO_URING_LIVES_H_

#include <tsl/robin_map.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "report/adapters/adapter.h"

namespace cprof::io_uring {

using LifeIndex = uint32_t;
using RingIndex = uint32_t;
inline constexpr uint32_t kNone = UINT32_MAX;

// Whether user_data may confirm a join on a ring: only where the application does not use the same
// value again. A repetition is proven when it is seen; that there is none can only be made likely,
// by how many births went without.
class UserDataEvidence {
 public:
  // life: who is born with it. is_open(older) says whether an earlier life still is.
  template <typename IsOpen>
  void Note(uint64_t user_data, LifeIndex life, IsOpen is_open) {
    ++births_;
    const uint64_t slot = (user_data * 0x9e3779b97f4a7c15ULL) >> (64 - kBits);
    Entry& first = first_[slot];
    Entry& latest = latest_[slot];
    if (latest.life != kNone && latest.user_data == user_data) {
      repeats_ = true;
      if (!repeats_while_open_ && is_open(latest.life)) repeats_while_open_ = true;
    }
    if (first.life == kNone) {
      first = {user_data, life};
    } else if (first.user_data == user_data) {
      repeats_ = true;
    }
    latest = {user_data, life};
  }
  // The same value was used by two requests, one after the other or together.
  bool repeats() const { return repeats_; }
  bool repeats_while_open() const { return repeats_while_open_; }
  // No value has repeated in a time long enough: many births for each request that was open at once
  // and for each birth that was lost.
  bool IsUnique(uint64_t most_open, const Loss& lost_births) const {
    return !repeats_ && !lost_births.countless && births_ >= kFewestBirths &&
           births_ >= kBirthsPerOpen * most_open && births_ >= kBirthsPerLost * lost_births.count;
  }

 private:
  static constexpr int kBits = 9;
  static constexpr uint64_t kFewestBirths = 64;
  static constexpr uint64_t kBirthsPerOpen = 2;
  static constexpr uint64_t kBirthsPerLost = 4;
  struct Entry {
    uint64_t user_data = 0;
    LifeIndex life = kNone;
  };
  // The first value of each slot stays, to meet pools of any size when they come round; the latest
  // one meets short ones at once.
  std::array<Entry, size_t{1} << kBits> first_{};
  std::array<Entry, size_t{1} << kBits> latest_{};
  uint64_t births_ = 0;
  bool repeats_ = false;
  bool repeats_while_open_ = false;
};

struct RawHash {
  size_t operator()(uint64_t key) const noexcept {
    const uint64_t mixed = key * 0x9e3779b97f4a7c15ULL;
    return mixed ^ (mixed >> 32);
  }
};

// One life of one request object.
struct Life {
  bool used = false;
  NodeId node = 0;
  uint64_t request = 0;
  uint64_t user_data = 0;
  RingIndex ring = kNone;
  uint32_t generation = 0;
  uint8_t opcode = 0;
  uint8_t sqe_flags = 0;
  bool joined = false;           // its submit half has been counted
  bool maybe_ended = false;      // an ambiguous overflow may have been its end
  bool object_released = false;  // SEND_ZC: completed, waits for its notification
  bool ring_indexed = false;
  uint32_t notifications = 0;  // ambiguous ones that may have been its own
  uint32_t tgid = 0;
  uint64_t submit_ns = 0;
  EventRef submit_event;
  NodeId submit_thread = 0;
  uint64_t failed_ns = 0;  // a req_failed after the submit: a second hand-out of this life
  EventRef failed_event;
  int32_t result = 0;
  bool has_result = false;
  // io-wq: who runs it since when.
  ThreadRecord* worker = nullptr;
  uint64_t worker_from_ns = 0;
  // Others of the same ring and user_data, where the ring is indexed; and the ring's list.
  LifeIndex next_same = kNone, previous_same = kNone;
  LifeIndex next_open = kNone, previous_open = kNone;
};

// Two cq_waits that found the queue empty, and what was completed in between.
struct EmptyPoint {
  bool valid = false;
  ThreadRecord* thread = nullptr;
  uint32_t head = 0;
  uint32_t offset = 0;  // tail minus completions counted
  uint32_t completions = 0;
  uint64_t time_ns = 0;
  NodeId node = 0;  // of the single completion; 0 where not known
  NodeId complete_thread = 0;
  uint64_t complete_ns = 0;
  EventRef complete_event;
  bool self_completed = false;  // the waiting thread itself executed the completion
  uint64_t resume_ns = 0;       // 0: the thread has not come back yet
  EventRef resume_event;
  std::optional<Node> ended;  // its node, to be told as ended once the point is decided
};

struct CompletedView {
  uint64_t user_data = 0;
  IoRequestView view;
};

struct Ring {
  uint64_t key = 0;
  uint32_t fd = Scope::kUnknownFd;
  uint32_t generation = 0;
  uint32_t tgid = 0;
  bool preexisting = false;  // no create seen
  uint64_t born_ns = 0;
  bool exiting = false;
  uint32_t open = 0;
  uint32_t most_open = 0;
  LifeIndex first_open = kNone;
  UserDataEvidence user_data;
  bool indexed = false;
  tsl::robin_map<uint64_t, LifeIndex, RawHash> by_user_data;
  // resume
  uint32_t completions = 0;  // counted, modulo 2^32 as the queue's own tail
  bool offset_known = false;
  uint32_t offset = 0;         // the highest seen, which a lagging tail only lowers
  uint32_t offset_points = 0;  // how often seen
  EmptyPoint empty;
  // The last completions, for IoRequestIndex.
  std::vector<CompletedView> completed;
  size_t next_completed = 0;
};

class LifeTable {
 public:
  struct Object {
    LifeIndex open = kNone;
    uint32_t generation = 0;
    uint64_t last_ns = 0;  // last birth or end seen
  };
  // The entry of a request object, made at first sight. Valid until the next call.
  Object& ObjectOf(uint64_t request);
  LifeIndex Add();
  void Remove(LifeIndex index);
  Life& operator[](LifeIndex index) { return lives_[index]; }
  const Life& operator[](LifeIndex index) const { return lives_[index]; }
  size_t size() const { return lives_.size(); }

  void Link(Ring& ring, LifeIndex index);
  void Unlink(Ring& ring, LifeIndex index);
  // From the first call on, the ring keeps its open lives by user_data too.
  void IndexByUserData(Ring& ring);
  // Open lives of that ring and user_data, oldest first.
  std::vector<LifeIndex> Find(Ring& ring, uint64_t user_data);

 private:
  void LinkSame(Ring& ring, LifeIndex index);

  tsl::robin_map<uint64_t, Object, RawHash> objects_;
  std::vector<Life> lives_;
  std::vector<LifeIndex> free_;
};

}  // namespace cprof::io_uring

#endif  // CPROF_REPORT_ADAPTERS_IO_URING_LIVES_H_
