// Puts coverage and tables together, in each format.
#include "report/table_report.h"

namespace cprof {

bool TableReport::Finish(const ReadSummary& read) {
  coverage_.SetRead(read);
  const std::vector<Table> tables = MakeTables();
  std::string& text = out_.text();
  switch (options_.format) {
    case ReportFormat::kCsv: AppendTableCsv(tables.front(), &text); break;
    case ReportFormat::kJson: {
      JsonWriter json(&text);
      json.BeginObject();
      json.Field("version", 1);
      json.Field("by", by());
      coverage_.WriteJson(&json);
      for (const Table& table : tables) WriteTableJson(table, &json);
      json.EndObject();
      text += '\n';
      break;
    }
    case ReportFormat::kText: {
      if (options_.session_header) coverage_.AppendSessionText(&text);
      coverage_.AppendText(&text);
      AppendHeadline(&text);
      if (tables.front().rows.empty()) {
        text += "#\n# ";
        text += NothingText();
        text += '\n';
      }
      for (const Table& table : tables) {
        if (table.rows.empty()) continue;
        text += "#\n";
        AppendTableText(table, &text);
      }
    }
  }
  out_.Drain();
  return true;
}

std::unique_ptr<ReportRenderer> MakeReportRenderer(const ReportOptions& options,
                                                   const StringTable& strings, TextOutput& out) {
  if (!options.request.empty()) return MakePathReport(options, strings, out);
  switch (options.by) {
    case ReportBy::kThread: return MakeThreadReport(options, strings, out);
    case ReportBy::kIoRequest: return MakeIoReport(options, strings, out);
    case ReportBy::kRequest: break;
  }
  return MakeRequestReport(options, strings, out);
}

}  // namespace cprof
