// Copies a recording record by record and decides of each what happens to it.
//
// Every decision is drawn from a generator of its own stream and fault, in the order of the file.
// So one fault does not move another, and what is dropped at a small rate is among what is dropped
// at a greater one.
#include "format/inject.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "format/chunk.h"

namespace cprof {
namespace {

// The recorder tells the losses of a ring once a sweep; where rings fill up it sweeps this often.
constexpr uint64_t kSweepNs = 500'000;

enum class Fault : uint64_t { kDrop = 1, kDuplicate = 2, kDelay = 3, kTruncate = 4 };

// Draws runs of `burst` records so that their share of all is the rate.
class FaultPicker {
 public:
  FaultPicker(double rate, uint32_t burst, uint64_t seed, StreamId stream, Fault fault)
      : burst_(std::max(burst, 1U)), state_(seed) {
    for (const uint64_t salt : {uint64_t{stream}, static_cast<uint64_t>(fault)}) {
      state_ = Draw() ^ (salt * 0x9e3779b97f4a7c15ULL);
    }
    // A run and the records before it: burst / (burst + (1 - start) / start) = rate.
    const double gap = burst_ * (1 - rate);
    start_ = rate <= 0 ? 0 : rate / (rate + gap);
  }

  bool Pick() {
    const uint64_t drawn = Draw();
    if (left_ > 0) {
      --left_;
      return true;
    }
    constexpr double kUnit = 1.0 / (uint64_t{1} << 53);
    if (static_cast<double>(drawn >> 11) * kUnit >= start_) return false;
    left_ = burst_ - 1;
    return true;
  }

  // Below `limit`, which is not 0.
  uint64_t Below(uint64_t limit) { return Draw() % limit; }

 private:
  uint64_t Draw() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  uint32_t burst_;
  uint32_t left_ = 0;
  uint64_t state_;
  double start_ = 0;
};

bool IsChosenPlane(InjectOptions::Plane plane, StreamKind kind) {
  if (kind == StreamKind::kRecorder) return false;
  const bool is_context = kind == StreamKind::kContextCpu;
  return plane == InjectOptions::Plane::kBoth ||
         is_context == (plane == InjectOptions::Plane::kContext);
}

// Cuts chunks of events and samples short, each of which comes in one piece: header, payload,
// padding. What is left is a multiple of 8, so that the next chunk can be found.
class TruncatingSink : public ByteSink {
 public:
  TruncatingSink(ByteSink& sink, const InjectOptions& options,
                 const std::map<StreamId, StreamKind>& kinds, InjectSummary* summary)
      : sink_(sink), options_(options), kinds_(kinds), summary_(summary) {}

  Result<void> Write(std::span<const uint8_t> bytes) override {
    return sink_.Write(options_.truncate > 0 ? Cut(bytes) : bytes);
  }

 private:
  std::span<const uint8_t> Cut(std::span<const uint8_t> bytes) {
    const auto header = DecodeChunkHeader(bytes);
    if (!header || !(header->Has(ChunkType::kEvents) || header->Has(ChunkType::kSamples))) {
      return bytes;
    }
    const auto kind = kinds_.find(header->stream);
    if (kind == kinds_.end() || !IsChosenPlane(options_.plane, kind->second)) return bytes;
    FaultPicker& picker = pickers_
                              .try_emplace(header->stream, options_.truncate, options_.burst,
                                           options_.seed, header->stream, Fault::kTruncate)
                              .first->second;
    const size_t words = (bytes.size() - kChunkHeaderSize) / kChunkAlignment;
    if (words == 0 || !picker.Pick()) return bytes;
    ++summary_->truncated_chunks;
    summary_->truncated += header->records;
    return bytes.first(kChunkHeaderSize + picker.Below(words) * kChunkAlignment);
  }

