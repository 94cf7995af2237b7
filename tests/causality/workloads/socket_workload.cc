// socket_workload: requests that go from one process to another and back, over unix or TCP sockets.
//
// The server tells nobody for whom it works: only the bytes that it received say so. One receive
// may bring messages of several requests, the next receive is armed while the last request still
// ends, and all messages look alike. Loopback TCP wakes the receiver from an interrupt.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/causality/workloads/truth_thread.h"
#include "tests/causality/workloads/workload_main.h"

namespace cprof::causality {
namespace {

constexpr std::array<const char*, 4> kModes = {"unix", "tcp", "unix-loop", "tcp-loop"};

struct Options : CommonOptions {
  uint64_t threads = 3, work = 40, together = 1;
};

constexpr size_t kMessageBytes = 64;
constexpr uint64_t kMaxTogether = 8;  // messages in one receive, at most
constexpr size_t kRingCount = 64;     // messages in flight in one direction, at most

// What the socket does not carry: whose each message is. Lies in memory that both processes share.
struct Message {
  uint64_t request = 0;
  OracleRecord* sent = nullptr;   // the hand-over of its bytes
  OracleRecord* woken = nullptr;  // the wake that its send may have been
};
struct Direction {
  std::array<Message, kRingCount> messages;
  std::atomic<uint64_t> sent_count{0};
};
struct Connection {
  Direction there, back;
  int client_fd = -1, server_fd = -1;
};

bool ConnectTcp(int fds[2]) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool is_up = listener >= 0 && bind(listener, raw, length) == 0 &&
                     listen(listener, 1) == 0 && getsockname(listener, raw, &length) == 0 &&
                     connect(fds[0], raw, length) == 0;
  fds[1] = is_up ? accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
  if (listener >= 0) close(listener);
  const int on = 1;
  for (int i = 0; i < 2; ++i) setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fds[1] >= 0;
}

class Workload {
 public:
  Workload(const Options& options, bool is_tcp, bool is_loop)
      : options_(options), is_tcp_(is_tcp), is_loop_(is_loop), pace_(options) {}

  Result<void> Run() {
    CPROF_RETURN_IF_ERROR(oracle_.Create(options_.log, options_.count * 64 + (1 << 18)));
    const size_t size_bytes = options_.threads * sizeof(Connection);
    void* shared =
        mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CPROF_CHECK(shared != MAP_FAILED);
    connections_ = new (shared) Connection[options_.threads];
    for (uint64_t i = 0; i < options_.threads; ++i) {
      int fds[2];
      const bool is_up =
          is_tcp_ ? ConnectTcp(fds) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0;
      if (!is_up) return Error{"no connection between the two processes", ""};
      connections_[i].client_fd = fds[0];
      connections_[i].server_fd = fds[1];
    }
    const pid_t server = fork();
    CPROF_CHECK(server >= 0);
    for (uint64_t i = 0; i < options_.threads; ++i) {
      close(server == 0 ? connections_[i].client_fd : connections_[i].server_fd);
    }
    RunThreads(server == 0);
    if (server == 0) _exit(0);
    int status = 0;
    CPROF_CHECK(waitpid(server, &status, 0) == server);
    if (status != 0) return Error{"the server failed", ""};
    return {};
  }

