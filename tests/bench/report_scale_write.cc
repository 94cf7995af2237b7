// Writes recordings of any length for the scale benchmark: a server at work, or io_uring NOPs.
//
//   report_scale_write server|nop HALF_EDGES FILE
//
// The server: an event loop on CPU 0 hands requests to three workers through a queue; each worker
// takes a shard, reads through io_uring, sleeps until the read completes in an interrupt, and
// wakes the loop, which sends the answer. Request objects come from free lists and user_data from
// a fixed set of connections, so both are reused all the time.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "format/writer.h"

namespace cprof {
namespace {

constexpr uint32_t kTgid = 100;
constexpr uint32_t kWorkers = 3;
constexpr uint32_t kCpus = 1 + kWorkers;
constexpr size_t kChunkEvents = 16384;
// The recorder writes a mark after so many events, or so much time; see record/write_queue.cc.
constexpr size_t kMarkEvents = 1 << 17;
constexpr uint64_t kMarkNs = 500'000'000;
constexpr uint64_t kStartNs = 1'000'000'000;
constexpr uint64_t kThreadStartNs = 900'000'000;
constexpr uint32_t kConnections = 64;
constexpr uint8_t kNop = 0, kRead = 22, kSend = 26, kRecv = 27;
constexpr uint64_t kInterruptible = 1;

void Check(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "report_scale_write: %s\n", result.error().message.c_str());
  std::exit(1);
}

// Deterministic, and good enough for jitter.
class Random {
 public:
  uint64_t Below(uint64_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % bound;
  }

 private:
  uint64_t state_ = 88172645463325252ULL;
};

// One stream's chunk in the making, and its counters.
struct Lane {
  std::vector<Event> events;
  uint64_t sequence = 0;
};

class Recording {
 public:
  explicit Recording(int fd) : writer_(MakeWriter(MakeFdSink(fd, "recording"), {})) {
    SessionHeader header;
    header.session_id = {7};
    header.t0_ns = kStartNs;
    header.cpu_count = kCpus;
    header.target_tgids = {kTgid};
    header.adapters = {"sched", "io_uring", "app"};
    Check(writer_->WriteHeader(header));
    // An edge stream for each CPU, then an in-process ring for each thread.
    lanes_.resize(size_t{2} * kCpus);
    for (StreamId id = 0; id < lanes_.size(); ++id) {
      StreamInfo info;
      info.id = id;
      info.kind = id < kCpus ? StreamKind::kEdgeCpu : StreamKind::kApp;
      (id < kCpus ? info.cpu : info.slot) = id % kCpus;
      if (id >= kCpus) info.tgid = kTgid;
      Check(writer_->WriteStream(info));
    }
  }

  Writer& writer() { return *writer_; }
  uint64_t half_edges() const { return half_edges_; }

  void Add(StreamId stream, Event event) {
    Lane& lane = lanes_[stream];
    event.stream = stream;
    event.sequence = lane.sequence++;
    const Role role = FindVerb(event.verb)->role;
    if (role == Role::kHandOut || role == Role::kTakeUp) ++half_edges_;
    ++since_mark_;
    lane.events.push_back(event);
    if (lane.events.size() >= kChunkEvents) Flush(stream);
  }

  // Nothing older than now_ns follows on any stream.
  void Reach(uint64_t now_ns) {
    if (since_mark_ < kMarkEvents && now_ns < next_mark_ns_) return;
    next_mark_ns_ = now_ns + kMarkNs;
    since_mark_ = 0;
    Check(writer_->WriteMark(Counters(now_ns)));
  }

  void Finish(uint64_t now_ns) {
    Footer footer;
    footer.end_ns = now_ns;
    footer.final_counters = Counters(now_ns);
    Check(writer_->WriteMark(footer.final_counters));
    Check(writer_->WriteFooter(footer));
  }

 private:
  void Flush(StreamId stream) {
    Lane& lane = lanes_[stream];
    if (!lane.events.empty()) Check(writer_->WriteEvents(stream, lane.events));
    lane.events.clear();
  }
  RoundMark Counters(uint64_t now_ns) {
    RoundMark mark;
    mark.final_ns = now_ns;
    for (StreamId stream = 0; stream < lanes_.size(); ++stream) {
      Flush(stream);
      mark.counters.push_back({stream, lanes_[stream].sequence, 0});
    }
    return mark;
  }

