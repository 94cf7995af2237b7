// Recordings for tests: a small one with every kind of record, and a visitor that keeps all it
// sees.
#ifndef CPROF_TESTS_UNIT_RECORDING_SAMPLES_H_
#define CPROF_TESTS_UNIT_RECORDING_SAMPLES_H_

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "format/reader.h"
#include "format/writer.h"

namespace cprof::testing {

// Keeps everything, with text instead of ids.
class Collector : public RecordingVisitor {
 public:
  void OnHeader(const SessionHeader& header) override { headers.push_back(header); }
  void OnStream(const StreamInfo& stream) override { streams.push_back(stream); }
  void OnEvents(StreamId, std::span<const Event> more) override {
    events.insert(events.end(), more.begin(), more.end());
  }
  void OnSamples(StreamId, std::span<const StackSample> more) override {
    samples.insert(samples.end(), more.begin(), more.end());
  }
  void OnBreak(const Break& lost) override { breaks.push_back(lost); }
  void OnMark(const RoundMark& mark) override { marks.push_back(mark); }
  void OnMappings(std::span<const Mapping> more) override {
    mappings.insert(mappings.end(), more.begin(), more.end());
  }
  void OnKernelSymbols(std::span<const KernelSymbol> more) override {
    symbols.insert(symbols.end(), more.begin(), more.end());
  }
  void OnFooter(const Footer& footer) override { footers.push_back(footer); }

  std::vector<SessionHeader> headers;
  std::vector<StreamInfo> streams;
  std::vector<Event> events;
  std::vector<StackSample> samples;
  std::vector<Break> breaks;
  std::vector<RoundMark> marks;
  std::vector<Mapping> mappings;
  std::vector<KernelSymbol> symbols;
  std::vector<Footer> footers;
};

inline SessionHeader MakeSession(uint8_t seed) {
  SessionHeader header;
  for (size_t i = 0; i < header.session_id.size(); ++i) {
    header.session_id[i] = static_cast<uint8_t>(seed + i);
  }
  header.t0_ns = 1000;
  header.wall_t0_ns = 1700000000000000000;
  header.cpu_count = 2;
  header.target_tgids = {41, 42};
  header.adapters = {"sched", "io_uring"};
  header.attributes = {{"hostname", "box"}, {"kernel", "6.1"}};
  return header;
}

inline Event MakeEvent(StreamId stream, uint64_t sequence, uint64_t time_ns, Verb verb) {
  Event event;
  event.stream = stream;
  event.sequence = sequence;
  event.time_ns = time_ns;
  event.verb = verb;
  event.tid = 41;
  event.tgid = 40;
  event.start_time_ns = 9000;
  return event;
}

// Any field of any event may have any value: what decodes must be what was encoded.
inline std::vector<Event> RandomEvents(std::mt19937_64& random, StreamId stream, size_t count,
                                       Writer* writer) {
  std::vector<Event> events;
  const auto verbs = AllVerbs();
  const auto number = [&]() -> uint64_t {
    switch (random() % 5) {
      case 0: return 0;
      case 1: return random() % 16;
      case 2: return random() % 100000;
      case 3: return random();
      default: return 0x1234567890abcdefULL * (random() % 4);
    }
  };
  uint64_t time_ns = 5000;
  const size_t verb_limit = 1 + random() % verbs.size();
  for (size_t i = 0; i < count; ++i) {
    time_ns += random() % 300;
    Event event =
        MakeEvent(stream, i * (1 + random() % 2), time_ns, verbs[random() % verb_limit].verb);
    if (random() % 50 == 0) event.time_ns -= 200;
    if (random() % 3 == 0) event.tid = static_cast<uint32_t>(number());
    event.level = static_cast<Level>(random() % 5);
    event.flags = static_cast<uint16_t>(random() % 3);
    event.key = {random() % 4 == 0 ? number() : 0, number()};
    event.key2 = {random() % 4 == 0 ? number() : 0, number()};
    event.arg = number();
    event.arg2 = number();
    if (writer != nullptr && random() % 4 == 0) {
      event.name = writer->Intern("name " + std::to_string(random() % 40));
      event.domain = writer->Intern("domain");
    }
    events.push_back(event);
  }
  return events;
}

struct ReadBack {
  Result<ReadSummary> summary = Error{"not read", ""};
  StringTable strings;
  Collector all;
};

inline std::unique_ptr<ReadBack> ReadBytes(std::string bytes) {
  auto result = std::make_unique<ReadBack>();
  const auto source = MakeStringSource(std::move(bytes));
  result->summary = ReadRecording(*source, result->strings, result->all);
  return result;
}

// The ledger entry of that name, or zeros.
inline LossEntry LossOf(const ReadSummary& summary, std::string_view name) {
  for (const LossEntry& entry : summary.losses) {
    if (entry.name == name) return entry;
  }
  return {};
}

}  // namespace cprof::testing

#endif  // CPROF_TESTS_UNIT_RECORDING_SAMPLES_H_
