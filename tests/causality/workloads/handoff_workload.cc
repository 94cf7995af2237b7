// handoff_workload: requests whose items go from one thread to another, by a futex, an eventfd and
// epoll, a pipe, a timer, or a message between io_urings.
//
// Everything that makes the waker's owner the wrong owner is a switch (--faults): `once`, one wake
// for several items; `steal`, a thread takes items that another one was woken for; `order`, items
// are taken out of order; `cancel`, items are taken back; `lazy`, receivers are created by whoever
// first needs them; `coincide`, all senders begin at the same instants.
#include <pthread.h>

#include <random>
#include <thread>
#include <vector>

#include "tests/causality/workloads/channel.h"
#include "tests/causality/workloads/workload_main.h"

namespace cprof::causality {
namespace {

struct Options : CommonOptions {
  uint64_t senders = 2, receivers = 3, work = 30;
  std::string faults = "once,steal,order,cancel,lazy,coincide";
};

constexpr uint64_t kMaxItems = 6;  // of a request
constexpr uint64_t kMaxTaken = 4;  // at a time
constexpr uint64_t kInstantNs = 1000000;

// A request that is under way: it ends with the last of its items and its sender's own part.
struct Request {
  Life life;
  std::atomic<uint64_t> parts{0};
};

class Workload {
 public:
  Workload(const Options& options, BellKind kind)
      : options_(options),
        pace_(options),
        channels_(std::vector<BellKind>(options.receivers, kind)),
        started_(options.receivers) {
    const auto has = [&options](const char* fault) {
      return ("," + options.faults + ",").find(std::string(",") + fault + ",") != std::string::npos;
    };
    once_ = has("once"), steal_ = has("steal"), order_ = has("order");
    cancel_ = has("cancel"), lazy_ = has("lazy"), coincide_ = has("coincide");
  }

  Result<void> Run() {
    CPROF_RETURN_IF_ERROR(oracle_.Create(options_.log, options_.count * 80 + (1 << 20)));
    TruthThread self(oracle_, "handoff", options_.mark);
    if (!lazy_) {
      for (size_t i = 0; i < options_.receivers; ++i) NeedReceiver(self, i);
    }
    std::vector<std::thread> senders;
    for (uint64_t i = 0; i < options_.senders; ++i) {
      senders.push_back(Spawn(self, [this, i](OracleRecord* spawn) { Send(i, spawn); }));
    }
    for (std::thread& sender : senders) sender.join();
    channels_.Close(self);
    for (std::thread& receiver : receivers_) receiver.join();
    return {};
  }

 private:
  void NeedReceiver(TruthThread& self, size_t index) {
    if (started_[index].exchange(true)) return;
    std::thread receiver =
        Spawn(self, [this, index](OracleRecord* spawn) { Receive(index, spawn); });
    std::lock_guard lock(receivers_lock_);
    receivers_.push_back(std::move(receiver));
  }

  void Send(uint64_t index, OracleRecord* spawn) {
    pthread_setname_np(pthread_self(), ("truth-send-" + std::to_string(index)).c_str());
    TruthThread self(oracle_, "handoff", options_.mark, spawn);
    std::mt19937_64 random(options_.seed * 1000 + index);
    while (const auto due_ns = pace_.Next()) {
      if (coincide_ && random() % 4 == 0) {
        self.SleepTo((NowNs() / kInstantNs + 1) * kInstantNs);
      } else if (*due_ns > NowNs()) {
        self.SleepTo(*due_ns);
      }
      if (random() % 2 == 0) {
        SendOne(self, random);
      } else {
        SendMany(self, random);
      }
    }
  }

  Item* NewItem(TruthThread& self, std::mt19937_64& random, Request* request) {
    Item* item = items_.Take();
    item->task = self.BeginTask(task_handles_, request->life.id);
    item->work_ns = random() % (options_.work * 1000 + 1);
    item->context = request;
    item->queued = self.Offer(EdgeKind::kQueue, item->task.id, request->life.id);
    return item;
  }

  // One item that takes the request along: the sender is done with it before it is handed over.
  void SendOne(TruthThread& self, std::mt19937_64& random) {
    auto* request = new Request;
    request->life = self.Start(request_handles_, true);
    request->parts = 1;
    self.Spin(random() % (options_.work * 1000 + 1));
    const size_t to = random() % channels_.count();
    NeedReceiver(self, to);
    Item* item = NewItem(self, random, request);
    item->with_state = true;
    item->told = self.HandOver(request->life, item->task);
    self.Leave(request->life);
    channels_.Push(self, to, item, true);
  }