  ByteSink& sink_;
  const InjectOptions& options_;
  const std::map<StreamId, StreamKind>& kinds_;
  InjectSummary* summary_;
  std::map<StreamId, FaultPicker> pickers_;
};

const Event& EventOf(const Event& event) { return event; }
const Event& EventOf(const StackSample& sample) { return sample.event; }
Event& EventOf(Event& event) { return event; }
Event& EventOf(StackSample& sample) { return sample.event; }

}  // namespace

struct Injector::State {
  State(const StringTable& all_strings, const InjectOptions& all_options, ByteSink& sink)
      : strings(all_strings), options(all_options) {
    for (const VerbInfo& info : AllVerbs()) {
      chosen_verbs[info.verb] =
          options.adapters.empty() || std::find(options.adapters.begin(), options.adapters.end(),
                                                info.adapter) != options.adapters.end();
    }
    writer = MakeWriter(std::make_unique<TruncatingSink>(sink, options, kinds, &summary),
                        WriterOptions{});
  }

  struct Stream {
    Stream(const InjectOptions& options, StreamId id)
        : drop(options.drop, options.burst, options.seed, id, Fault::kDrop),
          duplicate(options.duplicate, options.burst, options.seed, id, Fault::kDuplicate),
          delay(options.delay, options.burst, options.seed, id, Fault::kDelay) {}

    FaultPicker drop, duplicate, delay;
    uint64_t lost = 0;  // so far, for the counters
    Break pending;      // what has been lost and is not told yet
    std::array<uint64_t, 256> pending_verbs{};
    std::vector<Event> delayed_events;
    std::vector<StackSample> delayed_samples;
  };

  void Check(const Result<void>& result) {
    if (!result && !failure) failure = result.error();
  }
  StringId Translate(StringId id);
  void Lose(Stream& stream, const Event& event);
  void TellLosses(StreamId id, Stream& stream);
  void TellAllLosses() {
    for (auto& [id, stream] : streams) TellLosses(id, stream);
  }
  void WriteDelayed();
  RoundMark Count(const RoundMark& mark) const;
  template <typename Item>
  void Take(StreamId id, std::span<const Item> items, std::vector<Item>* kept,
            std::vector<Item> Stream::*delayed);

