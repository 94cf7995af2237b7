// resource_workload: requests that wait for one resource: a pool with slots, or a cache in shards.
//
// Holders wait for a clock while they hold it (a cold read), or only use the CPU (a hit); others
// queue behind them, first come, first served. In `pool` the slots are one resource, so that the
// release before an acquire need not be the one that made room; in `cache` each shard is its own.
#include <pthread.h>

#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "tests/causality/workloads/bell.h"
#include "tests/causality/workloads/truth_thread.h"
#include "tests/causality/workloads/workload_main.h"

namespace cprof::causality {
namespace {

struct Options : CommonOptions {
  uint64_t threads = 6, slots = 2, work = 20, cold = 20;
};
constexpr std::array<const char*, 2> kModes = {"pool", "cache"};
constexpr const char* kDomain = "resource";
constexpr uint64_t kColdNs = 600000;

// Whoever waits: handed a slot by the one that gives it back.
struct Waiter {
  Bell* bell = nullptr;
  bool has_slot = false;
};

struct Grant {
  uint64_t tenure = 0;         // hidden id, of this holding
  uint64_t holder_before = 0;  // request; 0: the slot was free
};

class Resource {
 public:
  // handle: as the profiler sees it.
  Resource(uint64_t handle, uint64_t slots) : handle_(handle), free_(slots) {}

  cprof_node node() const { return cprof_resource(kDomain, handle_); }

  // Blocks until there is a slot.
  Grant Acquire(TruthThread& self, const Life& request, Bell* bell, bool mark) {
    const uint64_t wanted_ns = cprof_now();
    const Bracket wanted = {wanted_ns, NowNs()};
    Waiter waiter;
    waiter.bell = bell;
    Grant grant;
    grant.tenure = self.NewId();
    {
      std::lock_guard lock(lock_);
      if (free_ > 0) {
        --free_;
        waiter.has_slot = true;
      } else {
        waiting_.push_back({&waiter, &grant});
      }
    }
    if (!waiter.has_slot) bell->Wait(self, WallState::kResource, &grant.holder_before);
    const Bracket got = Around([&] {
      if (mark) cprof_edge(node(), self.NodeOf(request), CPROF_EDGE_ACQUIRE, wanted_ns);
    });
    OracleRecord& edge = self.Edge(EdgeKind::kAcquire, self.tid(), wanted, 0, got);
    edge.owner = request.id;
    edge.value = grant.holder_before;
    edge.operation = grant.tenure;
    OracleRecord& cost =
        self.Cost(request.id, CostKind::kResourceNs, {wanted.before_ns, got.after_ns},
                  (got.before_ns + got.after_ns) / 2 - wanted_ns);
    cost.inner_from_ns = got.before_ns - wanted_ns;
    cost.inner_to_ns = got.after_ns - wanted_ns;
    return grant;
  }

  void Release(TruthThread& self, const Life& request, const Grant& grant, bool mark) {
    const Bracket given = Around([&] {
      if (mark) cprof_edge(self.NodeOf(request), node(), CPROF_EDGE_RELEASE, 0);
    });
    OracleRecord& edge = self.Edge(EdgeKind::kRelease, self.tid(), given, 0, given);
    edge.owner = request.id;
    edge.operation = grant.tenure;
    Bell* next = nullptr;
    {
      std::lock_guard lock(lock_);
      if (waiting_.empty()) {
        ++free_;
      } else {
        const auto [waiter, next_grant] = waiting_.front();
        waiting_.pop_front();
        next_grant->holder_before = request.id;
        next = waiter->bell;
      }
    }
    if (next != nullptr) next->Ring(self, grant.tenure, request.id);
  }

 private:
  const uint64_t handle_;
  SpinLock lock_;
  uint64_t free_;
  std::deque<std::pair<Waiter*, Grant*>> waiting_;
};

class Workload {
 public:
  Workload(const Options& options, bool is_cache) : options_(options), pace_(options) {
    const uint64_t count = is_cache ? options.slots : 1;
    for (uint64_t i = 0; i < count; ++i) {
      resources_.push_back(std::make_unique<Resource>(i + 1, is_cache ? 1 : options.slots));
    }
  }

  Result<void> Run() {
    CPROF_RETURN_IF_ERROR(oracle_.Create(options_.log, options_.count * 60 + (1 << 20)));
    TruthThread self(oracle_, kDomain, options_.mark);
    for (const auto& resource : resources_) {
      if (options_.mark) cprof_begin(resource->node(), "slots");
    }
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < options_.threads; ++i) {
      threads.push_back(Spawn(self, [this, i](OracleRecord* spawn) { RunThread(i, spawn); }));
    }
    for (std::thread& thread : threads) thread.join();
    return {};
  }

 private:
  void RunThread(uint64_t index, OracleRecord* spawn) {
    pthread_setname_np(pthread_self(), ("truth-user-" + std::to_string(index)).c_str());
    TruthThread self(oracle_, kDomain, options_.mark, spawn);
    std::mt19937_64 random(options_.seed * 1000 + index);
    const std::unique_ptr<Bell> bell = MakeBell(BellKind::kFutex);
    while (const auto due_ns = pace_.Next()) {
      if (*due_ns > NowNs()) self.SleepTo(*due_ns);
      const Life request = self.Start(handles_, true);
      self.Spin(random() % (options_.work * 1000 + 1));
      Resource& resource = *resources_[random() % resources_.size()];
      const Grant grant = resource.Acquire(self, request, bell.get(), options_.mark);
      self.Spin(random() % (options_.work * 1000 + 1));
      if (random() % 100 < options_.cold) self.Sleep(kColdNs / 2 + random() % kColdNs);
      resource.Release(self, request, grant, options_.mark);
      self.Spin(random() % (options_.work * 1000 + 1));
      self.Finish(request, handles_);
    }
  }

  const Options options_;
  OracleFile oracle_;
  Pace pace_;
  Handles handles_;
  std::vector<std::unique_ptr<Resource>> resources_;
};

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  using namespace cprof::causality;
  Options options;
  options.mode = kModes[0];
  OptionReader reader;
  reader.Number("--threads", &options.threads);
  reader.Number("--slots", &options.slots);
  reader.Number("--work", &options.work);
  reader.Number("--cold", &options.cold);
  return RunWorkload(
      argc, argv, "resource_workload",
      "  --mode MODE    pool or cache (pool)\n"
      "  --threads N    (6)   --slots N  of the pool, or shards (2)\n"
      "  --work N       microseconds of a stretch of work, at most (20)\n"
      "  --cold N       percent of requests that hold a slot while they sleep (20)\n",
      &reader, &options, [&options]() -> cprof::Result<void> {
        const auto mode = FindWord(kModes, options.mode);
        if (!mode || options.slots == 0) {
          return cprof::Error{"no such mode: " + options.mode, ""};
        }
        return Workload(options, *mode == 1).Run();
      });
}