  std::unique_ptr<Writer> writer_;
  std::vector<Lane> lanes_;
  uint64_t half_edges_ = 0;
  size_t since_mark_ = 0;
  uint64_t next_mark_ns_ = kStartNs + kMarkNs;
};

// A thread on the CPU of its own. Emits with the time of that CPU.
class Actor {
 public:
  Actor(Recording& recording, Random& random, uint32_t number)
      : recording_(recording), random_(random), number_(number) {}

  uint64_t now_ns = kStartNs;

  uint32_t tid() const { return kTgid + number_; }
  uint64_t start_time_ns() const { return kThreadStartNs + number_; }

  Event Make(Verb verb) {
    Event event;
    event.verb = verb;
    event.time_ns = now_ns += 50 + random_.Below(400);
    event.tid = tid();
    event.tgid = kTgid;
    event.start_time_ns = start_time_ns();
    return event;
  }
  void Kernel(const Event& event) { recording_.Add(number_, event); }

  void AppEvent(Verb verb, AppKind kind, uint64_t id, StringId domain, StringId name = 0) {
    Event event = Make(verb);
    event.key.lo = id;
    event.arg = static_cast<uint64_t>(kind);
    event.domain = domain;
    event.name = name;
    recording_.Add(kCpus + number_, event);
  }
  struct End {
    AppKind kind;
    uint64_t id;
    StringId domain;
  };
  void AppEdge(EdgeType type, End from, End to, uint64_t wanted_ns = 0) {
    Event event = Make(verbs::kAppEdge);
    event.key.lo = from.id;
    event.key2.lo = to.id;
    event.domain = from.domain;
    event.domain2 = to.domain;
    event.arg = static_cast<uint64_t>(from.kind) | static_cast<uint64_t>(to.kind) << 8 |
                static_cast<uint64_t>(type) << 16;
    event.arg2 = wanted_ns;
    recording_.Add(kCpus + number_, event);
  }

  void IoUring(Verb verb, uint64_t request, uint64_t user_data, uint64_t operation,
               bool in_interrupt = false) {
    Event event = Make(verb);
    if (in_interrupt) AsIdleInterrupt(&event);
    event.key.lo = request;
    event.key2.lo = 0x7000 + number_;
    event.arg = user_data;
    event.arg2 = operation;
    Kernel(event);
    if (verb != verbs::kIoUringSubmit || operation == kNop) return;
    event.verb = verbs::kIoUringFileGet;
    event.time_ns = now_ns += 200;
    event.arg = 9;
    event.arg2 = 0;
    Kernel(event);
  }

  // Found its completion queue empty and decided to wait for one entry.
  void AwaitCompletion(uint32_t completions) {
    Event event = Make(verbs::kIoUringCqWait);
    event.key2.lo = 0x7000 + number_;
    event.arg = 1;
    event.arg2 = completions | uint64_t{completions} << 32;
    Kernel(event);
  }

  void Wake(Actor& other, bool in_interrupt = false) {
    Event event = Make(verbs::kSchedWaking);
    if (in_interrupt) AsIdleInterrupt(&event);
    event.key.lo = other.start_time_ns();
    event.key2.lo = other.tid() | uint64_t{kTgid} << 32;
    Kernel(event);
    if (other.now_ns < now_ns) other.now_ns = now_ns;
  }
  void Sleep() {
    Event event = Make(verbs::kSchedSwitch);
    event.arg = kInterruptible;
    Kernel(event);
  }
  void Resume() {
    Event event = Make(verbs::kSchedSwitch);
    AsIdle(&event);
    event.key.lo = start_time_ns();
    event.key2.lo = tid() | uint64_t{kTgid} << 32;
    Kernel(event);
  }

 private:
  static void AsIdle(Event* event) {
    event->tid = event->tgid = 0;
    event->start_time_ns = 0;
  }
  static void AsIdleInterrupt(Event* event) {
    AsIdle(event);
    event->level = Level::kHardirq;
  }