  const StringTable& strings;
  const InjectOptions options;
  InjectSummary summary;
  std::map<StreamId, StreamKind> kinds;
  std::map<StreamId, Stream> streams;
  std::array<bool, 256> chosen_verbs{};
  std::unique_ptr<Writer> writer;
  std::vector<StringId> translated;
  std::vector<Event> events;
  std::vector<StackSample> samples;
  std::optional<Error> failure;
};

StringId Injector::State::Translate(StringId id) {
  if (id == 0) return 0;
  while (translated.size() <= id) {
    translated.push_back(writer->Intern(strings.Get(static_cast<StringId>(translated.size()))));
  }
  return translated[id];
}

void Injector::State::Lose(Stream& stream, const Event& event) {
  Break& pending = stream.pending;
  if (pending.total > 0 && event.time_ns > pending.from_ns + kSweepNs) {
    TellLosses(event.stream, stream);
  }
  if (pending.total++ == 0) {
    pending.stream = event.stream;
    pending.reason = BreakReason::kInjected;
    pending.from_ns = pending.to_ns = event.time_ns;
  }
  pending.from_ns = std::min(pending.from_ns, event.time_ns);
  pending.to_ns = std::max(pending.to_ns, event.time_ns);
  pending.signature |= SignatureBit(event.key.lo) | SignatureBit(event.key2.lo);
  ++stream.pending_verbs[event.verb];
  ++stream.lost;
  ++summary.dropped;
}

void Injector::State::TellLosses(StreamId id, Stream& stream) {
  if (stream.pending.total == 0) return;
  stream.pending.stream = id;
  for (size_t verb = 0; verb < stream.pending_verbs.size(); ++verb) {
    const uint64_t count = std::exchange(stream.pending_verbs[verb], 0);
    if (count != 0) stream.pending.lost.emplace_back(static_cast<Verb>(verb), count);
  }
  Check(writer->WriteBreak(stream.pending));
  stream.pending = Break{};
  ++summary.breaks;
}

void Injector::State::WriteDelayed() {
  for (auto& [id, stream] : streams) {
    if (!stream.delayed_events.empty()) Check(writer->WriteEvents(id, stream.delayed_events));
    if (!stream.delayed_samples.empty()) Check(writer->WriteSamples(id, stream.delayed_samples));
    stream.delayed_events.clear();
    stream.delayed_samples.clear();
  }
}

RoundMark Injector::State::Count(const RoundMark& mark) const {
  RoundMark counted = mark;
  for (RoundMark::Counter& counter : counted.counters) {
    const auto stream = streams.find(counter.stream);
    if (stream != streams.end()) counter.lost += stream->second.lost;
  }
  return counted;
}

template <typename Item>
void Injector::State::Take(StreamId id, std::span<const Item> items, std::vector<Item>* kept,
                           std::vector<Item> Stream::*delayed) {
  kept->clear();
  const auto kind = kinds.find(id);
  if (kind == kinds.end()) {
    if (!failure) {
      failure = Error{"stream " + std::to_string(id) + " is not announced", ""};
    }
    return;
  }
  const bool is_chosen = IsChosenPlane(options.plane, kind->second);
  Stream& stream = streams.try_emplace(id, options, id).first->second;
  for (const Item& original : items) {
    Item item = original;
    Event& event = EventOf(item);
    event.name = Translate(event.name);
    event.domain = Translate(event.domain);
    event.domain2 = Translate(event.domain2);
    if (!is_chosen || !chosen_verbs[event.verb]) {
      kept->push_back(std::move(item));
      continue;
    }
    ++summary.records;
    // All three are drawn, so that none moves another.
    const bool drops = stream.drop.Pick();
    const bool repeats = stream.duplicate.Pick();
    const bool delays = stream.delay.Pick();
    if (drops) {
      Lose(stream, EventOf(original));
      continue;
    }
    std::vector<Item>& place = delays ? stream.*delayed : *kept;
    summary.delayed += delays ? 1 : 0;
    summary.duplicated += repeats ? 1 : 0;
    if (repeats) place.push_back(item);
    place.push_back(std::move(item));
  }
}

Injector::Injector(const StringTable& strings, const InjectOptions& options, ByteSink& sink)
    : state_(std::make_unique<State>(strings, options, sink)) {}

Injector::~Injector() = default;

void Injector::OnHeader(const SessionHeader& header) {
  state_->Check(state_->writer->WriteHeader(header));
}

void Injector::OnStream(const StreamInfo& stream) {
  state_->kinds[stream.id] = stream.kind;
  state_->Check(state_->writer->WriteStream(stream));
}

void Injector::OnEvents(StreamId stream, std::span<const Event> events) {
  state_->Take(stream, events, &state_->events, &State::Stream::delayed_events);
  if (!state_->events.empty()) state_->Check(state_->writer->WriteEvents(stream, state_->events));
}

void Injector::OnSamples(StreamId stream, std::span<const StackSample> samples) {
  state_->Take(stream, samples, &state_->samples, &State::Stream::delayed_samples);
  if (!state_->samples.empty()) {
    state_->Check(state_->writer->WriteSamples(stream, state_->samples));
  }
}

void Injector::OnBreak(const Break& lost) { state_->Check(state_->writer->WriteBreak(lost)); }

// A break stands before the mark that makes its time final; what was delayed comes behind it.
void Injector::OnMark(const RoundMark& mark) {
  state_->TellAllLosses();
  state_->Check(state_->writer->WriteMark(state_->Count(mark)));
  state_->WriteDelayed();
}

void Injector::OnMappings(std::span<const Mapping> mappings) {
  state_->Check(state_->writer->WriteMappings(mappings));
}

void Injector::OnKernelSymbols(std::span<const KernelSymbol> symbols) {
  state_->Check(state_->writer->WriteKernelSymbols(symbols));
}

void Injector::OnFooter(const Footer& footer) {
  state_->TellAllLosses();
  state_->WriteDelayed();
  Footer counted = footer;
  counted.final_counters = state_->Count(footer.final_counters);
  state_->Check(state_->writer->WriteFooter(counted));
}

Result<InjectSummary> Injector::Finish() {
  state_->TellAllLosses();
  state_->WriteDelayed();
  if (state_->failure) return *state_->failure;
  return state_->summary;
}

std::optional<double> ParseShare(const std::string& text) {
  double share = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, share);
  if (error != std::errc() || !(share >= 0)) return std::nullopt;
  std::string_view unit(rest, static_cast<size_t>(end - rest));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit == "%") {
    share /= 100;
  } else if (!unit.empty()) {
    return std::nullopt;
  }
  if (share > 1) return std::nullopt;
  return share;
}

}  // namespace cprof
