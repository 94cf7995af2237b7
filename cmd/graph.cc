// `cprof graph`: the causal graph as text.
#include <memory>
#include <optional>
#include <string>

#include "cmd/input.h"
#include "cmd/output.h"
#include "cmd/subcommand.h"
#include "report/pipeline.h"
#include "report/render_graph.h"
#include "report/render_report.h"

namespace cprof {
namespace {

struct Words {
  std::string input = kDefaultInput;
  std::string output = "-";
  std::string format = "ndjson";
  std::string request;
};

int Run(const Words& words) {
  std::optional<Key> request;
  if (!words.request.empty()) {
    request = ParseRequestId(words.request);
    if (!request) {
      PrintError({"--request takes an id, not '" + words.request + "'",
                  "an id is decimal, hexadecimal with 0x, or 32 hexadecimal digits"});
      return kExitUsage;
    }
    if (words.format != "dot") {
      PrintError({"--request goes with --format dot only",
                  "add --format dot, or see one request with 'cprof report --request'"});
      return kExitUsage;
    }
  }
  Result<Input> input = OpenInput(words.input);
  if (!input) {
    PrintError(input.error());
    return kExitFailure;
  }
  Result<std::unique_ptr<Output>> output = Output::Open(words.output, *input);
  if (!output) {
    PrintError(output.error());
    return kExitFailure;
  }
  StringTable strings;
  TextOutput out((*output)->sink());
  const auto renderer = words.format == "dot" ? MakeGraphDotRenderer(request, strings, out)
                                              : MakeGraphJsonRenderer(strings, out);
  const Result<ReadSummary> read = RunPipeline(*input->source, strings, LineOptions(), *renderer);
  if (!read) {
    PrintInputError(*input, read.error());
    return kExitFailure;
  }
  const bool found = renderer->Finish(*read);
  const int exit_code = FinishOutput(**output, out.Finish(), found ? kExitOk : kExitFailure);
  PrintLosses(*input, *read);
  if (!found) {
    PrintInputError(*input, {"no request with id " + words.request + " in it",
                             "'cprof report --request slowest' shows one with its id"});
  }
  return exit_code;
}

}  // namespace

std::function<int()> SetupGraph(Options& options) {
  const auto words = std::make_shared<Words>();
  options.Add("-i,--input", words->input, "recording to read, '-' for standard input")
      .Type(kTypeFile)
      .ShowDefault();
  options.Add("-o,--output", words->output, "file to write, '-' for standard output")
      .Type(kTypeFile)
      .ShowDefault();
  options.Add("--format", words->format, "ndjson or dot").OneOf({"ndjson", "dot"}).ShowDefault();
  options.Add("--request", words->request, "with dot: only what belongs to this request's id")
      .NotEmpty();
  return [words] { return Run(*words); };
}

}  // namespace cprof
