// The pass line: what the reader tells goes to the order pass, each mark moves one batch on through
// join and attribute to the sink. Memory follows what is alive between two marks.
#include "report/pipeline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "report/event_text.h"
#include "report/order.h"

namespace cprof {
namespace {

class PassLine : public RecordingVisitor {
 public:
  PassLine(const StringTable& strings, const PipelineOptions& options, ReportSink& sink)
      : strings_(strings), options_(options), sink_(sink), attribute_(MakeAttributePass(sink)) {}

  void OnHeader(const SessionHeader& header) override {
    sink_.OnHeader(header);
    joiner_.emplace(header, strings_, options_.join, *attribute_);
  }
  void OnStream(const StreamInfo& stream) override {
    sink_.OnStream(stream);
    orderer_.AddStream(stream);
    joiner_->AddStream(stream);
  }
  void OnEvents(StreamId stream, std::span<const Event> events) override {
    orderer_.AddEvents(stream, events);
  }
  void OnSamples(StreamId stream, std::span<const StackSample> samples) override {
    orderer_.AddSamples(stream, samples);
  }
  void OnBreak(const Break& lost) override { orderer_.AddBreak(lost); }
  void OnMark(const RoundMark& mark) override {
    orderer_.Mark(mark, &batch_);
    joiner_->Apply(batch_);
  }
  void OnMappings(std::span<const Mapping> mappings) override { sink_.OnMappings(mappings); }
  void OnKernelSymbols(std::span<const KernelSymbol> symbols) override {
    sink_.OnKernelSymbols(symbols);
  }
  void OnFooter(const Footer& footer) override { sink_.OnFooter(footer); }

  void Finish(ReadSummary* summary) {
    orderer_.Finish(&batch_);
    joiner_->Apply(batch_);
    joiner_->Finish();
    for (LossEntry& entry : orderer_.Losses()) summary->losses.push_back(std::move(entry));
    std::sort(summary->losses.begin(), summary->losses.end(),
              [](const LossEntry& a, const LossEntry& b) { return a.name < b.name; });
  }

 private:
  const StringTable& strings_;
  const PipelineOptions& options_;
  ReportSink& sink_;
  std::unique_ptr<GraphSink> attribute_;
  Orderer orderer_;
  std::optional<Joiner> joiner_;  // made when the header has come, which is always first
  Batch batch_;
};

}  // namespace

Result<ReadSummary> RunPipeline(ByteSource& source, StringTable& strings,
                                const PipelineOptions& options, ReportSink& sink) {
  PassLine line(strings, options, sink);
  Result<ReadSummary> summary = ReadAnyRecording(source, strings, line);
  if (summary) line.Finish(&*summary);
  return summary;
}

}  // namespace cprof
