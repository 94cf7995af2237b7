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
  kLast = 10,
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
  uint64_t reserved[7] = {};
};
static_assert(sizeof(OracleHeader) == sizeof(OracleRecord));

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_ORACLE_H_
