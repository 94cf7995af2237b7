// Reads the two recordings that diff and flame --diff compare.
#include "cmd/recording_side.h"

#include <utility>

#include "cmd/subcommand.h"
#include "report/pipeline.h"

namespace cprof {
namespace {

bool ReadSide(const std::string& path, const FlameFoldOptions& fold, RecordingSide* side) {
  Result<Input> input = OpenInput(path);
  if (!input) {
    PrintError(input.error());
    return false;
  }
  side->input = std::move(*input);
  StringTable strings;
  const auto sink = MakeProfileSink(strings, fold);
  const Result<ReadSummary> read = RunPipeline(*side->input.source, strings, LineOptions(), *sink);
  if (!read) {
    PrintInputError(side->input, read.error());
    return false;
  }
  PrintLosses(side->input, *read);
  side->profile = sink->Finish(*read);
  return true;
}

}  // namespace

int ReadSides(const std::string& path_a, const std::string& path_b, const FlameFoldOptions& fold,
              RecordingSide* a, RecordingSide* b) {
  if (path_a == "-" && path_b == "-") {
    PrintError({"standard input cannot be both recordings", "name a file for one of them"});
    return kExitUsage;
  }
  return ReadSide(path_a, fold, a) && ReadSide(path_b, fold, b) ? kExitOk : kExitFailure;
}

bool CheckFair(const RecordingSide& a, const RecordingSide& b,
               const std::vector<DiffConcern>& concerns) {
  if (concerns.empty() || !concerns.front().grave) return true;
  PrintError({"A (" + a.input.name + ") and B (" + b.input.name +
                  ") cannot be compared fairly: " + concerns.front().text,
              "record both in the same way, or compare them all the same with --force"});
  return false;
}

}  // namespace cprof
