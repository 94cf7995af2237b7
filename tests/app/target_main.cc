// The recorded program: carries out commands from standard input, and answers each with a line.
#include <cprof/cprof.h>
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <thread>

#include "tests/app/target.h"

void Emit(uint64_t id, uint64_t count) {
  const cprof_node request = cprof_request("main", id);
  for (uint64_t i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      cprof_enter(request);
    } else {
      cprof_leave(request);
    }
  }
}

namespace {

std::string RunVerbs() {
  const cprof_node request = cprof_node_of(CPROF_KIND_REQUEST, "http", 0x1111, 0x2222);
  const cprof_node shard =
      cprof_resource("a domain that is much longer than the thirty-one bytes", 7);
  const std::string name(100, 'n');
  cprof_begin(request, name.c_str());
  cprof_enter(request);
  cprof_edge(shard, request, CPROF_EDGE_ACQUIRE, cprof_now());
  cprof_edge(request, cprof_io(5, 99), CPROF_EDGE_SUBMIT, 0);
  cprof_leave(request);
  cprof_begin(cprof_task(nullptr, 1), nullptr);
  cprof_end(request);
  return "7";
}

std::string RunFork(uint64_t events) {
  Emit(1, 10);
  const pid_t child = fork();
  if (child == 0) {
    Emit(2, events);
    std::thread([&] { Emit(3, events); }).join();
    _exit(0);
  }
  Emit(1, 10);
  int status = 0;
  waitpid(child, &status, 0);
  return std::to_string(status == 0 ? child : 0);
}

std::string RunLoaded(const std::string& path, uint64_t events) {
  void* object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) return dlerror();
  // Until somebody has raised its flag, or for a second.
  for (int i = 0; i < 1000; ++i) usleep(1000);
  auto* emit = reinterpret_cast<void (*)(uint64_t, uint64_t)>(dlsym(object, "EmitFromLoaded"));
  std::thread([&] { emit(4, events); }).join();
  emit(4, events);
  dlclose(object);
  return std::to_string(2 * events);
}

std::string RunCommand(std::istringstream& words) {
  std::string command, path;
  uint64_t a = 0, b = 0;
  words >> command;
  if (command == "verbs") return RunVerbs();
  if (command == "live") return std::to_string(cprof_live());
  if (command == "emit" && words >> a) return Emit(1, a), std::to_string(a);
  if (command == "everywhere" && words >> a) {
    Emit(1, a), EmitFromC(2, a), EmitFromLinked(3, a);
    return std::to_string(3 * a);
  }
  if (command == "threads" && words >> a >> b) return RunThreads(a, b);
  if (command == "parallel" && words >> a >> b) return RunParallel(a, b);
  if (command == "storm" && words >> a) return RunStorm(a);
  if (command == "fork" && words >> a) return RunFork(a);
  if (command == "load" && words >> path >> a) return RunLoaded(path, a);
  if (command == "confined" && words >> path) return RunConfined(path);
  if (command == "files") return RunOutOfFiles();
  if (command == "lock") return std::to_string(mlockall(MCL_CURRENT | MCL_FUTURE));
  if (command == "quit" && words >> a) {
    Emit(1, a);
    _exit(0);
  }
  if (command == "exec") execl("/proc/self/exe", "app_target", nullptr);
  return "what?";
}

}  // namespace

int main() {
  std::cout << "ready" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::cout << RunCommand(words) << std::endl;
  }
  return 0;
}
