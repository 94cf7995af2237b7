// The threads of the busy process, which is forked from the test.
#include "tests/accounts/busy_process.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace cprof::test {
namespace {

constexpr int kShortThreads = 12;
constexpr uint64_t kShortNs = 20'000'000;

struct ShortRun {
  uint32_t tid;
  uint32_t padding;
  uint64_t cpu_ns;
};

uint64_t ThreadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void Burn(uint64_t cpu_ns) {
  const uint64_t end_ns = ThreadCpuNs() + cpu_ns;
  while (ThreadCpuNs() < end_ns) {
  }
}

void Nap() {
  for (int i = 0; i < 200; ++i) {
    usleep(1000);
    Burn(50'000);
  }
}

struct Workers {
  sem_t go[5];
  sem_t done;
  sem_t ping, pong;
  ShortRun runs[kShortThreads] = {};

  // Semaphores are never taken up by a thread that does not exist yet.
  Workers() {
    for (sem_t& one : go) sem_init(&one, 0, 0);
    for (sem_t* one : {&done, &ping, &pong}) sem_init(one, 0, 0);
  }
};

void StartShortThreads(Workers* workers) {
  for (ShortRun& run : workers->runs) {
    std::thread([&run] {
      Burn(kShortNs);
      run.tid = static_cast<uint32_t>(gettid());
      run.cpu_ns = ThreadCpuNs();
    }).join();
  }
}

void RunOne(Workers* workers, int which) {
  switch (which) {
    case 0: Burn(300'000'000); break;
    case 1: Nap(); break;
    case 2:
      for (int i = 0; i < 5000; ++i) {
        sem_post(&workers->ping);
        sem_wait(&workers->pong);
      }
      break;
    case 3:
      for (int i = 0; i < 5000; ++i) {
        sem_wait(&workers->ping);
        sem_post(&workers->pong);
      }
      break;
    default: StartShortThreads(workers);
  }
}

[[noreturn]] void RunProcess(BusyProcess::Mode mode, int go_fd, int done_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto* workers = new Workers;
  const bool forever = mode == BusyProcess::Mode::kForever;
  for (int which = 0; which < 5; ++which) {
    std::thread([=] {
      while (true) {
        if (!forever) sem_wait(&workers->go[which]);
        RunOne(workers, which);
        if (!forever) sem_post(&workers->done);
      }
    }).detach();
  }
  std::thread([] { pause(); }).detach();
  char byte = 'r';
  if (write(done_fd, &byte, 1) != 1) _exit(1);
  while (read(go_fd, &byte, 1) == 1) {
    for (sem_t& go : workers->go) sem_post(&go);
    for (int i = 0; i < 5; ++i) sem_wait(&workers->done);
    if (write(done_fd, workers->runs, sizeof(workers->runs)) < 0) _exit(1);
  }
  _exit(0);
}

}  // namespace

BusyProcess::BusyProcess(Mode mode) {
  int go[2], done[2];
  if (pipe(go) != 0 || pipe(done) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    close(go[1]);
    close(done[0]);
    RunProcess(mode, go[0], done[1]);
  }
  close(go[0]);
  close(done[1]);
  go_fd_ = go[1];
  done_fd_ = done[0];
  char byte = 0;
  if (read(done_fd_, &byte, 1) != 1) std::abort();
  usleep(50'000);  // until all are parked
}

BusyProcess::~BusyProcess() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  close(go_fd_);
  close(done_fd_);
}

std::map<uint32_t, uint64_t> BusyProcess::Work() {
  const char byte = 'g';
  ShortRun runs[kShortThreads] = {};
  if (write(go_fd_, &byte, 1) != 1 || read(done_fd_, runs, sizeof(runs)) != sizeof(runs)) {
    std::abort();
  }
  usleep(50'000);
  std::map<uint32_t, uint64_t> cpu_ns;
  for (const ShortRun& run : runs) cpu_ns[run.tid] = run.cpu_ns;
  return cpu_ns;
}

std::map<uint32_t, uint64_t> BusyProcess::ReadSchedstat() const {
  std::map<uint32_t, uint64_t> cpu_ns;
  const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::ifstream file(task.path() / "schedstat");
    uint64_t runtime_ns = 0;
    if (file >> runtime_ns) {
      cpu_ns[static_cast<uint32_t>(std::stoul(task.path().filename()))] = runtime_ns;
    }
  }
  return cpu_ns;
}

}  // namespace cprof::test
