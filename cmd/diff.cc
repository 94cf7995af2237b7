// `cprof diff`: what changed between two recordings.
#include <memory>
#include <string>

#include "cmd/input.h"
#include "cmd/output.h"
#include "cmd/recording_side.h"
#include "cmd/subcommand.h"
#include "report/render_diff.h"
#include "report/text_output.h"

namespace cprof {
namespace {

struct Words {
  std::string a, b;
  std::string format = "text";
  size_t limit = 12;
  bool force = false;
};

int Run(const Words& words) {
  RecordingSide a, b;
  if (const int exit_code = ReadSides(words.a, words.b, {}, &a, &b); exit_code != kExitOk) {
    return exit_code;
  }
  DiffView view;
  view.name_a = a.input.name;
  view.name_b = b.input.name;
  view.a = &a.profile;
  view.b = &b.profile;
  view.limit = words.limit;
  view.concerns = ConcernsOf(a.profile, b.profile);
  if (!words.force && !CheckFair(a, b, view.concerns)) return kExitFailure;
  view.comparison = Compare(a.profile, b.profile);
  Result<std::unique_ptr<Output>> output = Output::Open("-", a.input);
  if (!output) {
    PrintError(output.error());
    return kExitFailure;
  }
  TextOutput out((*output)->sink());
  if (words.format == "json") {
    AppendDiffJson(view, &out.text());
  } else {
    AppendDiffText(view, &out.text());
  }
  return FinishOutput(**output, out.Finish(), kExitOk);
}

}  // namespace

std::function<int()> SetupDiff(Options& options) {
  const auto words = std::make_shared<Words>();
  options.Add("A", words->a, "recording of before, '-' for standard input")
      .Type(kTypeFile)
      .Required();
  options.Add("B", words->b, "recording of after, '-' for standard input")
      .Type(kTypeFile)
      .Required();
  options.Add("--format", words->format, "text or json").OneOf({"text", "json"}).ShowDefault();
  options.Add("--limit", words->limit, "rows of each table beneath the first, as text")
      .Within(uint64_t{1}, uint64_t{1} << 20)
      .ShowDefault();
  options.AddFlag("--force", words->force, "compare even what cannot be compared fairly");
  return [words] { return Run(*words); };
}

}  // namespace cprof
