// `cprof inject`: a copy of a recording with faults put into it.
#include "format/inject.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cmd/input.h"
#include "cmd/output.h"
#include "cmd/subcommand.h"
#include "report/event_text.h"

namespace cprof {
namespace {

struct Words {
  std::string input = kDefaultInput;
  std::string output = "-";
  std::string drop, duplicate, delay, truncate;
  std::string plane;
  std::vector<std::string> adapters;
  InjectOptions options;
  bool quiet = false;
};

// Leaves *share alone where nothing was said.
bool ReadShare(const char* option, const std::string& text, double* share) {
  if (text.empty()) return true;
  const auto parsed = ParseShare(text);
  if (!parsed) {
    PrintError({std::string(option) + " takes a share of the records, not '" + text + "'",
                "as in 1%, 0.5% or 0.01; at most 100%"});
    return false;
  }
  *share = *parsed;
  return true;
}

bool ReadAdapters(const std::vector<std::string>& names, std::vector<Adapter>* adapters) {
  for (const std::string& name : names) {
    const AdapterInfo* info = FindAdapter(name);
    if (info == nullptr || info->id == Adapter::kRecorder) {
      PrintError({info == nullptr ? "no such adapter: " + name
                                  : "what the recorder itself wrote is never lost",
                  "'cprof record --list-adapters' lists the adapters"});
      return false;
    }
    adapters->push_back(info->id);
  }
  return true;
}

bool ReadWords(Words* words) {
  InjectOptions& options = words->options;
  if (!ReadShare("--drop", words->drop, &options.drop) ||
      !ReadShare("--duplicate", words->duplicate, &options.duplicate) ||
      !ReadShare("--delay", words->delay, &options.delay) ||
      !ReadShare("--truncate", words->truncate, &options.truncate) ||
      !ReadAdapters(words->adapters, &options.adapters)) {
    return false;
  }
  if (words->plane == "edge") options.plane = InjectOptions::Plane::kEdge;
  if (words->plane == "context") options.plane = InjectOptions::Plane::kContext;
  if (options.truncate > 0 && !options.adapters.empty()) {
    PrintError({"--truncate does not go with -e",
                "a chunk holds the records of all adapters; choose with --plane"});
    return false;
  }
  return true;
}

void PrintSummary(const InjectSummary& summary, const InjectOptions& options) {
  std::fprintf(stderr,
               "cprof inject: of %" PRIu64 " records dropped %" PRIu64 " (in %" PRIu64
               " breaks), duplicated %" PRIu64 ", delayed %" PRIu64,
               summary.records, summary.dropped, summary.breaks, summary.duplicated,
               summary.delayed);
  if (options.truncate > 0) {
    std::fprintf(stderr, "; cut %" PRIu64 " chunks with %" PRIu64 " records",
                 summary.truncated_chunks, summary.truncated);
  }
  std::fputc('\n', stderr);
}

int Run(Words words) {
  if (!ReadWords(&words)) return kExitUsage;
  Result<Input> input = OpenInput(words.input);
  if (!input) {
    PrintError(input.error());
    return kExitFailure;
  }
  if (words.output == "-" && ::isatty(STDOUT_FILENO) != 0) {
    PrintError({"a recording is nothing for a terminal", "name a file with -o"});
    return kExitFailure;
  }
  // As private as what it was made of.
  Result<std::unique_ptr<Output>> output = Output::Open(words.output, *input, 0600);
  if (!output) {
    PrintError(output.error());
    return kExitFailure;
  }
  StringTable strings;
  Injector injector(strings, words.options, (*output)->sink());
  const Result<ReadSummary> read = ReadAnyRecording(*input->source, strings, injector);
  if (!read) {
    PrintInputError(*input, read.error());
    return kExitFailure;
  }
  const Result<InjectSummary> injected = injector.Finish();
  const Result<void> written = injected ? Result<void>() : Result<void>(injected.error());
  const int exit_code = FinishOutput(**output, written, kExitOk);
  PrintLosses(*input, *read);
  if (injected && !words.quiet) PrintSummary(*injected, words.options);
  return exit_code;
}

}  // namespace

std::function<int()> SetupInject(Options& options) {
  const auto words = std::make_shared<Words>();
  options.Add("-i,--input", words->input, "recording to read, binary or text; '-': standard input")
      .Type(kTypeFile)
      .ShowDefault();
  options.Add("-o,--output", words->output, "recording to write, '-' for standard output")
      .Type(kTypeFile)
      .ShowDefault();
  options.Add("--drop", words->drop, "share of the records to lose, as in 1%").NotEmpty();
  options.Add("--duplicate", words->duplicate, "share of the records to write twice").NotEmpty();
  options.Add("--delay", words->delay, "share of the records to write two marks late")
      .NotEmpty();
  options.Add("--truncate", words->truncate, "share of the chunks to cut short").NotEmpty();
  options.Add("--burst", words->options.burst, "faults come in runs of so many records")
      .Within(uint64_t{1}, uint64_t{1'000'000'000})
      .ShowDefault();
  options.Add("-e,--event", words->adapters, "only records of these adapters")
      .Type(kTypeAdapters)
      .SplitAt(',')
      .NotEmpty();
  options.Add("--plane", words->plane, "only records of this plane: edge or context")
      .OneOf({"edge", "context"});
  options.Add("--seed", words->options.seed, "another seed, other records").ShowDefault();
  options.AddFlag("-q,--quiet", words->quiet, "do not say what was done");
  return [words] { return Run(*words); };
}

}  // namespace cprof
