// The server's load: clients in a child process, so that nothing of theirs is the server's.
#ifndef CPROF_TESTS_DEMO_LOAD_H_
#define CPROF_TESTS_DEMO_LOAD_H_

#include <sys/types.h>

#include <cstdint>

namespace demo {

struct LoadOptions {
  int connections = 16;
  uint32_t cold_per_mille = 4;
  uint32_t put_per_mille = 100;
  uint32_t think_us = 3000;  // mean time between an answer and the next question
  uint64_t seed = 1;
};

// Forks the clients; call before the server has threads or a ring. The child connects once a port
// arrives on *port_fd, and ends when the server closes its connections.
pid_t StartLoad(const LoadOptions& options, int* port_fd);

// Keys that the server holds from the start are below this.
inline constexpr uint64_t kHotKeyCount = 512;

}  // namespace demo

#endif  // CPROF_TESTS_DEMO_LOAD_H_
