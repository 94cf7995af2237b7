// The threads of a recording by identity (tid + start time), and the process images they live in.
#ifndef CPROF_REPORT_THREADS_H_
#define CPROF_REPORT_THREADS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "report/graph.h"

namespace cprof {

// A waking that may have ended the block that its wakee is in.
struct PendingWake {
  bool present = false;
  bool on_run_queue = false;  // the wakee was, so only a block right after proves that it counted
  bool ambiguous = false;     // another waking may have been the one
  Level level = Level::kTask;
  EventRef event;
  uint64_t time_ns = 0;
  NodeId cause = 0;         // a thread or interrupt node
  NodeId cause_thread = 0;  // the waker where the cause is a thread
  bool own_timeout = false;
};

// One life of one thread. Addresses are stable until the life ends.
struct ThreadRecord {
  ThreadKey key;
  NodeId node = 0;  // 0 until something mentions it; see JoinContext::NodeOf
  uint32_t generation = 1;
  NodeId parent = 0;     // who forked it, where seen
  uint64_t born_ns = 0;  // birth, or first sight
  bool birth_seen = false;
  bool followed = false;  // its switches are recorded: slices are told
  bool exited = false;    // sched:exit seen; the record goes some time after its last switch
  uint64_t exit_ns = 0;
  std::array<char, 16> comm{};

  // sched: what it does since since_ns, and on which stream (CPU) it was last seen running.
  ThreadState state = ThreadState::kUnknown;
  bool doubtful = false;  // a break touches the state
  StreamId stream = 0;
  uint64_t since_ns = 0;
  uint16_t since_delay = 0;  // of the switch event at since_ns; see ThreadSlice
  uint64_t last_switch_in_ns = 0;
  EventRef last_switch_in;
  PendingWake wake;
  // What it said it will wait on, just before it blocks.
  ThreadSlice::Wait wait = ThreadSlice::Wait::kNone;
  Key wait_object;
  bool watched = false;  // an adapter wants to hear of its next event (io_uring: resume)
};

class ThreadTable {
 public:
  ThreadTable();
  ~ThreadTable();
  // The live record of that identity, or null.
  ThreadRecord* Find(const ThreadKey& key) const;
  // The record last seen alive with that tid, or null; for events that carry no start time.
  ThreadRecord* FindByTid(uint32_t tid) const;
  // A new life; one that is open under the same identity must have been removed.
  ThreadRecord& Add(const ThreadKey& key, uint64_t time_ns, bool birth_seen);
  void Remove(ThreadRecord& thread);
  // Live records, by tid and start time.
  std::vector<ThreadRecord*> Sorted() const;

  // How many execs the process has gone through as far as seen; also counts a reuse of the tgid, so
  // that (tgid, count) names one image in the recording.
  uint32_t ImageOf(uint32_t tgid) const;
  void NextImage(uint32_t tgid);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_THREADS_H_
