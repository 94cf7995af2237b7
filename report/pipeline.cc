// The pass line: what the reader tells goes to the order pass, each mark moves one batch on through
// join and attribute to the sink. Memory follows what is alive between two marks.
//
// Where there are two threads, they meet behind the join pass: what is before it and what is behind
// it take about the same time, and share nothing.
#include "report/pipeline.h"

#include <pthread.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "report/event_text.h"
#include "report/order.h"
#include "report/sink_queue.h"

namespace cprof {
namespace {

class PassLine : public RecordingVisitor {
 public:
  // `graph` is told what the join pass finds, `facts` the rest.
  PassLine(const StringTable& strings, const PipelineOptions& options, GraphSink& graph,
           ReportSink& facts)
      : strings_(strings), options_(options), graph_(graph), sink_(facts) {}

  void OnHeader(const SessionHeader& header) override {
    sink_.OnHeader(header);
    joiner_.emplace(header, strings_, options_.join, graph_);
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
  GraphSink& graph_;
  ReportSink& sink_;
  Orderer orderer_;
  std::optional<Joiner> joiner_;  // made when the header has come, which is always first
  Batch batch_;
};

// The line up to the join pass, for a thread of its own.
struct Front {
  ByteSource& source;
  StringTable& strings;
  PassLine& line;
  Result<ReadSummary> summary = Error{"not read", ""};

  void Run() {
    summary = ReadAnyRecording(source, strings, line);
    if (summary) line.Finish(&*summary);
  }
};

struct QueuedFront {
  Front& front;
  SinkQueue& queue;

  static void* Run(void* self) {
    auto& queued = *static_cast<QueuedFront*>(self);
    queued.front.Run();
    queued.queue.Close();
    return nullptr;
  }
};

}  // namespace

Result<ReadSummary> RunPipeline(ByteSource& source, StringTable& strings,
                                const PipelineOptions& options, ReportSink& sink) {
  const std::unique_ptr<GraphSink> attribute = MakeAttributePass(sink);
  if (options.two_threads) {
    StringTable own_strings;
    for (StringId id = 1; id < strings.size(); ++id) own_strings.Intern(strings.Get(id));
    SinkQueue queue(own_strings);
    PassLine line(own_strings, options, queue, queue);
    Front front{source, own_strings, line};
    QueuedFront queued{front, queue};
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, &QueuedFront::Run, &queued) == 0) {
      queue.Deliver(strings, *attribute, sink);
      pthread_join(thread, nullptr);
      return std::move(front.summary);
    }
  }
  PassLine line(strings, options, *attribute, sink);
  Front front{source, strings, line};
  front.Run();
  return std::move(front.summary);
}

}  // namespace cprof