 private:
  void RunThreads(bool is_server) {
    if (is_server && is_loop_) return Loop();
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < options_.threads; ++i) {
      threads.emplace_back([this, is_server, i] {
        pthread_setname_np(pthread_self(), is_server ? "truth-server" : "truth-client");
        is_server ? Serve(connections_[i]) : Ask(connections_[i], i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static void Send(TruthThread& self, int fd, Direction& direction, uint64_t request) {
    static constexpr std::array<char, kMessageBytes> kBytes = {};
    Message& message = direction.messages[direction.sent_count % kRingCount];
    message.request = request;
    message.sent = self.Offer(EdgeKind::kSend, self.NewId(), request);
    message.woken = self.Offer(EdgeKind::kWake, 0, request);
    // The receiver may be done before the call is back.
    direction.sent_count.fetch_add(1, std::memory_order_release);
    CPROF_CHECK(send(fd, kBytes.data(), kBytes.size(), MSG_NOSIGNAL) == kMessageBytes);
    message.sent->inner_from_ns = message.woken->inner_from_ns = NowNs();
  }

  // Receives what is there, `limit` messages at most; returns how many. 0: the other side is gone.
  uint64_t Receive(TruthThread& self, int fd, Direction& direction, uint64_t first, uint64_t limit,
                   WallState state) const {
    std::array<char, kMessageBytes * kMaxTogether> bytes;
    ssize_t count = 0;
    const Wait wait = self.Block([&] { count = recv(fd, bytes.data(), limit * kMessageBytes, 0); });
    CPROF_CHECK(count >= 0);
    if (count == 0) {
      self.Doubt(wait);
      return 0;
    }
    CPROF_CHECK(count % kMessageBytes == 0);
    CPROF_CHECK(direction.sent_count.load(std::memory_order_acquire) > first);
    // It found nothing when it went to sleep, so the first message woke it; but on a unix socket
    // its peer may have done so a little before, by making room with a receive of its own.
    Message& message = direction.messages[first % kRingCount];
    if (!is_tcp_) {
      message.woken->before_ns = std::min(message.woken->before_ns, wait.clock.before_ns);
    }
    self.WokenBy(wait, message.woken, state, message.request);
    const uint64_t messages = static_cast<uint64_t>(count) / kMessageBytes;
    for (uint64_t i = 0; i < messages; ++i) {
      OracleRecord* sent = direction.messages[(first + i) % kRingCount].sent;
      self.TakeUp(sent, {std::max(wait.clock.before_ns, sent->before_ns), wait.clock.after_ns});
    }
    return messages;
  }

  void Serve(Connection& connection) {
    // Unmarked: nobody is told whose work this is.
    TruthThread self(oracle_, "socket", false);
    std::mt19937_64 random(options_.seed * 1000 + 500 + self.tid());
    uint64_t received = 0;
    while (ServeOnce(self, random, connection, &received)) {
    }
  }

  // One receive, and all that it brought. False: the client is gone.
  bool ServeOnce(TruthThread& self, std::mt19937_64& random, Connection& connection,
                 uint64_t* received) const {
    const uint64_t count = Receive(self, connection.server_fd, connection.there, *received,
                                   kMaxTogether, WallState::kQueued);
    for (uint64_t i = 0; i < count; ++i) {
      Life request;
      request.owner = connection.there.messages[(*received + i) % kRingCount].request;
      self.Enter(request, true);
      self.Spin(random() % (options_.work * 1000 + 1));
      Send(self, connection.server_fd, connection.back, request.owner);
      self.Leave(request);
      if (random() % 4 == 0) self.Spin(random() % 2000);  // nobody's
    }
    *received += count;
    return count > 0;
  }

  // One thread serves all: no thread of the server is any request's, not even for a while.
  void Loop() {
    pthread_setname_np(pthread_self(), "truth-server");
    TruthThread self(oracle_, "socket", false);
    std::mt19937_64 random(options_.seed * 1000 + 500);
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (uint64_t i = 0; i < options_.threads; ++i) {
      epoll_event event = {};
      event.events = EPOLLIN;
      event.data.u64 = i;
      CPROF_CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, connections_[i].server_fd, &event) == 0);
    }
    std::vector<uint64_t> received(options_.threads);
    for (uint64_t open = options_.threads; open > 0;) {
      epoll_event events[8];
      int count = 0;
      const Wait wait = self.Block([&] { count = epoll_wait(epoll, events, 8, -1); });
      CPROF_CHECK(count > 0);
      Connection& only = connections_[events[0].data.u64];
      const uint64_t first = received[events[0].data.u64];
      if (count == 1 && only.there.sent_count.load(std::memory_order_acquire) > first) {
        OracleRecord* woken = only.there.messages[first % kRingCount].woken;
        self.WokenBy(wait, woken, WallState::kQueued, 0);
      } else {
        self.Doubt(wait);  // of several, or of one that is gone, which came first is not known
      }
      for (int i = 0; i < count; ++i) {
        Connection& connection = connections_[events[i].data.u64];
        if (ServeOnce(self, random, connection, &received[events[i].data.u64])) continue;
        CPROF_CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, connection.server_fd, nullptr) == 0);
        --open;
      }
    }
    close(epoll);
  }

  void Ask(Connection& connection, uint64_t index) {
    TruthThread self(oracle_, "socket", options_.mark);
    std::mt19937_64 random(options_.seed * 1000 + index);
    uint64_t received = 0;
    while (const auto due_ns = pace_.Next()) {
      if (*due_ns > NowNs()) self.SleepTo(*due_ns);
      const uint64_t count = 1 + random() % options_.together;
      std::vector<Life> requests;
      for (uint64_t i = 0; i < count; ++i) {
        requests.push_back(self.BeginRequest(handles_));
        self.Enter(requests.back(), true);
        self.Spin(random() % (options_.work * 250 + 1));
        Send(self, connection.client_fd, connection.there, requests.back().id);
        if (count > 1) self.Leave(requests.back());
      }
      const uint64_t sent_ns = NowNs();
      // Now the request is with the server.
      if (count == 1) self.PauseStates({sent_ns, sent_ns});
      for (uint64_t i = 0; i < count;) {
        const uint64_t answers = Receive(self, connection.client_fd, connection.back, received,
                                         count - i, WallState::kBlocked);
        CPROF_CHECK(answers > 0);
        received += answers;
        for (const uint64_t until = i + answers; i < until; ++i) {
          if (count == 1) self.Leave(requests[i]);
          self.End(requests[i], handles_);
        }
      }
    }
    shutdown(connection.client_fd, SHUT_WR);
  }

  const Options options_;
  const bool is_tcp_, is_loop_;
  OracleFile oracle_;
  Pace pace_;
  Handles handles_;
  Connection* connections_ = nullptr;
};

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  using namespace cprof::causality;
  Options options;
  options.mode = kModes[0];
  OptionReader reader;
  reader.Number("--threads", &options.threads);
  reader.Number("--work", &options.work);
  reader.Number("--together", &options.together);
  return RunWorkload(argc, argv, "socket_workload",
                     "  --mode MODE    unix or tcp (unix); unix-loop or tcp-loop: one thread of\n"
                     "                 the server for all connections, which waits in epoll\n"
                     "  --threads N    connections, with a thread at either end (3)\n"
                     "  --work N       microseconds of a request in the server, at most (40)\n"
                     "  --together N   requests on one connection at once, at most (1, up to 8)\n",
                     &reader, &options, [&options]() -> cprof::Result<void> {
                       const auto mode = FindWord(kModes, options.mode);
                       if (!mode) return cprof::Error{"no such mode: " + options.mode, ""};
                       if (options.together == 0 || options.together > kMaxTogether) {
                         return cprof::Error{"--together takes 1 to 8", ""};
                       }
                       return Workload(options, *mode % 2 == 1, *mode >= 2).Run();
                     });
}