  Recording& recording_;
  Random& random_;
  uint32_t number_;
};

// Tells of each thread what it was at arming, opens the gate.
void Arm(Recording& recording, std::vector<Actor>& actors) {
  for (Actor& actor : actors) {
    Event event = actors.front().Make(verbs::kRecorderThread);
    event.key.lo = actor.start_time_ns();
    event.key2.lo = actor.tid() | uint64_t{kTgid} << 32;
    event.arg = 0x706f6f6c;                                     // "loop"
    if (&actor != &actors.front()) event.arg = 0x72656b726f77;  // "worker"
    actors.front().Kernel(event);
  }
  Event gate = actors.front().Make(verbs::kRecorderGate);
  gate.arg = 1;
  actors.front().Kernel(gate);
  for (Actor& actor : actors) {
    actor.now_ns = gate.time_ns;
    Event ring = actor.Make(verbs::kIoUringCreate);
    ring.key2.lo = 0x7000 + actor.tid() - kTgid;
    ring.arg = 5;
    actor.Kernel(ring);
  }
  for (size_t i = 1; i < actors.size(); ++i) actors[i].Sleep();
  recording.Reach(kStartNs);
}

struct Server {
  Recording& recording;
  Random random;
  std::vector<Actor> actors;  // the loop, then the workers
  StringId domain, pool, shard;
  std::array<StringId, 2> names;
  uint64_t requests = 0;
  // By actor, as each ring keeps a free list of its own: their clocks run side by side.
  std::array<std::vector<uint64_t>, kCpus> free_objects;
  std::array<uint32_t, kCpus> reads{};             // completed, by actor
  std::array<uint64_t, kConnections> receiving{};  // the request object of each open RECV

  explicit Server(Recording& into) : recording(into) {
    for (uint32_t i = 0; i < kCpus; ++i) actors.emplace_back(recording, random, i);
    Writer& writer = recording.writer();
    domain = writer.Intern("cache");
    pool = writer.Intern("pool");
    shard = writer.Intern("shard");
    names = {writer.Intern("GET"), writer.Intern("PUT")};
    for (uint64_t i = 0; i < kCpus * uint64_t{2} * kConnections; ++i) {
      free_objects[i % kCpus].push_back(0xffff0000 + i * 256);
    }
    Arm(recording, actors);
    for (uint32_t i = 0; i < kConnections; ++i) Receive(i);
  }

  uint64_t TakeObject(size_t actor) {
    const uint64_t object = free_objects[actor].back();
    free_objects[actor].pop_back();
    return object;
  }
  void Receive(uint32_t connection) {
    receiving[connection] = TakeObject(0);
    actors[0].IoUring(verbs::kIoUringSubmit, receiving[connection], 0x5000 + connection * 64,
                      kRecv);
  }

  void Accept(uint64_t id, uint32_t connection) {
    Actor& loop = actors[0];
    loop.IoUring(verbs::kIoUringComplete, receiving[connection], 0x5000 + connection * 64, 512);
    free_objects[0].push_back(receiving[connection]);
    loop.AppEvent(verbs::kAppBegin, AppKind::kRequest, id, domain, names[random.Below(8) == 0]);
    loop.AppEvent(verbs::kAppEnter, AppKind::kRequest, id, domain);
    loop.AppEvent(verbs::kAppBegin, AppKind::kTask, id, pool);
    loop.AppEdge(EdgeType::kQueue, {AppKind::kRequest, id, domain}, {AppKind::kTask, id, pool});
    loop.AppEvent(verbs::kAppLeave, AppKind::kRequest, id, domain);
  }

