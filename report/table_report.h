// The frame of every table report: coverage above, tables below, in text, CSV or JSON.
#ifndef CPROF_REPORT_TABLE_REPORT_H_
#define CPROF_REPORT_TABLE_REPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "report/coverage.h"
#include "report/render_report.h"
#include "report/table.h"

namespace cprof {

class TableReport : public ReportRenderer {
 public:
  TableReport(const ReportOptions& options, const StringTable& strings, TextOutput& out)
      : options_(options), strings_(strings), out_(out) {}

  void OnHeader(const SessionHeader& header) override { coverage_.SetHeader(header); }
  void OnStream(const StreamInfo& stream) override { coverage_.AddStream(stream); }
  void OnFooter(const Footer& footer) override { coverage_.SetFooter(footer); }
  void OnBreak(BreakId, const Break& lost) override { coverage_.AddBreak(lost); }
  void OnSummary(const GraphSummary& summary) override { coverage_.SetSummary(summary); }
  void OnFinal(uint64_t final_ns) override { coverage_.SetFinal(final_ns); }
  bool Finish(const ReadSummary& read) override;

 protected:
  // What the rows are of, as --by has it.
  virtual std::string_view by() const = 0;
  // All that Finish shows; the first is the one for CSV. Text shows those with rows.
  virtual std::vector<Table> MakeTables() = 0;
  // Text: lines beneath the coverage, each begun with "# ".
  virtual void AppendHeadline(std::string*) const {}
  // A line for people where the first table has no rows.
  virtual std::string_view NothingText() const = 0;

  const ReportOptions options_;
  const StringTable& strings_;
  Coverage coverage_;

 private:
  TextOutput& out_;
};

std::unique_ptr<ReportRenderer> MakeRequestReport(const ReportOptions& options,
                                                  const StringTable& strings, TextOutput& out);
std::unique_ptr<ReportRenderer> MakeThreadReport(const ReportOptions& options,
                                                 const StringTable& strings, TextOutput& out);
std::unique_ptr<ReportRenderer> MakeIoReport(const ReportOptions& options,
                                             const StringTable& strings, TextOutput& out);
std::unique_ptr<ReportRenderer> MakePathReport(const ReportOptions& options,
                                               const StringTable& strings, TextOutput& out);

}  // namespace cprof

#endif  // CPROF_REPORT_TABLE_REPORT_H_
