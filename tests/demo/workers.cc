// Worker threads fed by one queue: see workers.h.
#include "tests/demo/workers.h"

#include <pthread.h>

#include <string>

namespace demo {

void Workers::Start(int count) {
  for (int i = 0; i < count; ++i) {
    threads_.emplace_back([this, i] {
      pthread_setname_np(pthread_self(), ("demo-worker-" + std::to_string(i)).c_str());
      Work();
    });
  }
}

void Workers::Push(Request* request, const char* name) {
  const Task task{next_id_.fetch_add(1), request};
  const cprof_node node = cprof_task("worker", task.id);
  cprof_begin(node, name);
  {
    std::lock_guard lock(mutex_);
    // Told while the lock is held: nobody can have taken the task up before.
    cprof_edge(NodeOf(*request), node, CPROF_EDGE_QUEUE, 0);
    tasks_.push_back(task);
  }
  ready_.notify_one();
}

void Workers::Work() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = tasks_.front();
      tasks_.pop_front();
    }
    const cprof_node node = cprof_task("worker", task.id);
    cprof_enter(node);
    run_(task.request, node);
    cprof_leave(node);
    cprof_end(node);
  }
}

void Workers::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace demo
