// How many events a second the join pass takes, on streams made up in memory.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "report/join.h"

namespace cprof {
namespace {

constexpr size_t kBatchEvents = 65536;

class CountingSink : public GraphSink {
 public:
  void OnEdge(const Edge&) override { ++edges; }
  void OnNode(const Node&) override { ++nodes; }
  void OnSummary(const GraphSummary& told) override { summary = told; }
  uint64_t edges = 0;
  uint64_t nodes = 0;
  GraphSummary summary;
};

struct Clock {
  uint64_t now_ns = 1'000'000;
  uint64_t sequence = 0;
};

Event At(Clock* clock, Verb verb, uint32_t tid) {
  Event event;
  event.time_ns = clock->now_ns += 100;
  event.sequence = clock->sequence++;
  event.start_time_ns = 1000 + tid;
  event.tid = tid;
  event.tgid = 40;
  event.verb = verb;
  return event;
}

// One thread keeps `depth` requests in flight; objects are reused last in, first out.
void FillIoUring(Clock* clock, uint64_t depth, std::vector<Event>* events) {
  while (events->size() + 2 * depth <= kBatchEvents) {
    for (uint64_t i = 0; i < depth; ++i) {
      Event event = At(clock, verbs::kIoUringSubmit, 41);
      event.key.lo = 0x1000 + i;
      event.key2.lo = 0x77;
      event.arg = 0x5000 + i * 64;
      event.arg2 = 22;
      events->push_back(event);
    }
    for (uint64_t i = depth; i-- > 0;) {
      Event event = At(clock, verbs::kIoUringComplete, 41);
      event.key.lo = 0x1000 + i;
      event.key2.lo = 0x77;
      event.arg = 0x5000 + i * 64;
      event.arg2 = 4096;
      events->push_back(event);
    }
  }
}

// Two threads that wake each other in turn on one CPU.
void FillSched(Clock* clock, std::vector<Event>* events) {
  uint32_t running = 41;
  while (events->size() + 2 <= kBatchEvents) {
    const uint32_t other = running == 41 ? 42 : 41;
    Event waking = At(clock, verbs::kSchedWaking, running);
    waking.key.lo = 1000 + other;
    waking.key2.lo = other | uint64_t{40} << 32;
    events->push_back(waking);
    Event change = At(clock, verbs::kSchedSwitch, running);
    change.key.lo = 1000 + other;
    change.key2.lo = other | uint64_t{40} << 32;
    change.arg = 1;
    events->push_back(change);
    running = other;
  }
}

template <typename Fill>
void Measure(const char* name, uint64_t wanted_events, Fill fill) {
  SessionHeader header;
  StringTable strings;
  CountingSink sink;
  Joiner joiner(header, strings, {}, sink);
  joiner.AddStream({});
  Clock clock;
  Batch batch;
  uint64_t events = 0;
  double seconds = 0;
  while (events < wanted_events) {
    batch.events.clear();
    fill(&clock, &batch.events);
    batch.final_ns = clock.now_ns;
    events += batch.events.size();
    const auto begin = std::chrono::steady_clock::now();
    joiner.Apply(batch);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  joiner.Finish();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-22s %6.2f M events/s  (%llu events, %llu edges, %llu orphans, %ld KiB)\n", name,
              static_cast<double>(events) / seconds / 1e6, static_cast<unsigned long long>(events),
              static_cast<unsigned long long>(sink.summary.edges),
              static_cast<unsigned long long>(sink.summary.orphans), usage.ru_maxrss);
}

}  // namespace
}  // namespace cprof

int main(int argc, char** argv) {
  const uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4'000'000;
  using cprof::Clock;
  using Events = std::vector<cprof::Event>;
  cprof::Measure("io_uring, depth 1", events,
                 [](Clock* clock, Events* out) { cprof::FillIoUring(clock, 1, out); });
  cprof::Measure("io_uring, depth 128", events,
                 [](Clock* clock, Events* out) { cprof::FillIoUring(clock, 128, out); });
  cprof::Measure("io_uring, depth 4096", events,
                 [](Clock* clock, Events* out) { cprof::FillIoUring(clock, 4096, out); });
  cprof::Measure("sched, ping-pong", events,
                 [](Clock* clock, Events* out) { cprof::FillSched(clock, out); });
  return 0;
}
