// The oracle log: what a workload truly did, written by the workload, read by the scorer alone.
//
// The log is a file of fixed-size records, mapped by the workload's process and by nobody else
// while it runs. Operations, requests and tasks carry hidden ids that exist nowhere outside this
// log: not in user_data, not in a handle, not in an argument of any system call.
#ifndef CPROF_TESTS_CAUSALITY_ORACLE_H_
#define CPROF_TESTS_CAUSALITY_ORACLE_H_

#include <cstdint>

namespace cprof::causality {

// What a record tells. "Bracket" is [before_ns, after_ns]: clocks read around the thing itself.
enum class Truth : uint32_t {
  kNone = 0,
  // A kernel thread that works for a ring: tid is the worker, value the tid of the ring's owner.
  kHelper = 1,
  // Operation handed to a ring. tid: who executes the submit (the SQPOLL thread where there is
  // one); batch: one enter; sequence: k-th of the batch; owner: request; kind: Expect.
  kSubmit = 2,
  // One CQE. tid: the ring's owner; batch: one round, from an empty ring to an empty ring;
  // sequence: k-th CQE of the round; the bracket is the round's. operation 0: of no operation.
  kComplete = 3,
  // Life of a request: bracket of its begin, and of its end. value: the handle, which is reused.
  kRequestBegin = 4,
  kRequestEnd = 5,
  // Life of a task: as for requests; owner: the request it works for.
  kTaskBegin = 6,
  kTaskEnd = 7,
  // A hand-over that the workload itself named: tid, bracket; operation: the task; owner: its
  // request; value: the task that handed over, 0 where it was the request itself.
  kHandOver = 8,
  // A stretch of work of thread tid for request owner: it began inside [before_ns, inner_from_ns]
  // and ended inside [inner_to_ns, after_ns].
  kWork = 9,
  // All work of thread tid in this bracket is in the log: time between stretches is nobody's.
  kWatched = 10,
  // A hand-over from one thread (or task) to another that the program saw itself, of the type
  // `kind` (EdgeKind). tid handed over inside [before_ns, inner_from_ns]; the thread `value` took
  // up inside [inner_to_ns, after_ns]. operation: what was handed over, where it has an id; owner:
  // the request that was handed over, 0 where it was none; batch, sequence: k-th of one hand-over.
  // tid 0: no thread handed over, an interrupt did (a timer that ran out, a disk that answered).
  // value 0: the program cannot know who took it up. EdgeKind says more for each kind.
  kEdge = 11,
  // All blocking waits of thread tid inside [before_ns, after_ns] are in the log, as kEdge of
  // kind kWake: a wake of this thread that the log does not hold is a false one.
  kWaits = 12,
  // Request `owner` was in the state `kind` (WallState) for at least [inner_from_ns, inner_to_ns]
  // and at most [before_ns, after_ns]. tid: on which thread; value: the request or the resource
  // that it waited for, where there is one.
  kState = 13,
  // Request `owner` cost `value` of the kind `kind` (CostKind) on thread tid inside the bracket.
  // Where it can only be bounded: at least inner_from_ns, at most inner_to_ns; else both are 0.
  kCost = 14,
  // All hand-overs of the kind `kind` (EdgeKind; 0: of every kind, submits and completions too)
  // from and to thread tid inside the bracket are in the log: any other there is a false one. A
  // thread that works in silence has one of kind 0 and nothing else.
  kDomain = 15,
  kLast = 15,
};

// What was handed over, for Truth::kEdge. One mechanism may write several for one hand-over: an
// item that is queued (kQueue) and the thread that is woken for it (kWake) are two edges. A graph
// that goes through a node between the two threads (a timer, a work item, a message) has its edge
// out of that node compared: its source side is the hand-out, its other side the take-up.
enum class EdgeKind : uint32_t {
  kNone = 0,
  // A blocked thread was made runnable. Only where `value` is known to have blocked (its count of
  // voluntary switches moved); inner_to_ns: before it went to wait, after_ns: after it came back.
  kWake = 1,
  // A thread, process or task was created. value: the new tid; for a task 0, and operation is its
  // id in kTaskBegin. The take-up may be anywhere between before_ns and after_ns.
  kSpawn = 2,
  // An item went into a queue and was taken out. operation: its id in kTaskBegin, where it has
  // one. What the program itself tells the profiler at the push is in kHandOver, not here; together
  // with who enters the task first after inner_to_ns it is the same hand-over.
  kQueue = 3,
  // A completion was handled by thread `value`. operation: as in kSubmit; the first bracket holds
  // the completion, and tid is not compared.
  kResume = 4,
  kTimer = 5,     // a timer was armed by tid and ran out; value: who was woken or handled it
  kWorkItem = 6,  // work was given to the kernel by tid and done by the worker `value`
  kBlock = 7,     // a block request was issued by tid and ended; value: 0, or who ended it
  kSend = 8,      // bytes were sent by tid and received by `value`
  // A resource was wanted (first bracket) and got (second one) by tid, or given back by tid (the
  // whole bracket). owner: the request that did; value: the request that held it before, 0 for
  // none; operation: the tenure.
  kAcquire = 9,
  kRelease = 10,
  kLast = 10,
};

// The states of the wall partition that a workload can know by construction.
enum class WallState : uint32_t {
  kNone = 0,
  kRunning = 1,
  kQueued = 2,
  kIo = 3,
  kTimer = 4,
  kResource = 5,
  kBlocked = 6,
  kRemote = 7,
  kKernelWork = 8,
  kRunnable = 9,
  kInChild = 10,
};

enum class CostKind : uint32_t {
  kNone = 0,
  kCpuNs = 1,       // the scheduler's account of the thread that worked
  kResourceNs = 2,  // time waited for the resource
  kRunDelayNs = 3,  // time runnable without a CPU, where kState cannot tell it apart
};

// What a submitted operation must show, for Truth::kSubmit.
enum Expect : uint32_t {
  kExpectCompletion = 0,
  kExpectSilence = 1,  // succeeds without a CQE: no completion may be joined to it
};

struct OracleRecord {
  Truth truth = Truth::kNone;
  uint32_t tid = 0;
  uint32_t sequence = 0;
  uint32_t kind = 0;
  uint64_t operation = 0;
  uint64_t owner = 0;
  uint64_t batch = 0;
  uint64_t before_ns = 0;
  uint64_t after_ns = 0;
  uint64_t inner_from_ns = 0;
  uint64_t inner_to_ns = 0;
  uint64_t value = 0;
};
static_assert(sizeof(OracleRecord) == 80);

// First record-sized block of the file.
struct OracleHeader {
  char magic[8] = {'c', 'p', 'r', 'o', 'r', 'c', 'l', '1'};
  uint32_t record_size = sizeof(OracleRecord);
  uint32_t tgid = 0;
  uint64_t capacity = 0;  // records the file has room for; unused ones are Truth::kNone
  // While it is written, by several processes where a workload forks.
  uint64_t next_record = 0;
  uint64_t next_id = 1;
  uint64_t reserved[5] = {};
};
static_assert(sizeof(OracleHeader) == sizeof(OracleRecord));

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_ORACLE_H_
