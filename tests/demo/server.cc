// The demo's server: see server.h.
//
// A request's way: the loop receives it and hands it to a worker; the worker takes the slot of its
// shard and looks its key up. A hit goes back to the loop, which answers. A miss goes back too, for
// the loop to read the file, and then to a worker once more, to be put into the cache.
// The planted cause: with the fault on, a miss keeps the slot of its shard while it reads.
#include "tests/demo/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/demo/load.h"

namespace demo {
namespace {

constexpr uint32_t kRingEntries = 256;
constexpr uint64_t kFileBytes = 64 << 20;
constexpr size_t kAlignment = 4096;

}  // namespace

Server::Server(const ServerOptions& options)
    : options_(options),
      cache_(options.slots, [this](Request* request) { workers_.Push(request, "slot granted"); }),
      workers_([this](Request* request, cprof_node task) { Work(request, task); }) {}

Server::~Server() {
  if (is_ring_open_) io_uring_queue_exit(&ring_);
  for (const int fd : {listen_fd_, file_fd_, event_fd_}) {
    if (fd >= 0) close(fd);
  }
}

std::string Server::Open() {
  if (std::string error = MakeFile(); !error.empty()) return error;
  std::array<char, kValueBytes> value = {};
  for (uint64_t key = 0; key < kHotKeyCount; ++key) {
    value[0] = static_cast<char>(key);
    cache_.Put(key, value.data());
  }
  event_fd_ = eventfd(0, EFD_CLOEXEC);
  listen_fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (event_fd_ < 0 || listen_fd_ < 0 || bind(listen_fd_, generic, length) != 0 ||
      listen(listen_fd_, SOMAXCONN) != 0 || getsockname(listen_fd_, generic, &length) != 0) {
    return std::string("cannot listen on loopback: ") + std::strerror(errno);
  }
  port_ = ntohs(address.sin_port);
  const int result = io_uring_queue_init(kRingEntries, &ring_, 0);
  if (result < 0) return std::string("no io_uring: ") + std::strerror(-result);
  is_ring_open_ = true;
  return "";
}

std::string Server::MakeFile() {
  std::string path = options_.directory + "/cprof-demo.XXXXXX";
  const int fd = mkstemp(path.data());
  if (fd < 0) return "cannot create " + path + ": " + std::strerror(errno);
  const std::vector<char> block(1 << 20, 'd');
  bool is_written = true;
  for (uint64_t at = 0; at < kFileBytes && is_written; at += block.size()) {
    is_written = write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size());
  }
  is_written = is_written && fsync(fd) == 0;
  file_fd_ = open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  const int reason = errno;
  close(fd);
  unlink(path.c_str());
  if (!is_written || file_fd_ < 0) {
    return "cannot use " + path + " with O_DIRECT: " + std::strerror(reason);
  }
  return "";
}

void Server::Run() {
  pthread_setname_np(pthread_self(), "demo-loop");
  workers_.Start(static_cast<int>(options_.workers));
  if (options_.seconds > 0) {
    deadline_ns_ = NowNs() + static_cast<uint64_t>(options_.seconds * 1e9);
  }
  ArmAccept();
  ArmEvent();
  while (!IsOver()) {
    const int result = io_uring_submit_and_wait(&ring_, 1);
    if (result < 0 && result != -EINTR) break;
    io_uring_cqe* cqe = nullptr;
    while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
      const uint64_t user_data = cqe->user_data;
      const int32_t value = cqe->res;
      io_uring_cqe_seen(&ring_, cqe);
      Complete(user_data, value);
    }
  }
  workers_.Stop();
  for (const auto& [connection, question] : inputs_) close(connection);
}

// No new requests once it is time; those that are open end first.
bool Server::IsOver() const {
  const bool is_time =
      NowNs() >= deadline_ns_ || (options_.requests > 0 && truth_.count() >= options_.requests);
  return is_time && open_requests_ == 0;
}

io_uring_sqe* Server::Prepare(const Op& op) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) {
    io_uring_submit(&ring_);
    sqe = io_uring_get_sqe(&ring_);
  }
  ops_[next_op_] = op;
  return sqe;
}

io_uring_sqe* Server::PrepareFor(Request* request, OpKind kind) {
  cprof_edge(NodeOf(*request), cprof_io(ring_.ring_fd, next_op_), CPROF_EDGE_SUBMIT, 0);
  return Prepare({kind, request->connection, request});
}

