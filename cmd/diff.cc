// `cprof diff`: what changed between two recordings.
#include <memory>
#include <string>

#include "cmd/input.h"
#include "cmd/output.h"
#include "cmd/subcommand.h"
#include "report/pipeline.h"
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

// One side, read; the input stays for messages.
struct Side {
  Input input;
  DiffProfile profile;
};

bool ReadSide(const std::string& path, Side* side) {
  Result<Input> input = OpenInput(path);
  if (!input) {
    PrintError(input.error());
    return false;
  }
  side->input = std::move(*input);
  StringTable strings;
  const auto sink = MakeProfileSink(strings);
  const Result<ReadSummary> read = RunPipeline(*side->input.source, strings, {}, *sink);
  if (!read) {
    PrintInputError(side->input, read.error());
    return false;
  }
  PrintLosses(side->input, *read);
  side->profile = sink->Finish(*read);
  return true;
}

int Run(const Words& words) {
  if (words.a == "-" && words.b == "-") {
    PrintError({"standard input cannot be both recordings", "name a file for one of them"});
    return kExitUsage;
  }
  Side a, b;
  if (!ReadSide(words.a, &a) || !ReadSide(words.b, &b)) return kExitFailure;
  DiffView view;
  view.name_a = a.input.name;
  view.name_b = b.input.name;
  view.a = &a.profile;
  view.b = &b.profile;
  view.limit = words.limit;
  view.concerns = ConcernsOf(a.profile, b.profile);
  if (!words.force && !view.concerns.empty() && view.concerns.front().grave) {
    PrintError({"A (" + view.name_a + ") and B (" + view.name_b +
                    ") cannot be compared fairly: " + view.concerns.front().text,
                "record both in the same way, or compare them all the same with --force"});
    return kExitFailure;
  }
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

std::function<int()> SetupDiff(CLI::App& app) {
  const auto words = std::make_shared<Words>();
  app.add_option("A", words->a, "recording of before, '-' for standard input")->required();
  app.add_option("B", words->b, "recording of after, '-' for standard input")->required();
  app.add_option("--format", words->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--limit", words->limit, "rows of each table beneath the first, as text")
      ->check(CLI::Range(size_t{1}, size_t{1} << 20))
      ->capture_default_str();
  app.add_flag("--force", words->force, "compare even what cannot be compared fairly");
  return [words] { return Run(*words); };
}

}  // namespace cprof