  void Work(Actor& worker, uint64_t id, uint32_t connection) {
    worker.Resume();
    const Actor::End task = {AppKind::kTask, id, pool};
    const Actor::End taken = {AppKind::kResource, random.Below(16), shard};
    worker.AppEvent(verbs::kAppEnter, AppKind::kTask, id, pool);
    const bool locks = random.Below(4) == 0;
    if (locks) worker.AppEdge(EdgeType::kAcquire, taken, task, worker.now_ns);
    const uint64_t object = TakeObject(worker.tid() - kTgid);
    const uint64_t user_data = 0x9000 + connection * 64;
    worker.IoUring(verbs::kIoUringSubmit, object, user_data, kRead);
    worker.AwaitCompletion(reads[worker.tid() - kTgid]++);
    worker.Sleep();
    worker.now_ns += 5000 + random.Below(20000);
    worker.IoUring(verbs::kIoUringComplete, object, user_data, 4096, true);
    free_objects[worker.tid() - kTgid].push_back(object);
    worker.Wake(worker, true);
    worker.Resume();
    if (locks) worker.AppEdge(EdgeType::kRelease, task, taken);
    worker.AppEdge(EdgeType::kComplete, task, {AppKind::kRequest, id, domain});
    worker.AppEvent(verbs::kAppEnd, AppKind::kTask, id, pool);
    worker.AppEvent(verbs::kAppLeave, AppKind::kTask, id, pool);
  }

  void Answer(uint64_t id, uint32_t connection) {
    Actor& loop = actors[0];
    const uint64_t object = TakeObject(0);
    loop.AppEvent(verbs::kAppEnter, AppKind::kRequest, id, domain);
    loop.IoUring(verbs::kIoUringSubmit, object, 0xb000 + connection * 64, kSend);
    loop.IoUring(verbs::kIoUringComplete, object, 0xb000 + connection * 64, 1024);
    free_objects[0].push_back(object);
    loop.AppEvent(verbs::kAppEnd, AppKind::kRequest, id, domain);
    loop.AppEvent(verbs::kAppLeave, AppKind::kRequest, id, domain);
    Receive(connection);
  }

  // As many requests as there are workers, side by side.
  void Round() {
    Actor& loop = actors[0];
    const uint64_t first = requests;
    for (uint32_t i = 1; i <= kWorkers; ++i) {
      const uint64_t id = ++requests;
      Accept(id, static_cast<uint32_t>(id % kConnections));
      loop.Wake(actors[i]);
    }
    loop.Sleep();
    for (uint32_t i = 1; i <= kWorkers; ++i) {
      const uint64_t id = first + i;
      Work(actors[i], id, static_cast<uint32_t>(id % kConnections));
      if (i == kWorkers) actors[i].Wake(loop);
      actors[i].Sleep();
      loop.now_ns = std::max(loop.now_ns, actors[i].now_ns);
    }
    loop.Resume();
    for (uint32_t i = 1; i <= kWorkers; ++i) {
      Answer(first + i, static_cast<uint32_t>((first + i) % kConnections));
    }
    for (Actor& actor : actors) actor.now_ns = std::max(actor.now_ns, loop.now_ns);
    recording.Reach(loop.now_ns);
  }
};

void WriteServer(Recording& recording, uint64_t half_edges) {
  Server server(recording);
  while (recording.half_edges() < half_edges) server.Round();
  recording.Finish(server.actors[0].now_ns + 1);
}

// One thread that keeps 32 NOPs in flight.
void WriteNop(Recording& recording, uint64_t half_edges) {
  constexpr uint64_t kDepth = 32;
  Random random;
  std::vector<Actor> actors;
  actors.emplace_back(recording, random, 0);
  Arm(recording, actors);
  Actor& actor = actors.front();
  while (recording.half_edges() < half_edges) {
    for (const Verb verb : {verbs::kIoUringSubmit, verbs::kIoUringComplete}) {
      for (uint64_t i = 0; i < kDepth; ++i) {
        actor.IoUring(verb, 0xffff0000 + i * 256, 0x5000 + i * 64, kNop);
      }
    }
    recording.Reach(actor.now_ns);
  }
  recording.Finish(actor.now_ns + 1);
}

}  // namespace
}  // namespace cprof

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (argc != 4 || (what != "server" && what != "nop")) {
    std::fputs("usage: report_scale_write server|nop HALF_EDGES FILE\n", stderr);
    return 2;
  }
  const int fd = ::open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) {
    std::perror(argv[3]);
    return 1;
  }
  cprof::Recording recording(fd);
  const uint64_t half_edges = std::strtoull(argv[2], nullptr, 10);
  what == "nop" ? cprof::WriteNop(recording, half_edges)
                : cprof::WriteServer(recording, half_edges);
  std::printf("%llu half-edges\n", static_cast<unsigned long long>(recording.half_edges()));
  return ::close(fd) == 0 ? 0 : 1;
}