void Server::ArmAccept() {
  io_uring_sqe* sqe = Prepare({OpKind::kAccept, -1, nullptr});
  io_uring_prep_accept(sqe, listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
  sqe->user_data = next_op_++;
}

void Server::ArmReceive(int connection) {
  io_uring_sqe* sqe = Prepare({OpKind::kReceive, connection, nullptr});
  io_uring_prep_recv(sqe, connection, &inputs_[connection], sizeof(Question), MSG_WAITALL);
  sqe->user_data = next_op_++;
}

void Server::ArmEvent() {
  io_uring_sqe* sqe = Prepare({OpKind::kEvent, -1, nullptr});
  io_uring_prep_read(sqe, event_fd_, &event_value_, sizeof(event_value_), 0);
  sqe->user_data = next_op_++;
}

void Server::Complete(uint64_t user_data, int32_t result) {
  const auto found = ops_.find(user_data);
  if (found == ops_.end()) return;
  const Op op = found->second;
  ops_.erase(found);
  switch (op.kind) {
    case OpKind::kAccept: {
      ArmAccept();
      if (result < 0) return;
      const int on = 1;
      setsockopt(result, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      had_clients_ = true;
      ArmReceive(result);
      return;
    }
    case OpKind::kReceive: Receive(op, user_data, result); return;
    case OpKind::kEvent:
      TakeBack();
      ArmEvent();
      return;
    case OpKind::kRead:
    case OpKind::kSend: {
      Request* request = op.request;
      cprof_edge(cprof_io(ring_.ring_fd, user_data), NodeOf(*request), CPROF_EDGE_RESUME, 0);
      cprof_enter(NodeOf(*request));
      if (op.kind == OpKind::kRead) {
        --request->reads_left;
        Advance(request);
        cprof_leave(NodeOf(*request));
        return;
      }
      cprof_leave(NodeOf(*request));
      End(request);
      return;
    }
  }
}

void Server::Receive(const Op& op, uint64_t user_data, int32_t result) {
  if (result != static_cast<int32_t>(sizeof(Question))) return CloseConnection(op.connection);
  auto* request = new Request;
  request->id = next_request_++;
  request->connection = op.connection;
  request->question = inputs_[op.connection];
  if (static_cast<uint32_t>(request->question.kind) >= kKindCount) {
    delete request;
    return CloseConnection(op.connection);
  }
  ++open_requests_;
  const cprof_node node = NodeOf(*request);
  request->begin_ns = NowNs();
  cprof_begin(node, kKindNames[static_cast<int>(request->question.kind)]);
  cprof_edge(cprof_io(ring_.ring_fd, user_data), node, CPROF_EDGE_RESUME, 0);
  cprof_enter(node);
  workers_.Push(request, "look up");
  cprof_leave(node);
}

// What the workers have given back since.
void Server::TakeBack() {
  std::vector<Request*> requests;
  {
    std::lock_guard lock(back_mutex_);
    requests.swap(back_);
  }
  for (Request* request : requests) {
    const cprof_node node = NodeOf(*request);
    cprof_enter(node);
    Advance(request);
    cprof_leave(node);
  }
}

// The loop's part of a request: read on, hand it to a worker, or answer.
void Server::Advance(Request* request) {
  if (request->step == Request::Step::kRead && request->reads_left > 0) {
    const uint64_t blocks = (kFileBytes - options_.read_bytes) / kAlignment;
    const uint64_t mixed = (request->question.key + request->reads_left) * 0x9e3779b97f4a7c15ULL;
    io_uring_sqe* sqe = PrepareFor(request, OpKind::kRead);
    io_uring_prep_read(sqe, file_fd_, request->buffer.get(), options_.read_bytes,
                       mixed % blocks * kAlignment);
    sqe->user_data = next_op_++;
    return;
  }
  if (request->step == Request::Step::kRead) {
    request->step = Request::Step::kInsert;
    workers_.Push(request, "insert");
    return;
  }
  request->answer.key = request->question.key;
  io_uring_sqe* sqe = PrepareFor(request, OpKind::kSend);
  io_uring_prep_send(sqe, request->connection, &request->answer, sizeof(Answer), MSG_NOSIGNAL);
  sqe->user_data = next_op_++;
}

void Server::End(Request* request) {
  cprof_end(NodeOf(*request));
  request->end_ns = NowNs();
  truth_.Add(*request);
  --open_requests_;
  const int connection = request->connection;
  delete request;
  const bool is_time =
      NowNs() >= deadline_ns_ || (options_.requests > 0 && truth_.count() >= options_.requests);
  if (!is_time) ArmReceive(connection);
}

void Server::CloseConnection(int connection) {
  inputs_.erase(connection);
  close(connection);
}

void Server::Work(Request* request, cprof_node task) {
  if (request->step == Request::Step::kLookUp || request->step == Request::Step::kInsert) {
    if (!request->holds_slot && !cache_.Acquire(request)) return;  // in line: it comes back
    LookUp(request);
  }
  GiveBack(request, task);
}

// With the slot. Leaves with the step that the loop has to take next.
void Server::LookUp(Request* request) {
  const uint64_t key = request->question.key;
  if (request->step == Request::Step::kInsert) {
    cache_.Put(key, request->buffer.get());
    request->answer.checksum = Checksum(request->buffer.get());
  } else if (request->question.kind == Kind::kPut) {
    std::array<char, kValueBytes> value;
    value.fill(static_cast<char>(request->id));
    request->answer.checksum = Checksum(value.data());
    cache_.Put(key, value.data());
  } else if (!cache_.Get(key, &request->answer.checksum)) {
    request->step = Request::Step::kRead;
    request->reads_left = options_.reads;
    request->buffer.reset(static_cast<char*>(std::aligned_alloc(kAlignment, options_.read_bytes)));
    if (options_.fault) return;
    cache_.Release(request);
    return;
  }
  request->step = Request::Step::kAnswer;
  cache_.Release(request);
}

void Server::GiveBack(Request* request, cprof_node task) {
  {
    std::lock_guard lock(back_mutex_);
    cprof_edge(task, NodeOf(*request), CPROF_EDGE_COMPLETE, 0);
    back_.push_back(request);
  }
  const uint64_t one = 1;
  // An eventfd takes 2^64 - 2 of these; the loop reads them long before.
  if (write(event_fd_, &one, sizeof(one)) != sizeof(one)) std::abort();
}

}  // namespace demo
