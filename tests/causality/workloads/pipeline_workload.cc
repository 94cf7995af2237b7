// pipeline_workload: each request goes through k hand-offs of mixed kinds, one after the other.
//
// Stage i waits for its own bell, whose kind goes round with i, works a little, and hands the
// request on as a new task. The last stage ends the request. A profiler that gets one hand-off
// wrong in a hundred gets one request in six wrong at k = 16.
#include <pthread.h>

#include <random>
#include <thread>
#include <vector>

#include "tests/causality/workloads/channel.h"
#include "tests/causality/workloads/workload_main.h"

namespace cprof::causality {
namespace {

struct Options : CommonOptions {
  uint64_t hops = 4, work = 20, depth = 4;
  std::string kinds = "futex,eventfd,pipe,msgring,timerfd";
};

class Workload {
 public:
  Workload(const Options& options, const std::vector<BellKind>& kinds)
      : options_(options), pace_(options), channels_(kinds) {}

  Result<void> Run() {
    CPROF_RETURN_IF_ERROR(
        oracle_.Create(options_.log, options_.count * (options_.hops + 1) * 24 + (1 << 20)));
    std::vector<std::thread> stages;
    {
      TruthThread self(oracle_, "pipeline", options_.mark);
      for (size_t i = 0; i < options_.hops; ++i) {
        stages.push_back(Spawn(self, [this, i](OracleRecord* spawn) { Stage(i, spawn); }));
      }
      std::mt19937_64 random(options_.seed * 1000);
      while (const auto due_ns = pace_.Next()) {
        if (*due_ns > NowNs()) self.SleepTo(*due_ns);
        // No more at a time than the pipeline is told to hold.
        while (open_.load() >= options_.depth) self.Sleep(50000);
        Begin(self, random);
      }
      while (open_.load() > 0) self.Sleep(100000);
      channels_.Close(self);
    }
    for (std::thread& stage : stages) stage.join();
    return {};
  }

 private:
  void Begin(TruthThread& self, std::mt19937_64& random) {
    ++open_;
    auto* request = new Life(self.Start(request_handles_, true));
    self.Spin(random() % (options_.work * 1000 + 1));
    Item* item = NewItem(self, random, request, static_cast<uint32_t>(options_.hops));
    item->told = self.HandOver(*request, item->task);
    self.Leave(*request);
    channels_.Push(self, 0, item, true);
  }

  Item* NewItem(TruthThread& self, std::mt19937_64& random, Life* request, uint32_t hops) {
    Item* item = items_.Take();
    item->task = self.BeginTask(task_handles_, request->id);
    item->work_ns = random() % (options_.work * 1000 + 1);
    item->hops = hops;
    item->context = request;
    item->queued = self.Offer(EdgeKind::kQueue, item->task.id, request->id);
    return item;
  }

  void Stage(size_t index, OracleRecord* spawn) {
    pthread_setname_np(pthread_self(), ("truth-stage-" + std::to_string(index)).c_str());
    TruthThread self(oracle_, "pipeline", options_.mark, spawn);
    std::mt19937_64 random(options_.seed * 1000 + 1 + index);
    std::vector<Item*> taken;
    while (channels_.Take(self, index, 1, false, nullptr, &taken)) {
      const Item item = *taken.front();
      items_.Free(taken.front());
      auto* request = static_cast<Life*>(item.context);
      const Bracket entered = self.Enter(item.task, true);
      self.TakeUp(item.queued, {item.taken_ns, entered.after_ns});
      self.State(request->id, WallState::kQueued, item.told, entered);
      self.Spin(item.work_ns);
      if (item.hops == 1) {
        self.FinishLast(item.task, task_handles_, *request, request_handles_);
        delete request;
        --open_;
        continue;
      }
      Item* next = NewItem(self, random, request, item.hops - 1);
      next->told = self.HandOver(item.task, next->task);
      self.Finish(item.task, task_handles_);
      channels_.Push(self, index + 1, next, true);
    }
  }

  const Options options_;
  OracleFile oracle_;
  Pace pace_;
  Handles request_handles_, task_handles_;
  ItemPool items_;
  Channels channels_;
  std::atomic<uint64_t> open_{0};
};

std::optional<std::vector<BellKind>> KindsOf(const Options& options) {
  std::vector<BellKind> all, kinds;
  for (size_t from = 0; from <= options.kinds.size();) {
    const size_t to = std::min(options.kinds.find(',', from), options.kinds.size());
    const auto kind = FindWord(kBellKinds, options.kinds.substr(from, to - from));
    if (!kind) return std::nullopt;
    all.push_back(static_cast<BellKind>(*kind));
    from = to + 1;
  }
  for (uint64_t i = 0; i < options.hops; ++i) kinds.push_back(all[i % all.size()]);
  return kinds;
}

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  using namespace cprof::causality;
  Options options;
  OptionReader reader;
  reader.Number("--hops", &options.hops);
  reader.Number("--work", &options.work);
  reader.Number("--depth", &options.depth);
  reader.Text("--kinds", &options.kinds);
  return RunWorkload(argc, argv, "pipeline_workload",
                     "  --hops N       hand-offs of each request, 1 to 64 (4)\n"
                     "  --kinds LIST   of futex,eventfd,pipe,msgring,timerfd, in turn (all)\n"
                     "  --depth N      requests in the pipeline, at most (4)\n"
                     "  --work N       microseconds of a stage, at most (20)\n",
                     &reader, &options, [&options]() -> cprof::Result<void> {
                       const auto kinds = KindsOf(options);
                       if (!kinds || options.hops < 1 || options.hops > 64) {
                         return cprof::Error{"no such hand-offs", ""};
                       }
                       return Workload(options, *kinds).Run();
                     });
}
