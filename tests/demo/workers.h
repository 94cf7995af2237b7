// Worker threads fed by one queue: a mutex, a condition variable, tasks.
#ifndef CPROF_TESTS_DEMO_WORKERS_H_
#define CPROF_TESTS_DEMO_WORKERS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/demo/request.h"

namespace demo {

class Workers {
 public:
  // run: what a worker does with a task's request, on its thread.
  explicit Workers(std::function<void(Request*, cprof_node task)> run) : run_(std::move(run)) {}

  void Start(int count);
  // Hands a request over as a new task. name: what the task is for.
  void Push(Request* request, const char* name);
  void Stop();

 private:
  struct Task {
    uint64_t id = 0;
    Request* request = nullptr;
  };
  void Work();

  std::function<void(Request*, cprof_node)> run_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::atomic<uint64_t> next_id_{1};
  std::vector<std::thread> threads_;
};

}  // namespace demo

#endif  // CPROF_TESTS_DEMO_WORKERS_H_