  // Several items, while the sender still works for the request.
  void SendMany(TruthThread& self, std::mt19937_64& random) {
    auto* request = new Request;
    request->life = self.Start(request_handles_, false);
    const uint64_t count = 1 + random() % kMaxItems;
    request->parts = count + 1;
    const bool rings_once = once_ && random() % 2 == 0;
    const size_t to = random() % channels_.count();
    for (uint64_t i = 0; i < count; ++i) {
      const size_t place = rings_once ? to : random() % channels_.count();
      NeedReceiver(self, place);
      Item* item = NewItem(self, random, request);
      self.HandOver(request->life, item->task);
      channels_.Push(self, place, item, !rings_once);
      if (!cancel_ || random() % 8 != 0) continue;
      // Asked for by its address, which by now may be another item's: whichever it is, it is ours.
      const Life task = item->task;
      if (!channels_.Cancel(place, item)) continue;
      CPROF_CHECK(item->task.id == task.id || item->context != request);
      Drop(self, item);
    }
    if (rings_once) channels_.Ring(self, to);
    self.Spin(random() % 5000);
    Part(self, request, nullptr);
  }

  void Drop(TruthThread& self, Item* item) {
    auto* request = static_cast<Request*>(item->context);
    self.End(item->task, task_handles_);
    items_.Free(item);
    request->parts.fetch_sub(1);
  }

  // The thread that works for the request, or for its task, is done.
  void Part(TruthThread& self, Request* request, const Life* task) {
    const bool is_last = request->parts.fetch_sub(1) == 1;
    if (task == nullptr && is_last) {
      self.Finish(request->life, request_handles_);
    } else if (task == nullptr) {
      self.Leave(request->life);
    } else if (is_last) {
      self.FinishLast(*task, task_handles_, request->life, request_handles_);
    } else {
      self.Finish(*task, task_handles_);
    }
    if (is_last) delete request;
  }

  void Receive(size_t index, OracleRecord* spawn) {
    pthread_setname_np(pthread_self(), ("truth-recv-" + std::to_string(index)).c_str());
    TruthThread self(oracle_, "handoff", options_.mark, spawn);
    std::mt19937_64 random(options_.seed * 1000 + 500 + index);
    std::vector<Item*> taken;
    while (channels_.Take(self, index, 1 + random() % kMaxTaken, steal_, order_ ? &random : nullptr,
                          &taken)) {
      for (Item* item : taken) {
        if (random() % 4 == 0) self.Spin(random() % 2000);  // nobody's
        Handle(self, item);
      }
    }
  }

  void Handle(TruthThread& self, Item* item) {
    const Item own = *item;
    items_.Free(item);
    const Bracket entered = self.Enter(own.task, own.with_state);
    self.TakeUp(own.queued, {own.taken_ns, entered.after_ns});
    if (own.with_state) self.State(own.task.owner, WallState::kQueued, own.told, entered);
    self.Spin(own.work_ns);
    Part(self, static_cast<Request*>(own.context), &own.task);
  }

  const Options options_;
  OracleFile oracle_;
  Pace pace_;
  Handles request_handles_, task_handles_;
  ItemPool items_;
  Channels channels_;
  std::vector<std::atomic<bool>> started_;
  SpinLock receivers_lock_;
  std::vector<std::thread> receivers_;
  bool once_, steal_, order_, cancel_, lazy_, coincide_;
};

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  using namespace cprof::causality;
  Options options;
  options.mode = kBellKinds[0];
  OptionReader reader;
  reader.Number("--senders", &options.senders);
  reader.Number("--receivers", &options.receivers);
  reader.Number("--work", &options.work);
  reader.Text("--faults", &options.faults);
  return RunWorkload(argc, argv, "handoff_workload",
                     "  --mode MODE    futex, eventfd, pipe, timerfd or msgring (futex)\n"
                     "  --senders N    (2)   --receivers N  (3)\n"
                     "  --work N       microseconds of an item, at most (30)\n"
                     "  --faults LIST  of once,steal,order,cancel,lazy,coincide (all)\n",
                     &reader, &options, [&options]() -> cprof::Result<void> {
                       const auto kind = FindWord(kBellKinds, options.mode);
                       if (!kind) return cprof::Error{"no such mode: " + options.mode, ""};
                       return Workload(options, static_cast<BellKind>(*kind)).Run();
                     });
}
