// futex_queue_workload: requests whose items go through queues of a mutex and a condition variable.
//
// Everything that makes a waker's owner the wrong owner happens here: one wake serves several
// items, a worker takes items that another one was woken for (stealing), items of several requests
// lie in one queue, workers do work of nobody's between items, and items queue further items.
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cprof/cprof.h"
#include "tests/causality/workloads/oracle_writer.h"
#include "tests/causality/workloads/workload_options.h"

namespace cprof::causality {
namespace {

struct Options {
  std::string log = "oracle.log";
  uint64_t seed = 1, count = 100000, producers = 3, workers = 3, rate = 20000, work = 10;
  double seconds = 0;
};

constexpr const char* kHelp =
    "usage: futex_queue_workload [options]\n"
    "  --log FILE     where the truth goes (oracle.log)\n"
    "  --count N      items in all (100000); --seconds S: or until then\n"
    "  --producers N  (3)   --workers N  (3)\n"
    "  --rate N       items a second, at most (20000; 0: no limit)\n"
    "  --work N       microseconds of an item, at most (10)\n"
    "  --seed N       (1)\n";

constexpr uint64_t kMaxItemsPerPush = 6;
constexpr uint64_t kMaxItemsPerTake = 4;
constexpr uint64_t kChildPercent = 15;  // items that queue one more

// Handles that are free. The one freed last is given out next: handles are reused at once.
class Handles {
 public:
  uint64_t Take() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) return next_++;
    const uint64_t handle = free_.back();
    free_.pop_back();
    return handle;
  }
  void Free(uint64_t handle) {
    std::lock_guard lock(mutex_);
    free_.push_back(handle);
  }

 private:
  std::mutex mutex_;
  std::vector<uint64_t> free_;
  uint64_t next_ = 1;
};

struct Request {
  uint64_t id = 0, handle = 0;
  std::atomic<uint64_t> open_items{0};
};

struct Item {
  uint64_t id = 0, handle = 0;
  Request* request = nullptr;
  uint64_t work_ns = 0;
  bool has_child = false;
};

cprof_node NodeOf(const Request& request) { return cprof_request("queue", request.handle); }
cprof_node NodeOf(const Item& item) { return cprof_task("queue", item.handle); }

void Spin(uint64_t time_ns) {
  const uint64_t until_ns = NowNs() + time_ns;
  while (NowNs() < until_ns) {
  }
}

class Workload {
 public:
  explicit Workload(const Options& options) : options_(options), queues_(options.workers) {}

  Result<void> Run() {
    // An item has a birth, a hand-over, a stretch of work and an end; a request two more.
    CPROF_RETURN_IF_ERROR(oracle_.Create(options_.log, options_.count * 8 + (1 << 18)));
    begin_ns_ = NowNs();
    if (options_.seconds > 0) {
      deadline_ns_ = begin_ns_ + static_cast<uint64_t>(options_.seconds * 1e9);
    }
    std::vector<std::thread> producers, workers;
    for (uint64_t i = 0; i < options_.workers; ++i) {
      workers.emplace_back([this, i] { RunWorker(i); });
    }
    for (uint64_t i = 0; i < options_.producers; ++i) {
      producers.emplace_back([this, i] { RunProducer(i); });
    }
    for (std::thread& thread : producers) thread.join();
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    ready_.notify_all();
    for (std::thread& thread : workers) thread.join();
    std::printf("items %llu, requests %llu, stolen %llu, wakes for several items %llu\n",
                static_cast<unsigned long long>(items_.load()),
                static_cast<unsigned long long>(requests_.load()),
                static_cast<unsigned long long>(stolen_),
                static_cast<unsigned long long>(shared_wakes_));
    return {};
  }

 private:
  using Clock = std::pair<uint64_t, uint64_t>;  // readings around one thing

