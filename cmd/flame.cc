// `cprof flame`: CPU time by causal frames and stacks.
#include <memory>
#include <string>

#include "cmd/input.h"
#include "cmd/output.h"
#include "cmd/subcommand.h"
#include "report/pipeline.h"
#include "report/render_flame.h"

namespace cprof {
namespace {

struct Words {
  std::string input = kDefaultInput;
  std::string output = "-";
  bool folded = false;
};

int Run(const Words& words) {
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
  FlameOptions flame;
  flame.folded = words.folded;
  const auto folder = MakeFlameFolder(flame.fold, strings);
  const Result<ReadSummary> read = RunPipeline(*input->source, strings, {}, *folder);
  if (!read) {
    PrintInputError(*input, read.error());
    return kExitFailure;
  }
  WriteFlame(flame, *folder, out);
  const int exit_code = FinishOutput(**output, out.Finish(), kExitOk);
  PrintLosses(*input, *read);
  return exit_code;
}

}  // namespace

std::function<int()> SetupFlame(CLI::App& app) {
  const auto words = std::make_shared<Words>();
  app.add_option("-i,--input", words->input, "recording to read, '-' for standard input")
      ->capture_default_str();
  app.add_option("-o,--output", words->output, "file to write, '-' for standard output")
      ->capture_default_str();
  app.add_flag("--folded", words->folded, "folded stacks, one a line, instead of SVG");
  return [words] { return Run(*words); };
}

}  // namespace cprof
