// `cprof report`: tables of requests, threads or io_uring requests, under what they rest on.
#ifndef CPROF_REPORT_RENDER_REPORT_H_
#define CPROF_REPORT_RENDER_REPORT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "report/pipeline.h"
#include "report/text_output.h"

namespace cprof {

enum class ReportFormat : uint8_t { kText, kJson, kCsv };
enum class ReportBy : uint8_t { kRequest, kThread, kIoRequest };

struct ReportOptions {
  ReportBy by = ReportBy::kRequest;
  ReportFormat format = ReportFormat::kText;
  bool session_header = false;  // text: the session's facts first
  size_t cause_limit = 12;      // causes shown as text; JSON has all that are kept
  // One request instead of a table: an id, "slowest", or NAME:slowest; empty: the table.
  std::string request;
};

// Gathers; Finish writes. The strings are those of the pipeline.
class ReportRenderer : public ReportSink {
 public:
  // After the pipeline. False: a request was asked for and there is none like it (the output says
  // what there is).
  virtual bool Finish(const ReadSummary& read) = 0;
};

// A request's id: decimal, hexadecimal with 0x, or 32 hexadecimal digits.
std::optional<Key> ParseRequestId(std::string_view text);
// Whether --request takes this text.
bool IsRequestQuestion(const std::string& text);

std::unique_ptr<ReportRenderer> MakeReportRenderer(const ReportOptions& options,
                                                   const StringTable& strings, TextOutput& out);

}  // namespace cprof

#endif  // CPROF_REPORT_RENDER_REPORT_H_
