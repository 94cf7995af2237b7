// One recorded event as a value: what every pass of cprof works on.
#ifndef CPROF_FORMAT_EVENT_H_
#define CPROF_FORMAT_EVENT_H_

#include <compare>
#include <cstdint>
#include <functional>

#include "format/verb.h"

namespace cprof {

// A raw identity inside its scope. Kernel objects use lo; application and trace ids use both.
struct Key {
  uint64_t hi = 0;
  uint64_t lo = 0;
  friend auto operator<=>(const Key&, const Key&) = default;
};

// Mirrors enum cprof_level of bpf/event.h.
enum class Level : uint8_t { kTask = 0, kSoftirq = 1, kHardirq = 2, kNmi = 3, kUnknown = 4 };

// An index into the recording's string table; 0 is the empty string.
using StringId = uint32_t;
// An index into the recording's stream table.
using StreamId = uint32_t;

// Fields by verb (see adapters.def for the names):
//   a second thread        key.lo = its start_time_ns, key2.lo = tid | tgid << 32
//   sched:comm, recorder:thread   arg, arg2 = 16 bytes of comm, first byte lowest
//   sched:waking           arg = 1 where the wakee was still on a run queue, arg2 = 1 where it is
//                          the end of the wakee's own timeout
//   sched:switch           current is the thread that leaves the CPU, key the one that comes
//   io_uring:submit        arg2 = opcode | sqe flags << 8 | fd << 32
//   io_uring:complete      arg2 = (uint32) result | cqe flags << 32; key.lo = 0 where the kernel
//                          gives no request (multishot intermediate, MSG_RING post)
//   io_uring:cq_wait       arg2 = CQ head | CQ tail << 32 at that moment; emitted only where the
//                          kernel decided to wait: fewer than min_complete entries were there
//   futex:*                key = address, key2 = 0 for private futexes (scope: the process image),
//                          else inode-like scope; arg2 of a wake = tid of the wakee
//   app:begin/end/enter/leave   key = id, arg = AppKind, name (begin only), domain
//   app:edge               key/domain = from, key2/domain2 = to,
//                          arg = from AppKind | to AppKind << 8 | EdgeType << 16,
//                          arg2 = when it was wanted (acquire; 0 where not told)
struct Event {
  uint64_t time_ns = 0;        // CLOCK_MONOTONIC
  uint64_t sequence = 0;       // within its stream
  uint64_t start_time_ns = 0;  // of the executing thread; with tid its identity in this boot
  uint32_t tid = 0;            // of the executing thread, initial pid namespace
  uint32_t tgid = 0;
  StreamId stream = 0;
  Verb verb = 0;
  Level level = Level::kTask;
  uint16_t flags = 0;
  Key key;
  Key key2;
  uint64_t arg = 0;
  uint64_t arg2 = 0;
  StringId name = 0;
  StringId domain = 0;
  StringId domain2 = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

// What an application node is; numbers of cprof.h.
enum class AppKind : uint8_t {
  kNone = 0,
  kRequest = 1,
  kTask = 2,
  kResource = 3,
  // A reference only, never begun: the io_uring request that this process submits on ring fd
  // id.hi with user_data id.lo. Lets a program name the owner of an SQE, or what it resumes.
  kIo = 4,
};

// MODEL: edge types. Numbers are on disk (app:edge) and in cprof.h.
enum class EdgeType : uint8_t {
  kSubmit = 1,
  kComplete = 2,
  kQueue = 3,
  kWake = 4,
  kSpawn = 5,
  kResume = 6,
  kAcquire = 7,
  kRelease = 8,
  kSend = 9,
  kReceive = 10,
};

// The second thread of an event whose key field is "thread".
struct ThreadKey {
  uint64_t start_time_ns = 0;
  uint32_t tid = 0;
  uint32_t tgid = 0;
  friend auto operator<=>(const ThreadKey&, const ThreadKey&) = default;
};
inline ThreadKey OtherThread(const Event& event) {
  return {event.key.lo, static_cast<uint32_t>(event.key2.lo),
          static_cast<uint32_t>(event.key2.lo >> 32)};
}
inline ThreadKey ExecutingThread(const Event& event) {
  return {event.start_time_ns, event.tid, event.tgid};
}

// The bit of a key in a break's signature; the same function as in bpf/event.h.
inline uint64_t SignatureBit(uint64_t key) {
  return uint64_t{1} << ((key * 0x9e3779b97f4a7c15ULL) >> 58);
}

}  // namespace cprof

template <>
struct std::hash<cprof::Key> {
  size_t operator()(const cprof::Key& key) const noexcept {
    const uint64_t mixed = (key.lo ^ (key.hi * 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL;
    return mixed ^ (mixed >> 32);
  }
};

template <>
struct std::hash<cprof::ThreadKey> {
  size_t operator()(const cprof::ThreadKey& key) const noexcept {
    const uint64_t mixed = (key.start_time_ns ^ (uint64_t{key.tid} << 40)) * 0xbf58476d1ce4e5b9ULL;
    return mixed ^ (mixed >> 32);
  }
};

#endif  // CPROF_FORMAT_EVENT_H_
