// `cprof flame`: where time went, by causal frames and stacks.
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cmd/input.h"
#include "cmd/output.h"
#include "cmd/recording_side.h"
#include "cmd/subcommand.h"
#include "report/diff_tree.h"
#include "report/pipeline.h"
#include "report/render_flame.h"

namespace cprof {
namespace {

constexpr double kMaxMinWidth = 1000;  // pixels; the whole picture is 1200 wide

struct Words {
  std::string input = kDefaultInput;
  std::string output = "-";
  std::string by = "request";
  std::string weight;
  std::string title;
  std::string palette = "default";
  double min_width = 0.5;
  bool icicle = false;
  bool folded = false;
  std::vector<std::string> diff;  // A and B in place of the input
  bool force = false;
};

FlameOptions OptionsOf(const Words& words) {
  FlameOptions options;
  options.folded = words.folded;
  if (words.by == "thread") options.fold.by = FlameBy::kThread;
  if (words.by == "io_request") {
    // The one weight of all that a request to the kernel has.
    options.fold.by = FlameBy::kIoRequest;
    options.fold.weight = FlameWeight::kWall;
  }
  if (words.weight == "cpu") options.fold.weight = FlameWeight::kCpu;
  if (words.weight == "wall") options.fold.weight = FlameWeight::kWall;
  if (words.weight == "count") options.fold.weight = FlameWeight::kCount;
  options.svg.title = words.title;
  options.svg.icicle = words.icicle;
  if (words.palette == "colour-blind") options.svg.palette = FlamePalette::kColourBlind;
  options.svg.min_width_centipixels = static_cast<uint32_t>(std::lround(words.min_width * 100));
  return options;
}

int RunDiff(const Words& words, const FlameOptions& options) {
  if (options.fold.by != FlameBy::kRequest) {
    PrintError({"--diff compares requests", "use --by request, the default"});
    return kExitUsage;
  }
  RecordingSide a, b;
  if (const int exit_code = ReadSides(words.diff[0], words.diff[1], options.fold, &a, &b);
      exit_code != kExitOk) {
    return exit_code;
  }
  const std::vector<DiffConcern> concerns = ConcernsOf(a.profile, b.profile);
  if (!words.force && !CheckFair(a, b, concerns)) return kExitFailure;
  for (const DiffConcern& concern : concerns) {
    std::fprintf(stderr, "cprof: warning: %s\n", concern.text.c_str());
  }
  Result<std::unique_ptr<Output>> output = Output::Open(words.output, a.input, 0666, &b.input);
  if (!output) {
    PrintError(output.error());
    return kExitFailure;
  }
  TextOutput out((*output)->sink());
  WriteFlameDiff(options, a.profile, b.profile, out);
  return FinishOutput(**output, out.Finish(), kExitOk);
}

int Run(const Words& words) {
  const FlameOptions options = OptionsOf(words);
  if (!IsFlameFold(options.fold)) {
    PrintError({"an io_request has no CPU time of its own",
                "use --weight wall or count, or --by request or thread"});
    return kExitUsage;
  }
  if (!words.diff.empty()) return RunDiff(words, options);
  if (words.force) {
    PrintError({"--force is for --diff alone", "leave it out"});
    return kExitUsage;
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
  const auto folder = MakeFlameFolder(options.fold, strings);
  const Result<ReadSummary> read = RunPipeline(*input->source, strings, LineOptions(), *folder);
  if (!read) {
    PrintInputError(*input, read.error());
    return kExitFailure;
  }
  WriteFlame(options, *folder, out);
  const int exit_code = FinishOutput(**output, out.Finish(), kExitOk);
  PrintLosses(*input, *read);
  return exit_code;
}

}  // namespace

std::function<int()> SetupFlame(Options& options) {
  const auto words = std::make_shared<Words>();
  const Option input =
      options.Add("-i,--input", words->input, "recording to read, '-' for standard input")
          .Type(kTypeFile)
          .ShowDefault();
  options.Add("--diff", words->diff, "two recordings to compare, of before and of after")
      .Type(kTypeFile)
      .Count(2)
      .Excludes(input);
  options.AddFlag("--force", words->force, "compare even what cannot be compared fairly");
  options.Add("-o,--output", words->output, "file to write, '-' for standard output")
      .Type(kTypeFile)
      .ShowDefault();
  options.Add("--by", words->by, "what the first frames are: request, thread or io_request")
      .OneOf({"request", "thread", "io_request"})
      .ShowDefault();
  options
      .Add("--weight", words->weight,
           "what widths are: cpu, wall or count (default cpu; of io_request wall)")
      .OneOf({"cpu", "wall", "count"});
  options.AddFlag("--folded", words->folded, "folded stacks, one a line, instead of SVG");
  options.AddFlag("--icicle", words->icicle, "root at the top");
  options.Add("--title", words->title, "title of the picture").NotEmpty();
  options
      .Add("--min-width", words->min_width,
           "pixels; narrower frames are drawn once they are zoomed into")
      .Within(0.0, kMaxMinWidth)
      .ShowDefault();
  options.Add("--palette", words->palette, "colours: default or colour-blind")
      .OneOf({"default", "colour-blind"})
      .ShowDefault();
  return [words] { return Run(*words); };
}

}  // namespace cprof
