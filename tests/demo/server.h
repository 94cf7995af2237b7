// The demo's server: one event loop on an io_uring, workers, a cache, a file that is read cold.
#ifndef CPROF_TESTS_DEMO_SERVER_H_
#define CPROF_TESTS_DEMO_SERVER_H_

#include <liburing.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/demo/cache.h"
#include "tests/demo/request.h"
#include "tests/demo/truth_log.h"
#include "tests/demo/workers.h"

namespace demo {

struct ServerOptions {
  std::string directory = ".";
  bool fault = true;   // keep the shard's slot while waiting for the disk
  uint32_t slots = 1;  // of a shard
  uint32_t workers = 3;
  uint32_t reads = 24;  // cold reads of one request, one after the other
  uint32_t read_bytes = 1 << 18;
  uint64_t requests = 0;  // stop after so many; 0: do not
  double seconds = 5;     // or after that time; 0: do not
};

class Server {
 public:
  explicit Server(const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Empty, or why it could not be opened.
  std::string Open();
  uint16_t port() const { return port_; }
  // Serves until the options say stop.
  void Run();
  const TruthLog& truth() const { return truth_; }

 private:
  enum class OpKind : uint8_t { kAccept, kReceive, kSend, kRead, kEvent };
  struct Op {
    OpKind kind = OpKind::kAccept;
    int connection = -1;
    Request* request = nullptr;
  };

  std::string MakeFile();
  io_uring_sqe* Prepare(const Op& op);
  // The same for an operation of a request, whose owner is told.
  io_uring_sqe* PrepareFor(Request* request, OpKind kind);
  void ArmAccept();
  void ArmReceive(int connection);
  void ArmEvent();
  void Complete(uint64_t user_data, int32_t result);
  void Receive(const Op& op, uint64_t user_data, int32_t result);
  void TakeBack();
  void Advance(Request* request);
  void End(Request* request);
  void CloseConnection(int connection);
  bool IsOver() const;
  bool IsTime() const;

  // On a worker's thread.
  void Work(Request* request, cprof_node task);
  void LookUp(Request* request);
  void GiveBack(Request* request, cprof_node task);

  const ServerOptions options_;
  io_uring ring_ = {};
  bool is_ring_open_ = false;
  int listen_fd_ = -1, file_fd_ = -1, event_fd_ = -1;
  uint64_t file_bytes_ = 0;
  uint16_t port_ = 0;
  uint64_t event_value_ = 0;
  uint64_t next_op_ = 1, next_request_ = 1;
  std::unordered_map<uint64_t, Op> ops_;      // by user_data, which is never reused
  std::unordered_map<int, Question> inputs_;  // by connection
  uint64_t open_requests_ = 0;
  bool had_clients_ = false;
  uint64_t deadline_ns_ = UINT64_MAX;
  TruthLog truth_;
  Cache cache_;
  Workers workers_;
  std::mutex back_mutex_;
  std::vector<Request*> back_;  // from the workers to the loop
};

}  // namespace demo

#endif  // CPROF_TESTS_DEMO_SERVER_H_
