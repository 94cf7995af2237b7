// A small recording cut at every byte, and with bits of its headers flipped, through the whole line
// into every renderer: no crash, and the accounts hold. The asan preset runs it as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "format/chunk.h"
#include "report/event_text.h"
#include "tests/unit/every_renderer.h"

namespace cprof {
namespace {

using testing::EveryOutput;
using testing::RenderEverything;

// Writes what it is told, a chunk for some events of a stream and a mark behind them, as a recorder
// does.
class Rewriter : public RecordingVisitor {
 public:
  Rewriter(const StringTable& strings, std::string* out)
      : strings_(strings), writer_(MakeWriter(MakeStringSink(out), {})) {}

  void OnHeader(const SessionHeader& header) override { Expect(writer_->WriteHeader(header)); }
  void OnStream(const StreamInfo& stream) override { Expect(writer_->WriteStream(stream)); }
  void OnEvents(StreamId, std::span<const Event> events) override {
    for (Event event : events) {
      event.name = writer_->Intern(strings_.Get(event.name));
      event.domain = writer_->Intern(strings_.Get(event.domain));
      event.domain2 = writer_->Intern(strings_.Get(event.domain2));
      waiting_[event.stream].push_back(event);
      last_ns_ = std::max(last_ns_, event.time_ns);
      if (++waiting_events_ >= kEventsOfARound) EndRound();
    }
  }
  void OnSamples(StreamId stream, std::span<const StackSample> samples) override {
    Expect(writer_->WriteSamples(stream, samples));
  }
  void OnBreak(const Break& lost) override { Expect(writer_->WriteBreak(lost)); }
  void OnMappings(std::span<const Mapping> maps) override { Expect(writer_->WriteMappings(maps)); }
  void OnKernelSymbols(std::span<const KernelSymbol> symbols) override {
    Expect(writer_->WriteKernelSymbols(symbols));
  }
  void Finish() {
    EndRound();
    Footer footer;
    footer.end_ns = last_ns_ + 1;
    Expect(writer_->WriteFooter(footer));
  }

 private:
  static constexpr size_t kEventsOfARound = 24;

  static void Expect(const Result<void>& result) { EXPECT_TRUE(result); }

  void EndRound() {
    for (auto& [stream, events] : waiting_) {
      if (!events.empty()) Expect(writer_->WriteEvents(stream, events));
      events.clear();
    }
    Expect(writer_->WriteMark({last_ns_, {}}));
    waiting_events_ = 0;
  }

  const StringTable& strings_;
  std::unique_ptr<Writer> writer_;
  std::map<StreamId, std::vector<Event>> waiting_;
  size_t waiting_events_ = 0;
  uint64_t last_ns_ = 0;
};

const std::string& Recording() {
  static const std::string* const kBytes = [] {
    const std::ifstream file(CPROF_STORY);
    std::stringstream text;
    text << file.rdbuf();
    const auto source = MakeStringSource(text.str());
    auto* bytes = new std::string;
    StringTable strings;
    Rewriter rewriter(strings, bytes);
    EXPECT_TRUE(ReadTextRecording(*source, strings, rewriter));
    rewriter.Finish();
    return bytes;
  }();
  return *kBytes;
}

std::vector<size_t> ChunkBegins(const std::string& bytes) {
  std::vector<size_t> begins;
  size_t at = kPreambleSize;
  while (at < bytes.size()) {
    const auto header =
        DecodeChunkHeader({reinterpret_cast<const uint8_t*>(bytes.data()) + at, kChunkHeaderSize});
    if (!header) break;
    begins.push_back(at);
    at += header->SizeOnDisk();
  }
  return begins;
}

// What must hold however much is missing.
void CheckAccounts(const EveryOutput& output, const EveryOutput& whole) {
  const GraphSummary& summary = output.summary;
  EXPECT_EQ(summary.half_edges, summary.joined + summary.orphans);
  EXPECT_EQ(summary.events, output.read->events + summary.samples);
  EXPECT_LE(summary.events, whole.summary.events);
  EXPECT_EQ(summary.edges,
            summary.edges_observed + summary.edges_reconstructed + summary.edges_unknown);
  // Where something was lost, that is why: an orphan that nothing explains would be a mistake.
  EXPECT_EQ(summary.orphans_by_reason[static_cast<size_t>(OrphanReason::kUnexplained)],
            whole.summary.orphans_by_reason[static_cast<size_t>(OrphanReason::kUnexplained)]);
}

TEST(PipelineDamage, TheWholeRecordingTellsItsStory) {
  const EveryOutput whole = RenderEverything(Recording());
  ASSERT_TRUE(whole.read) << whole.read.error().message;
  EXPECT_TRUE(whole.read->clean_end);
  EXPECT_GT(whole.summary.joined, 5U);
  EXPECT_NE(whole.text.find("GET hot"), std::string::npos);
  CheckAccounts(whole, whole);
}

TEST(PipelineDamage, CutAtEveryByte) {
  const std::string& bytes = Recording();
  const EveryOutput whole = RenderEverything(bytes);
  for (size_t cut = kPreambleSize; cut < bytes.size(); ++cut) {
    SCOPED_TRACE(cut);
    const EveryOutput output = RenderEverything(bytes.substr(0, cut));
    ASSERT_TRUE(output.read);
    CheckAccounts(output, whole);
    if (HasFailure()) return;
  }
}

// Every bit where the first chunk of events begins, some bit of each byte where others do.
TEST(PipelineDamage, BitsOfEveryHeaderFlipped) {
  const std::string& bytes = Recording();
  const EveryOutput whole = RenderEverything(bytes);
  const std::vector<size_t> begins = ChunkBegins(bytes);
  ASSERT_GT(begins.size(), 10U);
  bool seen_events = false;
  for (const size_t begin : begins) {
    const auto header = DecodeChunkHeader(
        {reinterpret_cast<const uint8_t*>(bytes.data()) + begin, kChunkHeaderSize});
    const bool first_events = header->Has(ChunkType::kEvents) && !seen_events;
    seen_events = seen_events || first_events;
    const size_t step = first_events ? 1 : 9;
    for (size_t bit = 0; bit < kChunkHeaderSize * 8; bit += step) {
      SCOPED_TRACE(std::to_string(begin) + " bit " + std::to_string(bit));
      std::string damaged = bytes;
      damaged[begin + bit / 8] = static_cast<char>(damaged[begin + bit / 8] ^ 1 << bit % 8);
      const EveryOutput output = RenderEverything(damaged);
      ASSERT_TRUE(output.read);
      CheckAccounts(output, whole);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace cprof
