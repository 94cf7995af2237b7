// Bytes an event, and events a second through writer, reader and the order pass, on made-up but
// realistic recordings: an io_uring NOP loop, and two threads that wake each other across CPUs.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "format/reader.h"
#include "format/writer.h"
#include "report/order.h"

namespace cprof {
namespace {

constexpr size_t kEvents = 4'000'000;
constexpr size_t kSweepEvents = 100'000;  // between two marks

struct Workload {
  std::string name;
  std::vector<std::vector<Event>> streams;
};

// Times that scatter as measured ones do: a normal core, and now and then an interrupt.
class Clock {
 public:
  explicit Clock(uint64_t seed) : random_(seed) {}
  uint64_t Step(double mean_ns, double spread) {
    double step = mean_ns * std::exp(spread * normal_(random_));
    if (random_() % 3000 == 0) step += static_cast<double>(2000 + random_() % 8000);
    return now_ns_ += static_cast<uint64_t>(step);
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  uint64_t now_ns_ = 4414907900032;
};

Event Base(uint64_t time_ns, size_t sequence, StreamId stream, Verb verb, uint32_t tid) {
  Event event;
  event.time_ns = time_ns;
  event.sequence = sequence;
  event.stream = stream;
  event.verb = verb;
  event.tid = tid;
  event.tgid = tid == 0 ? 0 : 4100;
  event.start_time_ns = tid == 0 ? 0 : 4000000000000 + uint64_t{tid} * 7919;
  return event;
}

Workload NopLoop(bool counting) {
  Workload workload{
      counting ? "io_uring nop, user_data counts" : "io_uring nop, user_data constant", {{}}};
  Clock clock(1);
  std::mt19937_64 random(2);
  uint64_t requests[4];
  for (uint64_t& request : requests) request = random();
  const uint64_t ring = random();
  for (size_t i = 0; i < kEvents; ++i) {
    const bool submit = i % 2 == 0;
    const uint64_t time_ns = clock.Step(submit ? 165 : 110, 0.12);
    Event event =
        Base(time_ns, i, 0, submit ? verbs::kIoUringSubmit : verbs::kIoUringComplete, 4101);
    event.key.lo = requests[i / 2 % 4];
    event.key2.lo = ring;
    event.arg = counting ? i / 2 : 42;
    workload.streams[0].push_back(event);
  }
  return workload;
}

Workload PingPong() {
  Workload workload{"sched waking + switch, two CPUs", {{}, {}}};
  Clock clock(3);
  std::mt19937_64 random(4);
  const auto other = [](Event& event, uint32_t tid) {
    const Event thread = Base(0, 0, 0, 0, tid);
    event.key.lo = thread.start_time_ns;
    event.key2.lo = uint64_t{thread.tid} | uint64_t{thread.tgid} << 32;
  };
  while (workload.streams[0].size() + workload.streams[1].size() < kEvents) {
    for (StreamId cpu = 0; cpu < 2; ++cpu) {
      auto& mine = workload.streams[cpu];
      auto& theirs = workload.streams[1 - cpu];
      const uint32_t self = 4101 + cpu, peer = 4102 - cpu;
      Event waking = Base(clock.Step(1100, 0.2), mine.size(), cpu, verbs::kSchedWaking, self);
      other(waking, peer);
      mine.push_back(waking);
      Event out = Base(clock.Step(900, 0.2), mine.size(), cpu, verbs::kSchedSwitch, self);
      other(out, 0);
      out.arg = 1;
      mine.push_back(out);
      Event in = Base(clock.Step(1500, 0.3), theirs.size(), 1 - cpu, verbs::kSchedSwitch, 0);
      other(in, peer);
      theirs.push_back(in);
    }
  }
  return workload;
}

class CountingSink : public ByteSink {
 public:
  explicit CountingSink(std::string* out) : out_(out) {}
  Result<void> Write(std::span<const uint8_t> bytes) override {
    out_->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }

 private:
  std::string* out_;
};

// What the first part of the pass line does.
class OrderVisitor : public RecordingVisitor {
 public:
  void OnEvents(StreamId stream, std::span<const Event> events) override {
    orderer_.AddEvents(stream, events);
  }
  void OnMark(const RoundMark& mark) override {
    orderer_.Mark(mark, &batch_);
    ordered += batch_.events.size();
  }
  uint64_t ordered = 0;

 private:
  Orderer orderer_;
  Batch batch_;
};

uint64_t CpuTimeNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Of CPU time, and the best of three, since the machine has other things to do.
template <typename Run>
double MillionsPerSecond(size_t events, Run run) {
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    const uint64_t start_ns = CpuTimeNs();
    run();
    const auto time_ns = static_cast<double>(CpuTimeNs() - start_ns);
    best = std::max(best, static_cast<double>(events) * 1e3 / time_ns);
  }
  return best;
}

void Write(const Workload& workload, std::string* bytes) {
  bytes->clear();
  const auto writer = MakeWriter(std::make_unique<CountingSink>(bytes), {});
  (void)writer->WriteHeader({});
  const size_t streams = workload.streams.size();
  for (StreamId id = 0; id < streams; ++id) {
    (void)writer->WriteStream({id, StreamKind::kEdgeCpu, id, 0, 0});
  }
  std::vector<size_t> at(streams);
  for (uint64_t final_ns = 0; final_ns != ~uint64_t{0};) {
    final_ns = ~uint64_t{0};
    for (StreamId id = 0; id < streams; ++id) {
      const std::span<const Event> all = workload.streams[id];
      const size_t count = std::min(kSweepEvents, all.size() - at[id]);
      (void)writer->WriteEvents(id, all.subspan(at[id], count));
      at[id] += count;
      if (at[id] < all.size()) final_ns = std::min(final_ns, all[at[id]].time_ns);
    }
    (void)writer->WriteMark({final_ns, {}});
  }
  (void)writer->WriteFooter({});
}

void Measure(const Workload& workload) {
  size_t events = 0;
  for (const auto& stream : workload.streams) events += stream.size();
  std::string bytes;
  const double encode = MillionsPerSecond(events, [&] { Write(workload, &bytes); });
  const double decode = MillionsPerSecond(events, [&] {
    StringTable strings;
    RecordingVisitor nobody;
    const auto source = MakeStringSource(bytes);
    (void)ReadRecording(*source, strings, nobody);
  });
  uint64_t ordered = 0;
  const double order = MillionsPerSecond(events, [&] {
    StringTable strings;
    OrderVisitor visitor;
    const auto source = MakeStringSource(bytes);
    (void)ReadRecording(*source, strings, visitor);
    ordered = visitor.ordered;
  });
  std::printf(
      "%-34s %6.3f bytes an event, encode %5.1f M/s, decode %5.1f M/s, "
      "decode + order %5.1f M/s%s\n",
      workload.name.c_str(), static_cast<double>(bytes.size()) / static_cast<double>(events),
      encode, decode, order, ordered == events ? "" : " (events are missing)");
}

}  // namespace
}  // namespace cprof

int main() {
  cprof::Measure(cprof::NopLoop(true));
  cprof::Measure(cprof::NopLoop(false));
  cprof::Measure(cprof::PingPong());
}