  void RunProducer(uint64_t index) {
    pthread_setname_np(pthread_self(), ("truth-prod-" + std::to_string(index)).c_str());
    OracleWriter oracle(oracle_);
    std::mt19937_64 random(options_.seed * 1000 + index);
    const uint64_t watched_ns = NowNs();
    while (items_.load() < options_.count && NowNs() < deadline_ns_) {
      Request* request = BeginRequest(oracle);
      const cprof_node node = NodeOf(*request);
      const Clock entered = Around([&] { cprof_enter(node); });
      const uint64_t count = 1 + random() % kMaxItemsPerPush;
      // Its own part keeps the request open while its items are already at work.
      request->open_items = count + 1;
      // One wake for all of them, or one each.
      const bool wakes_once = random() % 2 == 0;
      for (uint64_t i = 0; i < count; ++i) {
        Push(oracle, NewItem(request, random), nullptr, random() % queues_.size(), !wakes_once);
      }
      if (wakes_once) {
        ready_.notify_one();
        if (count > 1) ++shared_wakes_;
      }
      const Clock left = Around([&] { cprof_leave(node); });
      LogWork(oracle, request->id, entered, left);
      Finish(oracle, request);
      Pace();
    }
    LogWatched(oracle, watched_ns);
  }

  void RunWorker(uint64_t index) {
    pthread_setname_np(pthread_self(), ("truth-work-" + std::to_string(index)).c_str());
    OracleWriter oracle(oracle_);
    std::mt19937_64 random(options_.seed * 1000 + 500 + index);
    const uint64_t watched_ns = NowNs();
    std::vector<Item> taken;
    while (Take(index, 1 + random() % kMaxItemsPerTake, &taken)) {
      for (const Item& item : taken) {
        if (random() % 4 == 0) Spin(random() % 2000);  // nobody's
        Handle(oracle, item, random);
      }
    }
    LogWatched(oracle, watched_ns);
  }

