// `cprof report`: where each kind of request, thread or io_uring request spent its time.
#include <memory>
#include <string>

#include "cmd/input.h"
#include "cmd/output.h"
#include "cmd/subcommand.h"
#include "report/pipeline.h"
#include "report/render_report.h"

namespace cprof {
namespace {

struct Words {
  std::string input = kDefaultInput;
  std::string by = "request";
  std::string format = "text";
  std::string request;
  bool header = false;
};

ReportOptions OptionsOf(const Words& words) {
  ReportOptions options;
  if (words.by == "thread") options.by = ReportBy::kThread;
  if (words.by == "io_request") options.by = ReportBy::kIoRequest;
  if (words.format == "json") options.format = ReportFormat::kJson;
  if (words.format == "csv") options.format = ReportFormat::kCsv;
  options.request = words.request;
  options.session_header = words.header;
  return options;
}

int Run(const Words& words) {
  if (!words.request.empty() && !IsRequestQuestion(words.request)) {
    PrintError({"--request takes an id, 'slowest' or NAME:slowest, not '" + words.request + "'",
                "an id is decimal, hexadecimal with 0x, or 32 hexadecimal digits"});
    return kExitUsage;
  }
  Result<Input> input = OpenInput(words.input);
  if (!input) {
    PrintError(input.error());
    return kExitFailure;
  }
  Result<std::unique_ptr<Output>> output = Output::Open("-", *input);
  if (!output) {
    PrintError(output.error());
    return kExitFailure;
  }
  StringTable strings;
  TextOutput out((*output)->sink());
  const auto renderer = MakeReportRenderer(OptionsOf(words), strings, out);
  const Result<ReadSummary> read = RunPipeline(*input->source, strings, LineOptions(), *renderer);
  if (!read) {
    PrintInputError(*input, read.error());
    return kExitFailure;
  }
  const bool found = renderer->Finish(*read);
  const int exit_code = FinishOutput(**output, out.Finish(), found ? kExitOk : kExitFailure);
  PrintLosses(*input, *read);
  if (!found) {
    PrintInputError(*input, {"no request '" + words.request + "' in it",
                             "'cprof report --by request' lists the kinds of request"});
  }
  return exit_code;
}

}  // namespace

std::function<int()> SetupReport(Options& options) {
  const auto words = std::make_shared<Words>();
  options.Add("-i,--input", words->input, "recording to read, '-' for standard input")
      .Type(kTypeFile)
      .ShowDefault();
  options.Add("--by", words->by, "what the rows are: request, thread or io_request")
      .OneOf({"request", "thread", "io_request"})
      .ShowDefault();
  options
      .Add("--request", words->request,
           "one request's causal path: an id, 'slowest' or NAME:slowest")
      .NotEmpty();
  options.Add("--format", words->format, "text, json or csv")
      .OneOf({"text", "json", "csv"})
      .ShowDefault();
  options.AddFlag("--header", words->header, "print the facts of the session first");
  return [words] { return Run(*words); };
}

}  // namespace cprof
