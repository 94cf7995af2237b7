// Builds events in code, for cases that are too many or too long for a fixture.
#ifndef CPROF_TESTS_ADAPTERS_EVENT_BUILDER_H_
#define CPROF_TESTS_ADAPTERS_EVENT_BUILDER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "report/join.h"
#include "tests/adapters/graph_lines.h"

namespace cprof {

// Collects a recording and runs it through the join pass. All events come from thread 41/40 on
// stream 0 unless changed through the reference that an Add function returns.
class JoinRun {
 public:
  Event& Add(Verb verb, uint64_t time_ns) {
    Event event;
    event.verb = verb;
    event.time_ns = time_ns;
    event.sequence = events_.size();
    event.tid = 41;
    event.tgid = 40;
    event.start_time_ns = 1041;
    events_.push_back(event);
    return events_.back();
  }
  void Create(uint64_t time_ns, uint64_t ring = 0x77) {
    Event& event = Add(verbs::kIoUringCreate, time_ns);
    event.key2.lo = ring;
    event.arg = 3;
  }
  Event& Submit(uint64_t time_ns, uint64_t request, uint64_t user_data, uint8_t opcode = 22,
                uint8_t sqe_flags = 0) {
    Event& event = Add(verbs::kIoUringSubmit, time_ns);
    event.key.lo = request;
    event.key2.lo = 0x77;
    event.arg = user_data;
    event.arg2 = opcode | uint64_t{sqe_flags} << 8;
    return event;
  }
  Event& Complete(uint64_t time_ns, uint64_t request, uint64_t user_data, uint32_t flags = 0) {
    Event& event = Add(verbs::kIoUringComplete, time_ns);
    event.key.lo = request;
    event.key2.lo = 0x77;
    event.arg = user_data;
    event.arg2 = uint64_t{flags} << 32;
    return event;
  }
  // keys: whose bits the signature has.
  void Lose(uint64_t from_ns, uint64_t to_ns, const std::vector<uint64_t>& keys,
            std::vector<std::pair<Verb, uint64_t>> lost, StreamId stream = 0) {
    Break record;
    record.stream = stream;
    record.from_ns = from_ns;
    record.to_ns = to_ns;
    for (const uint64_t key : keys) record.signature |= SignatureBit(key);
    for (const auto& [verb, count] : lost) record.total += count;
    record.lost = std::move(lost);
    breaks_.push_back(record);
  }

  // Runs all of it, in one batch; `graph` holds the outcome.
  void Run() {
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
    Joiner joiner(header, strings, options, graph);
    for (StreamId id = 0; id < 2; ++id) {
      StreamInfo stream;
      stream.id = id;
      stream.cpu = id;
      joiner.AddStream(stream);
    }
    Batch batch;
    batch.events = events_;
    batch.breaks = breaks_;
    batch.last = true;
    joiner.Apply(batch);
    joiner.Finish();
  }

  size_t CountOrphans(OrphanReason reason) const {
    return graph.summary.orphans_by_reason[static_cast<size_t>(reason)];
  }
  size_t CountEdges(EdgeType type, Confidence confidence) const {
    return static_cast<size_t>(std::count_if(
        graph.edges.begin(), graph.edges.end(),
        [&](const Edge& edge) { return edge.type == type && edge.confidence == confidence; }));
  }

  SessionHeader header;
  StringTable strings;
  JoinOptions options;
  GraphLines graph{strings};

 private:
  std::vector<Event> events_;
  std::vector<Break> breaks_;
};

}  // namespace cprof

#endif  // CPROF_TESTS_ADAPTERS_EVENT_BUILDER_H_
