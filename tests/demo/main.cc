// demo_server: a server, the clients that load it, and its own measurement of each request.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/causality/workloads/workload_options.h"
#include "tests/demo/load.h"
#include "tests/demo/server.h"

namespace {

constexpr const char* kHelp =
    "usage: demo_server [options]\n"
    "  --fault on|off   a miss keeps its shard while it reads from the disk (on)\n"
    "  --seconds S      (5)   --requests N  stop after N (0: only the time stops it)\n"
    "  --truth FILE     write what was measured of each request\n"
    "  --dir DIR        for the file that is read with O_DIRECT (.)\n"
    "  --connections N  (16)  --cold N  GET cold in 1000 requests (4)\n"
    "  --workers N      (3)   --slots N  of a shard (1)   --reads N  of a miss (24)\n"
    "  --seed N         (1)\n";

}  // namespace

int main(int argc, char** argv) {
  demo::ServerOptions options;
  demo::LoadOptions load;
  std::string fault = "on", truth;
  uint64_t connections = 16, cold = 4, workers = 3, slots = 1, reads = 24;
  cprof::causality::OptionReader reader;
  reader.Text("--fault", &fault);
  reader.Text("--truth", &truth);
  reader.Text("--dir", &options.directory);
  reader.Seconds("--seconds", &options.seconds);
  reader.Number("--requests", &options.requests);
  reader.Number("--connections", &connections);
  reader.Number("--cold", &cold);
  reader.Number("--workers", &workers);
  reader.Number("--slots", &slots);
  reader.Number("--reads", &reads);
  reader.Number("--seed", &load.seed);
  const bool is_understood = reader.Read(argc, argv) && (fault == "on" || fault == "off") &&
                             workers > 0 && workers < 100 && slots > 0 && slots < 100 &&
                             connections > 0 && connections < 1000 && cold <= 1000 && reads > 0 &&
                             reads < 10000 && (options.seconds > 0 || options.requests > 0);
  if (!is_understood) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  options.fault = fault == "on";
  options.workers = static_cast<uint32_t>(workers);
  options.slots = static_cast<uint32_t>(slots);
  options.reads = static_cast<uint32_t>(reads);
  load.connections = static_cast<int>(connections);
  load.cold_per_mille = static_cast<uint32_t>(cold);
  signal(SIGPIPE, SIG_IGN);

  int port_fd = -1;
  const pid_t clients = demo::StartLoad(load, &port_fd);
  if (clients < 0) {
    std::perror("demo_server: error: fork");
    return EXIT_FAILURE;
  }
  demo::Server server(options);
  if (const std::string error = server.Open(); !error.empty()) {
    std::fprintf(stderr, "demo_server: error: %s\n", error.c_str());
    return EXIT_FAILURE;
  }
  std::printf("ready pid %d port %d fault %s\n", getpid(), server.port(), fault.c_str());
  std::fflush(stdout);
  const uint16_t port = server.port();
  if (write(port_fd, &port, sizeof(port)) != sizeof(port)) return EXIT_FAILURE;
  close(port_fd);
  server.Run();
  waitpid(clients, nullptr, 0);
  std::fputs(server.truth().Summary().c_str(), stdout);
  if (!truth.empty() && !server.truth().Write(truth)) {
    std::fprintf(stderr, "demo_server: error: cannot write %s\n", truth.c_str());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
