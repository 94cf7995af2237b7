// Rounds of io_uring operations whose pairing is known: see io_uring_round.h.
#include "tests/causality/workloads/io_uring_round.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cprof/cprof.h"

namespace cprof::causality {
namespace {

// Results, by which the round knows its operations. The ranges do not overlap.
constexpr int32_t kFirstNopResult = 1000000;
constexpr uint32_t kFirstBufferedLength = 16;  // up to 4095
constexpr uint32_t kFirstPipeLength = 4200;    // not a multiple of a block
constexpr uint32_t kDirectUnit = 4096;         // from two units on
constexpr uint32_t kDirectCount = 15;
constexpr uint32_t kFileSize = 1 << 20;
constexpr uint32_t kBufferSize = 1 << 17;
constexpr uint64_t kUserDataCount = 4;
constexpr uint32_t kNopInjectResult = 1;  // IORING_NOP_INJECT_RESULT
constexpr uint32_t kMaxNumber = 1000;     // operations in a round, so that ranges stay apart
constexpr uint32_t kHandlesPerThread = 2;
// Before this one, operations stand alone: no user_data is asked for but their own.
constexpr Operation kFirstUnnamed = Operation::kTimeout;

bool NopCanInject() {
  io_uring ring;
  if (io_uring_queue_init(2, &ring, 0) < 0) return false;
  io_uring_sqe* sqe = io_uring_get_sqe(&ring);
  io_uring_prep_nop(sqe);
  sqe->rw_flags = static_cast<int>(kNopInjectResult);
  sqe->len = 77;
  io_uring_cqe* cqe = nullptr;
  const bool can_inject =
      io_uring_submit(&ring) == 1 && io_uring_wait_cqe(&ring, &cqe) == 0 && cqe->res == 77;
  io_uring_queue_exit(&ring);
  return can_inject;
}

}  // namespace

Result<SharedFiles> MakeSharedFiles(const std::string& directory) {
  std::string path = directory + "/causality.XXXXXX";
  const int fd = mkstemp(path.data());
  if (fd < 0) return Error{"cannot create " + path + ": " + std::strerror(errno), ""};
  SharedFiles files;
  files.buffered_fd = fd;
  files.direct_fd = open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  const int reason = errno;
  unlink(path.c_str());
  if (files.direct_fd < 0) {
    return Error{"no O_DIRECT in " + directory + ": " + std::strerror(reason), ""};
  }
  const std::vector<char> block(kFileSize, 'c');
  if (write(fd, block.data(), block.size()) != kFileSize || fsync(fd) != 0) {
    return Error{"cannot write " + path + ": " + std::strerror(errno), ""};
  }
  files.can_inject = NopCanInject();
  return files;
}

Rounds::Rounds(const RoundOptions& options, const SharedFiles& files, Ring& ring,
               OracleWriter& oracle, uint64_t seed)
    : options_(options), files_(files), ring_(ring), oracle_(oracle), random_(seed) {
  for (const uint32_t weight : options_.weights) total_weight_ += weight;
  CPROF_CHECK(total_weight_ > 0);
  for (auto& pipe : pipes_) CPROF_CHECK(pipe2(pipe.data(), O_CLOEXEC) == 0);
  // Buffers may be shared by operations: nobody looks at what was read.
  buffers_.assign(2, std::vector<char>(kBufferSize));
  direct_buffer_ = static_cast<char*>(std::aligned_alloc(kDirectUnit, kBufferSize));
  CPROF_CHECK(direct_buffer_ != nullptr);
  CPROF_CHECK(io_uring_queue_init(8, &peer_, 0) == 0);
}

Rounds::~Rounds() {
  io_uring_queue_exit(&peer_);
  for (auto& pipe : pipes_) {
    close(pipe[0]);
    close(pipe[1]);
  }
  std::free(direct_buffer_);
}

uint64_t Rounds::Run() {
  expected_.clear();
  writes_.clear();
  completions_.clear();
  multishots_.clear();
  next_pipe_ = 0;
  next_number_ = 0;
  has_special_ = has_fail_ = false;
  const uint64_t operations_before = operations_;
  const uint64_t before_ns = NowNs();
  const uint64_t sections = 1 + Draw(options_.max_sections);
  for (uint64_t i = 0; i < sections; ++i) {
    const uint64_t draw = options_.mark_requests ? Draw(12) : 9;
    if (draw < 4) {
      RunOneRequest();
    } else if (draw < 6) {
      RunNamed();
    } else if (draw < 8) {
      RunTwoRequests();
    } else if (draw >= 10) {
      RunServer();
    } else {
      RunNobodys();
    }
  }
  LogCompletions(before_ns, NowNs());
  return operations_ - operations_before;
}

void Rounds::PrepareMany(uint64_t count, uint64_t owner) {
  for (uint64_t i = 0; i < count; ++i) Prepare(DrawOperation(), owner);
}

// The thread works for one request until all of its operations are done; several enters.
void Rounds::RunOneRequest() {
  const uint64_t request = BeginRequest();
  const uint64_t batches = 1 + Draw(3);
  for (uint64_t i = 0; i < batches; ++i) {
    PrepareMany(1 + Draw(options_.max_batch), request);
    SubmitBatch();
    if (Draw(2) == 0) ReapUntilEmpty();
  }
  ReapUntilEmpty();
  EndRequest(request);
}

// Operations of two requests go out in one enter, while the thread already works for the second.
void Rounds::RunTwoRequests() {
  const uint64_t first = BeginRequest();
  PrepareMany(1 + Draw(options_.max_batch), first);
  const uint64_t second = BeginRequest();
  PrepareMany(1 + Draw(options_.max_batch), second);
  SubmitBatch();
  ReapUntilEmpty();
  EndRequest(second);
  EndRequest(first);
}

// Operations of two requests in one enter once more, but the program names the owner of each: by
// user_data, of which no two in flight are equal here, and which the next section reuses.
void Rounds::RunNamed() {
  if (!options_.unique_user_data) next_named_user_data_ = 0;
  uint64_t requests[2];
  for (uint64_t& request : requests) {
    request = BeginRequest();
    named_request_ = request;
    for (int i = 0; i < 2; ++i) {
      const Operation operation = DrawOperation();
      Prepare(operation < kFirstUnnamed ? operation : Operation::kNop, request);
    }
  }
  named_request_ = 0;
  SubmitBatch();
  ReapUntilEmpty();
  EndRequest(requests[1]);
  EndRequest(requests[0]);
}

// A server's loop: with the last operations of one request goes out the receive that brings the
// next one, while the thread still works for the first. It is not that request's.
void Rounds::RunServer() {
  const uint64_t count = 2 + Draw(2);
  for (uint64_t i = 0; i < count; ++i) {
    const bool arms = i + 1 < count;
    const int pipe = kPipeCount - 2;
    const uint64_t request = BeginRequest();
    PrepareMany(1 + Draw(4), request);
    const uint32_t length = kFirstPipeLength + next_number_;
    if (arms) PreparePipeRead(pipe, length, static_cast<int32_t>(length), 0, 0);
    SubmitBatch();
    while (open_ > (arms ? 1 : 0)) Reap();
    EndRequest(request);
    next_pipe_ = 0;
    if (!arms) break;
    Fill(pipes_[static_cast<size_t>(pipe)][1], length);
    ReapUntilEmpty();
  }
}

void Rounds::RunNobodys() {
  PrepareMany(1 + Draw(options_.max_batch), 0);
  SubmitBatch();
  if (messages_ > 0) RunMessages();
  if (!multishots_.empty()) RunMultishots();
  ReapUntilEmpty();
}

Operation Rounds::DrawOperation() {
  uint64_t draw = Draw(total_weight_);
  int index = 0;
  while (draw >= options_.weights[static_cast<size_t>(index)]) {
    draw -= options_.weights[static_cast<size_t>(index)];
    ++index;
  }
  return static_cast<Operation>(index);
}

void Rounds::Prepare(Operation operation, uint64_t owner) {
  if (next_number_ + 4 > kMaxNumber) operation = Operation::kNop;
  const auto nop_result = static_cast<int32_t>(kFirstNopResult + next_number_);
  switch (operation) {
    case Operation::kNop: PrepareNop(nop_result, owner, 0); break;
    case Operation::kBuffered: PrepareRead(files_.buffered_fd, false, owner, 0); break;
    case Operation::kAsync: PrepareRead(files_.buffered_fd, false, owner, IOSQE_ASYNC); break;
    case Operation::kDirect: PrepareRead(files_.direct_fd, true, owner, 0); break;
    case Operation::kPipe: {
      if (next_pipe_ == kPipeCount - 2) return PrepareNop(nop_result, owner, 0);
      const uint32_t length = kFirstPipeLength + next_number_;
      writes_.push_back({pipes_[static_cast<size_t>(next_pipe_)][1], length});
      PreparePipeRead(next_pipe_++, length, static_cast<int32_t>(length), owner, 0);
      break;
    }
    case Operation::kLink:
      PrepareNop(nop_result, owner, IOSQE_IO_LINK);
      PrepareRead(files_.buffered_fd, false, owner, IOSQE_IO_LINK);
      PrepareNop(nop_result + 2, owner, 0);
      break;
    case Operation::kSkip: {
      io_uring_sqe* sqe = ring_.Next();
      io_uring_prep_nop(sqe);
      Finish(sqe, 0, owner, kExpectSilence, IOSQE_CQE_SKIP_SUCCESS);
      break;
    }
    case Operation::kFail: {
      if (has_fail_) return PrepareNop(nop_result, owner, 0);
      has_fail_ = true;
      io_uring_sqe* sqe = ring_.Next();
      io_uring_prep_nop(sqe);
      sqe->opcode = IORING_OP_SYNC_FILE_RANGE;
      sqe->buf_index = 3;  // must be zero: -EINVAL
      Finish(sqe, -EINVAL, owner, kExpectCompletion, 0);
      break;
    }
    default:
      if (has_special_) return PrepareNop(nop_result, owner, 0);
      PrepareSpecial(operation, owner);
      break;
  }
}

// Operations that share error numbers: at most one kind in a round.
void Rounds::PrepareSpecial(Operation operation, uint64_t owner) {
  static __kernel_timespec timeout = {0, 200000};
  has_special_ = true;
  const int pipe = kPipeCount - 1;
  if (operation == Operation::kTimeout) {
    io_uring_sqe* sqe = ring_.Next();
    io_uring_prep_timeout(sqe, &timeout, 0, 0);
    Finish(sqe, -ETIME, owner, kExpectCompletion, 0);
  } else if (operation == Operation::kLinkTimeout) {
    // The kernel looks for what to cancel by user_data alone, so this one value is not shared.
    PreparePipeRead(pipe, 64, -ECANCELED, owner, IOSQE_IO_LINK)->user_data = kUserDataCount;
    io_uring_sqe* sqe = ring_.Next();
    io_uring_prep_link_timeout(sqe, &timeout, 0);
    Finish(sqe, -ETIME, owner, kExpectCompletion, 0);
  } else if (operation == Operation::kCancel) {
    PreparePipeRead(pipe, 64, -ECANCELED, owner, 0);
    io_uring_sqe* sqe = ring_.Next();
    io_uring_prep_cancel_fd(sqe, pipes_[static_cast<size_t>(pipe)][0], 0);
    Finish(sqe, 0, owner, kExpectCompletion, 0);
  } else if (operation == Operation::kFailedChain) {
    if (!files_.can_inject) return PrepareNop(kFirstNopResult, owner, 0);
    PrepareNop(-EIO, owner, IOSQE_IO_LINK);
    for (const uint32_t flags : {unsigned{IOSQE_IO_LINK}, 0U}) {
      PrepareNop(-ECANCELED, owner, flags);
    }
  } else if (operation == Operation::kMessage) {
    has_special_ = false;
    if (owner == 0) messages_ = 1 + Draw(3);
    PrepareNop(static_cast<int32_t>(kFirstNopResult + next_number_), owner, 0);
  } else if (owner != 0) {
    // Who arms a multishot does not own what it brings: only in batches of nobody.
    PrepareNop(static_cast<int32_t>(kFirstNopResult + next_number_), owner, 0);
    has_special_ = false;
  } else {
    const uint64_t user_data = DrawUserData();
    for (uint32_t i = 0; i < options_.multishot_count; ++i) {
      io_uring_sqe* sqe = ring_.Next();
      io_uring_prep_poll_multishot(sqe, pipes_[kPipeCount - 1 - i][0], POLLIN);
      Finish(sqe, POLLIN, 0, kExpectCompletion, 0);
      sqe->user_data = user_data;
      multishots_.push_back(batch_.back().operation);
      expected_.erase(POLLIN);  // said anew for each of its completions
      --open_;
    }
  }
}

void Rounds::PrepareNop(int32_t result, uint64_t owner, uint32_t flags) {
  if (!files_.can_inject) return PrepareRead(files_.buffered_fd, false, owner, flags);
  io_uring_sqe* sqe = ring_.Next();
  io_uring_prep_nop(sqe);
  sqe->rw_flags = static_cast<int>(kNopInjectResult);
  sqe->len = static_cast<uint32_t>(result);
  Finish(sqe, result, owner, kExpectCompletion, flags);
}

void Rounds::PrepareRead(int fd, bool is_direct, uint64_t owner, uint32_t flags) {
  io_uring_sqe* sqe = ring_.Next();
  uint32_t length = kFirstBufferedLength + next_number_;
  if (is_direct) {
    length = kDirectUnit * (2 + next_number_ % kDirectCount);
    if (expected_.contains(static_cast<int32_t>(length))) {
      fd = files_.buffered_fd;  // that length is in flight
      is_direct = false;
      length = kFirstBufferedLength + next_number_;
    }
  }
  char* buffer = is_direct ? direct_buffer_ : buffers_[0].data();
  const uint64_t offset = Draw((kFileSize - kBufferSize) / kDirectUnit) * kDirectUnit;
  io_uring_prep_read(sqe, fd, buffer, length, offset);
  Finish(sqe, static_cast<int32_t>(length), owner, kExpectCompletion, flags);
}

io_uring_sqe* Rounds::PreparePipeRead(int pipe, uint32_t length, int32_t result, uint64_t owner,
                                      uint32_t flags) {
  io_uring_sqe* sqe = ring_.Next();
  io_uring_prep_read(sqe, pipes_[static_cast<size_t>(pipe)][0], buffers_[1].data(), length, 0);
  Finish(sqe, result, owner, kExpectCompletion, flags);
  return sqe;
}

uint64_t Rounds::DrawUserData() {
  return options_.unique_user_data ? next_user_data_++ : Draw(kUserDataCount);
}

void Rounds::Finish(io_uring_sqe* sqe, int32_t result, uint64_t owner, uint32_t kind,
                    uint32_t flags) {
  sqe->user_data = DrawUserData();
  if (named_request_ != 0) {
    sqe->user_data = next_named_user_data_++;
    uint64_t handle = 0;
    const cprof_node node = NodeOfSlot(static_cast<uint32_t>(working_.size() - 1), &handle);
    cprof_edge(node, cprof_io(ring_.fd(), sqe->user_data), CPROF_EDGE_SUBMIT, 0);
  }
  sqe->flags |= static_cast<uint8_t>(flags);
  const uint64_t operation = oracle_.NewId();
  batch_.push_back({operation, owner, kind});
  if (kind == kExpectCompletion) {
    // Where a result is shared, the kernel's order must be known: that of cancelled chain members.
    CPROF_CHECK(result == -ECANCELED || !expected_.contains(result));
    expected_[result].push_back(operation);
    ++open_;
  }
  ++next_number_;
}

void Rounds::SubmitBatch() {
  const uint64_t before_ns = NowNs();
  ring_.Submit();
  const uint64_t after_ns = NowNs();
  const uint64_t batch = next_batch_++;
  for (uint32_t i = 0; i < batch_.size(); ++i) {
    OracleRecord& record = oracle_.Add();
    record.tid = ring_.submitter_tid();
    record.sequence = i;
    record.kind = batch_[i].kind;
    record.operation = batch_[i].operation;
    record.owner = batch_[i].owner;
    record.batch = batch;
    record.before_ns = before_ns;
    record.after_ns = after_ns;
    record.truth = Truth::kSubmit;
  }
  operations_ += batch_.size();
  batch_.clear();
  for (const WriteOrder& order : writes_) Fill(order.fd, order.length);
  writes_.clear();
}

void Rounds::Fill(int fd, uint32_t length) {
  if (options_.writer_fd >= 0 && Draw(2) == 0) {
    const WriteOrder order{fd, length};
    CPROF_CHECK(write(options_.writer_fd, &order, sizeof(order)) == sizeof(order));
    return;
  }
  CPROF_CHECK(write(fd, buffers_[0].data(), length) == static_cast<ssize_t>(length));
}

void Rounds::Reap() {
  bool more = false;
  const int32_t result = ring_.WaitResult(&more);
  const auto found = expected_.find(result);
  if (found == expected_.end() || found->second.empty()) {
    std::fprintf(stderr, "io_uring_workload: error: a completion returned %d, as none could\n",
                 result);
    std::exit(EXIT_FAILURE);
  }
  completions_.push_back(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) expected_.erase(found);
  --open_;
}

void Rounds::ReapUntilEmpty() {
  while (open_ > 0) Reap();
  next_pipe_ = 0;
}

// Each live multishot completes a few times, one at a time; then all are cancelled.
void Rounds::RunMultishots() {
  ReapUntilEmpty();
  const uint64_t shots = 1 + Draw(4);
  for (uint64_t shot = 0; shot < shots; ++shot) {
    const size_t which = Draw(multishots_.size());
    const std::array<int, 2>& pipe = pipes_[kPipeCount - 1 - which];
    expected_[POLLIN].push_back(multishots_[which]);
    ++open_;
    Fill(pipe[1], 1);
    ReapUntilEmpty();
    char byte = 0;
    CPROF_CHECK(read(pipe[0], &byte, 1) == 1);
  }
  for (size_t i = 0; i < multishots_.size(); ++i) {
    io_uring_sqe* sqe = ring_.Next();
    io_uring_prep_cancel_fd(sqe, pipes_[kPipeCount - 1 - i][0], 0);
    Finish(sqe, 0, 0, kExpectCompletion, 0);
    expected_[-ECANCELED].push_back(multishots_[i]);
    ++open_;
    SubmitBatch();
    ReapUntilEmpty();
  }
  multishots_.clear();
}

// Alone in their enters, so that the order is known: the post into the other ring, which is no
// operation's, then the completion of the message itself.
void Rounds::RunMessages() {
  for (ReapUntilEmpty(); messages_ > 0; --messages_) {
    io_uring_sqe* sqe = ring_.Next();
    io_uring_prep_msg_ring(sqe, peer_.ring_fd, 0, DrawUserData(), 0);
    Finish(sqe, 0, 0, kExpectCompletion, 0);
    SubmitBatch();
    completions_.push_back(0);
    ReapUntilEmpty();
    io_uring_cqe* cqe = nullptr;
    CPROF_CHECK(io_uring_wait_cqe(&peer_, &cqe) == 0);
    io_uring_cqe_seen(&peer_, cqe);
  }
}

void Rounds::LogCompletions(uint64_t before_ns, uint64_t after_ns) {
  const uint64_t round = next_batch_++;
  for (uint32_t i = 0; i < completions_.size(); ++i) {
    OracleRecord& record = oracle_.Add();
    record.sequence = i;
    record.operation = completions_[i];
    record.batch = round;
    record.before_ns = before_ns;
    record.after_ns = after_ns;
    record.truth = Truth::kComplete;
  }
}

// Handles are few and reused: the thread's tid and a slot.
cprof_node Rounds::NodeOfSlot(uint32_t slot, uint64_t* handle) const {
  *handle = uint64_t{oracle_.tid()} * kHandlesPerThread + slot;
  return cprof_request("causality", *handle);
}

uint64_t Rounds::BeginRequest() {
  CPROF_CHECK(working_.size() < kHandlesPerThread);
  OracleRecord& record = oracle_.Add();
  record.operation = oracle_.NewId();
  const cprof_node node = NodeOfSlot(static_cast<uint32_t>(working_.size()), &record.value);
  record.before_ns = NowNs();
  cprof_begin(node, "batch");
  record.after_ns = NowNs();
  cprof_enter(node);
  working_.push_back(record.operation);
  WorkChanges(record.operation, record.after_ns, NowNs());
  record.truth = Truth::kRequestBegin;
  return record.operation;
}

void Rounds::EndRequest(uint64_t request) {
  CPROF_CHECK(!working_.empty() && working_.back() == request);
  working_.pop_back();
  OracleRecord& record = oracle_.Add();
  record.operation = request;
  const cprof_node node = NodeOfSlot(static_cast<uint32_t>(working_.size()), &record.value);
  const uint64_t leave_ns = NowNs();
  cprof_leave(node);
  record.before_ns = NowNs();
  WorkChanges(working_.empty() ? 0 : working_.back(), leave_ns, record.before_ns);
  cprof_end(node);
  record.after_ns = NowNs();
  record.truth = Truth::kRequestEnd;
}

// Between before_ns and after_ns this thread went over to work for owner (0: nobody).
void Rounds::WorkChanges(uint64_t owner, uint64_t before_ns, uint64_t after_ns) {
  if (stretch_.owner != 0) {
    OracleRecord& record = oracle_.Add();
    record.owner = stretch_.owner;
    record.before_ns = stretch_.before_ns;
    record.inner_from_ns = stretch_.after_ns;
    record.inner_to_ns = before_ns;
    record.after_ns = after_ns;
    record.truth = Truth::kWork;
  }
  stretch_ = {owner, before_ns, after_ns};
}

}  // namespace cprof::causality
