// The server's load in a child process: see load.h.
#include "tests/demo/load.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <thread>
#include <vector>

#include "tests/demo/request.h"

namespace demo {
namespace {

bool SendAll(int fd, const Question& question) {
  return send(fd, &question, sizeof(question), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof(question));
}

Question Ask(const LoadOptions& options, std::mt19937_64& random) {
  Question question;
  const uint64_t draw = random() % 1000;
  if (draw < options.cold_per_mille) {
    question.kind = Kind::kGetCold;
    question.key = kHotKeyCount + (random() >> 16);  // practically never asked before
  } else {
    question.kind =
        draw < options.cold_per_mille + options.put_per_mille ? Kind::kPut : Kind::kGetHot;
    question.key = random() % kHotKeyCount;
  }
  return question;
}

void RunClient(const LoadOptions& options, uint16_t port, uint64_t seed) {
  pthread_setname_np(pthread_self(), "demo-client");
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return;
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> think(1.0 / options.think_us);
  Answer answer;
  while (SendAll(fd, Ask(options, random)) &&
         recv(fd, &answer, sizeof(answer), MSG_WAITALL) == static_cast<ssize_t>(sizeof(answer))) {
    usleep(static_cast<useconds_t>(think(random)));
  }
  close(fd);
}

}  // namespace

pid_t StartLoad(const LoadOptions& options, int* port_fd) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return -1;
  const pid_t child = fork();
  if (child != 0) {
    close(pipe_fds[0]);
    *port_fd = pipe_fds[1];
    return child;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "demo-load");
  close(pipe_fds[1]);
  uint16_t port = 0;
  if (read(pipe_fds[0], &port, sizeof(port)) != sizeof(port)) _exit(1);
  std::vector<std::thread> clients;
  for (int i = 0; i < options.connections; ++i) {
    clients.emplace_back(RunClient, options, port, options.seed * 1000 + static_cast<uint64_t>(i));
  }
  for (std::thread& client : clients) client.join();
  _exit(0);
}

}  // namespace demo
