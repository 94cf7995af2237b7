// Rounds of io_uring operations, from an empty ring to an empty ring, whose pairing is known.
//
// user_data is one of a handful of values, drawn at random, so it identifies nothing. Which
// operation a completion belongs to is known from its result: each operation of a round is made so
// that it must return a number of its own (an injected NOP result, a length); where a number has to
// be shared, as by the cancelled members of a chain, the kernel's order is known.
#ifndef CPROF_TESTS_CAUSALITY_WORKLOADS_IO_URING_ROUND_H_
#define CPROF_TESTS_CAUSALITY_WORKLOADS_IO_URING_ROUND_H_

#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "cprof/cprof.h"
#include "tests/causality/workloads/io_uring_ring.h"
#include "tests/causality/workloads/oracle_writer.h"

namespace cprof::causality {

enum class Operation : uint8_t {
  kNop,          // injected result
  kBuffered,     // cached file read
  kAsync,        // the same, forced to a worker thread
  kDirect,       // O_DIRECT file read
  kPipe,         // read of an empty pipe: waits for a write
  kLink,         // a chain of three
  kSkip,         // succeeds without a CQE
  kFail,         // refused when it is prepared
  kTimeout,      // at most one of this and the following in a round
  kLinkTimeout,  // an empty pipe's read, ended by a linked timeout
  kCancel,       // an empty pipe's read, cancelled
  kMultishot,    // a poll that completes several times, then is cancelled
  kFailedChain,  // a chain whose first member fails
  kMessage,      // MSG_RING: posts into another ring, where it belongs to no operation
};
inline constexpr int kOperationCount = 14;
inline constexpr std::array<const char*, kOperationCount> kOperationNames = {
    "nop",  "buffered", "async",       "direct", "pipe",      "link",        "skip",
    "fail", "timeout",  "linktimeout", "cancel", "multishot", "failedchain", "message"};

// Files that all threads read from.
struct SharedFiles {
  int buffered_fd = -1;
  int direct_fd = -1;
  bool can_inject = false;  // the kernel lets a NOP return what it is told
};
// Makes them in directory; unlinked at once.
Result<SharedFiles> MakeSharedFiles(const std::string& directory);

struct RoundOptions {
  std::array<uint32_t, kOperationCount> weights = {};  // 0: never
  uint32_t max_batch = 16;                             // operations in one enter, about
  uint32_t max_sections = 3;      // parts of a round, each with its own requests
  uint32_t multishot_count = 1;   // live multishots with one user_data
  bool unique_user_data = false;  // of each operation
  bool mark_requests = true;      // with cprof.h
  // Asked to write length bytes to fd, on another thread; empty: the round writes itself.
  int writer_fd = -1;
};

// What the writer thread is asked for.
struct WriteOrder {
  int fd = -1;
  uint32_t length = 0;
};

class Rounds {
 public:
  Rounds(const RoundOptions& options, const SharedFiles& files, Ring& ring, OracleWriter& oracle,
         uint64_t seed);
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  // One round; returns how many operations it had.
  uint64_t Run();

 private:
  struct Planned {
    uint64_t operation = 0;  // hidden id
    uint64_t owner = 0;
    uint32_t kind = kExpectCompletion;
  };
  static constexpr int kPipeCount = 8;

  uint64_t Draw(uint64_t below) { return random_() % below; }
  uint64_t DrawUserData();
  Operation DrawOperation();
  void RunOneRequest();
  void RunTwoRequests();
  void RunNobodys();
  void RunNamed();
  void RunServer();
  void PrepareMany(uint64_t count, uint64_t owner);
  void Prepare(Operation operation, uint64_t owner);
  void PrepareSpecial(Operation operation, uint64_t owner);
  void PrepareRead(int fd, bool is_direct, uint64_t owner, uint32_t flags);
  void PrepareNop(int32_t result, uint64_t owner, uint32_t flags);
  io_uring_sqe* PreparePipeRead(int pipe, uint32_t length, int32_t result, uint64_t owner,
                                uint32_t flags);
  // Gives the prepared entry its user_data and hidden id, and says what it will return.
  void Finish(io_uring_sqe* sqe, int32_t result, uint64_t owner, uint32_t kind, uint32_t flags);
  void SubmitBatch();
  void Fill(int fd, uint32_t length);
  void Reap();
  void ReapUntilEmpty();
  void RunMultishots();
  void RunMessages();
  void LogCompletions(uint64_t before_ns, uint64_t after_ns);

  cprof_node NodeOfSlot(uint32_t slot, uint64_t* handle) const;
  uint64_t BeginRequest();
  void EndRequest(uint64_t request);
  void WorkChanges(uint64_t owner, uint64_t before_ns, uint64_t after_ns);

  RoundOptions options_;
  const SharedFiles& files_;
  Ring& ring_;
  io_uring peer_ = {};  // where messages go; nobody waits there
  OracleWriter& oracle_;
  std::mt19937_64 random_;
  uint64_t total_weight_ = 0;
  std::array<std::array<int, 2>, kPipeCount> pipes_ = {};
  std::vector<std::vector<char>> buffers_;
  char* direct_buffer_ = nullptr;

  // Of the round that runs.
  std::vector<Planned> batch_;
  std::unordered_map<int32_t, std::deque<uint64_t>> expected_;  // result -> operations, in order
  std::vector<WriteOrder> writes_;
  std::vector<uint64_t> completions_;  // in the order of the completion queue
  std::vector<uint64_t> multishots_;   // live ones; the n-th polls pipe n
  uint64_t open_ = 0;                  // completions still to come
  int next_pipe_ = 0;
  uint64_t named_request_ = 0;  // whose operations are being named with cprof.h; 0: none's
  uint64_t next_named_user_data_ = 0;
  uint64_t next_user_data_ = 1ULL << 32;  // where each has its own
  uint32_t next_number_ = 0;
  bool has_special_ = false, has_fail_ = false;
  uint64_t messages_ = 0;  // still to be sent in this section
  uint64_t next_batch_ = 1;
  uint64_t operations_ = 0;

  // Requests that this thread works for, innermost last, and the stretch of work that is open.
  std::vector<uint64_t> working_;
  struct {
    uint64_t owner = 0;
    uint64_t before_ns = 0, after_ns = 0;  // clocks around its beginning
  } stretch_;
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_WORKLOADS_IO_URING_ROUND_H_
