// Runs any bytes through the whole line into every renderer at once.
#ifndef CPROF_TESTS_UNIT_EVERY_RENDERER_H_
#define CPROF_TESTS_UNIT_EVERY_RENDERER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "format/writer.h"
#include "report/render_flame.h"
#include "report/render_graph.h"
#include "report/render_report.h"
#include "report/sink_fan_out.h"

namespace cprof::testing {

// Keeps the summary, too.
class SummaryFanOut : public SinkFanOut {
 public:
  void OnSummary(const GraphSummary& told) override {
    summary = told;
    SinkFanOut::OnSummary(told);
  }

  GraphSummary summary;
};

struct EveryOutput {
  Result<ReadSummary> read = Error{"not read", ""};
  GraphSummary summary;
  std::string text;  // of all renderers, one behind the other
};

inline constexpr size_t kRendererCount = 15;

struct EveryOptions {
  size_t one = 0;            // only that one renderer, counted from 1; 0: each; beyond: none
  bool folded = false;       // flames as lines
  bool session = true;       // reports with what the session was
  ByteSink* sink = nullptr;  // for the text, in place of EveryOutput::text
};

inline EveryOutput RenderEverything(std::string bytes, const EveryOptions& options = {}) {
  EveryOutput result;
  size_t turn = 0;
  const auto chosen = [&] { return ++turn == options.one || options.one == 0; };
  const auto to_text = MakeStringSink(&result.text);
  ByteSink& sink = options.sink == nullptr ? *to_text : *options.sink;
  // Each renderer writes into its own output, so that streaming ones do not mix.
  std::vector<std::unique_ptr<TextOutput>> outs;
  const auto out = [&]() -> TextOutput& {
    outs.push_back(std::make_unique<TextOutput>(sink));
    return *outs.back();
  };
  StringTable strings;
  SummaryFanOut all;
  std::vector<std::unique_ptr<ReportRenderer>> reports;
  const auto report = [&](ReportBy by, ReportFormat format, const char* request) {
    if (!chosen()) return;
    ReportOptions report_options;
    report_options.by = by;
    report_options.format = format;
    report_options.session_header = options.session;
    report_options.request = request;
    reports.push_back(MakeReportRenderer(report_options, strings, out()));
    all.Add(reports.back().get());
  };
  report(ReportBy::kRequest, ReportFormat::kText, "");
  report(ReportBy::kThread, ReportFormat::kCsv, "");
  report(ReportBy::kIoRequest, ReportFormat::kJson, "");
  report(ReportBy::kRequest, ReportFormat::kText, "slowest");
  std::vector<std::unique_ptr<GraphRenderer>> graphs;
  if (chosen()) graphs.push_back(MakeGraphJsonRenderer(strings, out()));
  if (chosen()) graphs.push_back(MakeGraphDotRenderer(std::nullopt, strings, out()));
  if (chosen()) graphs.push_back(MakeGraphDotRenderer(Key{0, 2}, strings, out()));
  for (const auto& graph : graphs) all.Add(graph.get());
  std::vector<std::unique_ptr<FlameFolder>> flames;
  for (const FlameBy by : {FlameBy::kRequest, FlameBy::kThread, FlameBy::kIoRequest}) {
    for (const FlameWeight weight : {FlameWeight::kCpu, FlameWeight::kWall, FlameWeight::kCount}) {
      if (!IsFlameFold({by, weight}) || !chosen()) continue;
      flames.push_back(MakeFlameFolder({by, weight}, strings));
      all.Add(flames.back().get());
    }
  }

  const auto source = MakeStringSource(std::move(bytes));
  result.read = RunPipeline(*source, strings, {}, all);
  result.summary = all.summary;
  if (!result.read) return result;
  // What a renderer does not find it says in its text.
  for (const auto& renderer : reports) (void)renderer->Finish(*result.read);
  for (const auto& renderer : graphs) (void)renderer->Finish(*result.read);
  for (const auto& folder : flames) {
    WriteFlame({.folded = options.folded, .fold = {}, .svg = {}}, *folder, out());
  }
  for (const auto& each : outs) (void)each->Finish();
  return result;
}

}  // namespace cprof::testing

#endif  // CPROF_TESTS_UNIT_EVERY_RENDERER_H_
