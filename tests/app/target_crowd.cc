// Many threads, and signal handlers that interrupt the writing of events.
#include <cprof/cprof.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/app/target.h"

// Short threads, a few at a time.
std::string RunThreads(uint64_t threads, uint64_t events) {
  for (uint64_t begun = 0; begun < threads;) {
    std::vector<std::thread> some;
    for (; some.size() < 8 && begun < threads; ++begun) {
      some.emplace_back([begun, events] { Emit(begun, events); });
    }
    for (std::thread& thread : some) thread.join();
  }
  return std::to_string(threads * events);
}

// All at once, none ends before each has emitted.
std::string RunParallel(uint64_t threads, uint64_t events) {
  std::vector<std::thread> all;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  for (uint64_t i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      Emit(i, events);
      pthread_barrier_wait(&barrier);
    });
  }
  for (std::thread& thread : all) thread.join();
  pthread_barrier_destroy(&barrier);
  return std::to_string(threads * events);
}

namespace {

std::atomic<uint64_t> handled{0};

void OnSignal(int) {
  Emit(77, 2);
  handled.fetch_add(2, std::memory_order_relaxed);
}

uint64_t NowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

}  // namespace

// Another thread sends signals of two kinds, so that handlers interrupt handlers too.
std::string RunStorm(uint64_t milliseconds) {
  handled = 0;
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGUSR2, &action, nullptr);
  std::atomic<bool> stop{false};
  const pthread_t self = pthread_self();
  const uint64_t end = NowMs() + milliseconds;
  std::thread sender([&] {
    // Not only until it is told: handlers that take longer than signals need to come keep the
    // thread that would tell it from running at all.
    while (!stop && NowMs() < end) {
      pthread_kill(self, SIGUSR1);
      pthread_kill(self, SIGUSR2);
    }
  });
  uint64_t emitted = 0;
  while (NowMs() < end) {
    Emit(1, 100);
    emitted += 100;
  }
  stop = true;
  sender.join();
  return std::to_string(emitted + handled.load());
}