  // Items of the worker's own queue, else of another's.
  bool Take(uint64_t index, uint64_t max_count, std::vector<Item>* taken) {
    taken->clear();
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return stopping_ || queued_ > 0; });
    for (uint64_t i = 0; i < queues_.size() && taken->empty(); ++i) {
      std::deque<Item>& queue = queues_[(index + i) % queues_.size()];
      while (!queue.empty() && taken->size() < max_count) {
        taken->push_back(queue.front());
        queue.pop_front();
        if (i > 0) ++stolen_;
      }
    }
    queued_ -= taken->size();
    return !taken->empty();
  }

  void Handle(OracleWriter& oracle, const Item& item, std::mt19937_64& random) {
    const cprof_node node = NodeOf(item);
    const Clock entered = Around([&] { cprof_enter(node); });
    Spin(item.work_ns);
    if (item.has_child) {
      ++item.request->open_items;
      Item child = NewItem(item.request, random);
      child.has_child = false;
      Push(oracle, child, &item, random() % queues_.size(), true);
    }
    const Clock left = Around([&] { cprof_leave(node); });
    LogWork(oracle, item.request->id, entered, left);
    const Clock ended = Around([&] { cprof_end(node); });
    LogLife(oracle, Truth::kTaskEnd, item.id, item.handle, item.request->id, ended);
    task_handles_.Free(item.handle);
    Finish(oracle, item.request);
  }

  Request* BeginRequest(OracleWriter& oracle) {
    auto* request = new Request;
    request->id = oracle.NewId();
    request->handle = request_handles_.Take();
    ++requests_;
    const Clock begun = Around([&] { cprof_begin(NodeOf(*request), "request"); });
    LogLife(oracle, Truth::kRequestBegin, request->id, request->handle, 0, begun);
    return request;
  }

  // One part of the request is done; the last one ends it.
  void Finish(OracleWriter& oracle, Request* request) {
    if (request->open_items.fetch_sub(1) != 1) return;
    const Clock ended = Around([&] { cprof_end(NodeOf(*request)); });
    LogLife(oracle, Truth::kRequestEnd, request->id, request->handle, 0, ended);
    request_handles_.Free(request->handle);
    delete request;
  }

  Item NewItem(Request* request, std::mt19937_64& random) {
    Item item;
    item.request = request;
    item.work_ns = random() % (options_.work * 1000 + 1);
    item.has_child = random() % 100 < kChildPercent;
    return item;
  }

  // parent: the item that queues it; null: the request itself.
  void Push(OracleWriter& oracle, Item item, const Item* parent, uint64_t queue, bool wakes) {
    item.id = oracle.NewId();
    item.handle = task_handles_.Take();
    const cprof_node node = NodeOf(item);
    const Clock begun = Around([&] { cprof_begin(node, "item"); });
    LogLife(oracle, Truth::kTaskBegin, item.id, item.handle, item.request->id, begun);
    const cprof_node from = parent == nullptr ? NodeOf(*item.request) : NodeOf(*parent);
    const Clock told = Around([&] { cprof_edge(from, node, CPROF_EDGE_QUEUE, 0); });
    OracleRecord& record = oracle.Add();
    record.operation = item.id;
    record.owner = item.request->id;
    record.value = parent == nullptr ? 0 : parent->id;
    record.batch = item.id;
    record.before_ns = told.first;
    record.after_ns = told.second;
    record.truth = Truth::kHandOver;
    ++items_;
    {
      std::lock_guard lock(mutex_);
      queues_[queue].push_back(item);
      ++queued_;
    }
    if (wakes) ready_.notify_one();
  }

  template <typename Action>
  static Clock Around(Action action) {
    const uint64_t before_ns = NowNs();
    action();
    return {before_ns, NowNs()};
  }

  static void LogLife(OracleWriter& oracle, Truth truth, uint64_t id, uint64_t handle,
                      uint64_t owner, const Clock& clock) {
    OracleRecord& record = oracle.Add();
    record.operation = id;
    record.value = handle;
    record.owner = owner;
    record.before_ns = clock.first;
    record.after_ns = clock.second;
    record.truth = truth;
  }

  static void LogWork(OracleWriter& oracle, uint64_t owner, const Clock& entered,
                      const Clock& left) {
    OracleRecord& record = oracle.Add();
    record.owner = owner;
    record.before_ns = entered.first;
    record.inner_from_ns = entered.second;
    record.inner_to_ns = left.first;
    record.after_ns = left.second;
    record.truth = Truth::kWork;
  }

  static void LogWatched(OracleWriter& oracle, uint64_t from_ns) {
    OracleRecord& record = oracle.Add();
    record.before_ns = from_ns;
    record.after_ns = NowNs();
    record.truth = Truth::kWatched;
  }

  void Pace() const {
    if (options_.rate == 0) return;
    const uint64_t until_ns = begin_ns_ + items_.load() * 1000000000ULL / options_.rate;
    const timespec until = {static_cast<time_t>(until_ns / 1000000000ULL),
                            static_cast<long>(until_ns % 1000000000ULL)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }

  const Options options_;
  OracleFile oracle_;
  uint64_t begin_ns_ = 0, deadline_ns_ = UINT64_MAX;
  Handles request_handles_, task_handles_;
  std::atomic<uint64_t> items_{0}, requests_{0}, shared_wakes_{0};
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<std::deque<Item>> queues_;  // of each worker; all under one lock
  size_t queued_ = 0;
  uint64_t stolen_ = 0;
  bool stopping_ = false;
};

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  cprof::causality::Options options;
  cprof::causality::OptionReader reader;
  reader.Text("--log", &options.log);
  reader.Number("--count", &options.count);
  reader.Number("--producers", &options.producers);
  reader.Number("--workers", &options.workers);
  reader.Number("--rate", &options.rate);
  reader.Number("--work", &options.work);
  reader.Number("--seed", &options.seed);
  reader.Seconds("--seconds", &options.seconds);
  if (!reader.Read(argc, argv) || options.producers == 0 || options.workers == 0) {
    std::fputs(cprof::causality::kHelp, stderr);
    return 2;
  }
  const auto result = cprof::causality::Workload(options).Run();
  if (!result) {
    std::fprintf(stderr, "futex_queue_workload: error: %s\n", result.error().message.c_str());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
