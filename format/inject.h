// Puts faults into a recording on purpose: records that are lost, repeated, late or cut short.
//
// What is lost looks to a reader as real losses do: a hole in the sequence numbers, a break record
// with stream, first and last lost time, counts and signature, and the counters of marks and
// footer. The other faults are none that a recorder could know of, so nothing announces them.
#ifndef CPROF_FORMAT_INJECT_H_
#define CPROF_FORMAT_INJECT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/reader.h"
#include "format/result.h"
#include "format/writer.h"

namespace cprof {

struct InjectOptions {
  // Shares of the chosen records, from 0 to 1.
  double drop = 0;
  double duplicate = 0;  // written once more, right behind the first
  double delay = 0;      // written behind the next mark, which says that nothing older follows
  double truncate = 0;   // of the chunks: cut short after their header
  uint32_t burst = 1;    // faults come in runs of so many chosen records of a stream
  uint64_t seed = 1;
  // Which records: those of a plane, of some adapters; all where nothing is said. What the recorder
  // itself wrote is never among them: it has no ring to be lost in.
  enum class Plane : uint8_t { kBoth, kEdge, kContext };
  Plane plane = Plane::kBoth;
  std::vector<Adapter> adapters;
};

struct InjectSummary {
  uint64_t records = 0;  // that could have been chosen
  uint64_t dropped = 0;
  uint64_t duplicated = 0;
  uint64_t delayed = 0;
  uint64_t truncated = 0;  // records in chunks that were cut
  uint64_t truncated_chunks = 0;
  uint64_t breaks = 0;  // written for dropped records
};

// Told a recording, writes it to `sink` with faults. The same recording, options and seed give the
// same bytes. `strings` and `sink` outlive it.
class Injector : public RecordingVisitor {
 public:
  Injector(const StringTable& strings, const InjectOptions& options, ByteSink& sink);
  ~Injector() override;

  void OnHeader(const SessionHeader& header) override;
  void OnStream(const StreamInfo& stream) override;
  void OnEvents(StreamId stream, std::span<const Event> events) override;
  void OnSamples(StreamId stream, std::span<const StackSample> samples) override;
  void OnBreak(const Break& lost) override;
  void OnMark(const RoundMark& mark) override;
  void OnMappings(std::span<const Mapping> mappings) override;
  void OnKernelSymbols(std::span<const KernelSymbol> symbols) override;
  void OnFooter(const Footer& footer) override;

  // After the last record. The first error of the sink, or what the recording lacks.
  Result<InjectSummary> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "1%", "0.5 %" or "0.01" as a share from 0 to 1; nothing for anything else.
std::optional<double> ParseShare(const std::string& text);

}  // namespace cprof

#endif  // CPROF_FORMAT_INJECT_H_
