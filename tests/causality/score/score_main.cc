// causality_score LOG GRAPH: scores a graph text ("-": standard input) against an oracle log.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tests/causality/score/oracle_log.h"
#include "tests/causality/score/score.h"

namespace {

constexpr int kExitBelow = 1;
constexpr int kExitUsage = 2;

int Usage() {
  std::fputs(
      "usage: causality_score [--json FILE] [--strict] LOG GRAPH\n"
      "  --strict: fail where a join is false, an orphan unexplained, the accounts do not add up,\n"
      "            more than 0.1 % of attributed time has the wrong owner, more than 0.1 % of the\n"
      "            truth is undecided without loss, or nothing was found\n",
      stderr);
  return kExitUsage;
}

// Says what is below the mark. Nothing: all is well.
std::vector<std::string> Failures(const cprof::causality::Scores& scores) {
  std::vector<std::string> failures;
  if (scores.found == 0) failures.push_back("no true edge was found");
  if (scores.WrongJoins() > 0) failures.push_back("there are false joins");
  if (scores.unexplained > 0) failures.push_back("there are unexplained orphans");
  if (!scores.adds_up) failures.push_back("half-edges are not joined + orphans");
  // Where events were lost, the k-th of a batch cannot always be told.
  if (scores.breaks == 0 && scores.undecided * 1000 > scores.operations) {
    failures.push_back("too much is undecided");
  }
  for (const auto* owner : {&scores.threads, &scores.operations_owner}) {
    if (owner->wrong_ns * 1000 > owner->attributed_ns) {
      failures.push_back("too much time has the wrong owner");
    }
  }
  if (scores.states_not_adding > 0) failures.push_back("states do not add up to the wall");
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  std::string json_path;
  bool strict = false;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--strict") {
      strict = true;
    } else if (word == "--json" && i + 1 < argc) {
      json_path = argv[++i];
    } else if (word.starts_with("--")) {
      return Usage();
    } else {
      paths.push_back(word);
    }
  }
  if (paths.size() != 2) return Usage();
  const auto records = cprof::causality::ReadOracleLog(paths[0]);
  if (!records) {
    std::fprintf(stderr, "causality_score: error: %s\n", records.error().message.c_str());
    return kExitUsage;
  }
  std::ifstream file;
  if (paths[1] != "-") file.open(paths[1]);
  if (paths[1] != "-" && !file) {
    std::fprintf(stderr, "causality_score: error: cannot open %s\n", paths[1].c_str());
    return kExitUsage;
  }
  const auto graph = cprof::causality::ReadGraphText(paths[1] == "-" ? std::cin : file);
  if (!graph) {
    std::fprintf(stderr, "causality_score: error: %s: %s\n", paths[1].c_str(),
                 graph.error().message.c_str());
    return kExitUsage;
  }
  const cprof::causality::Scores scores = cprof::causality::Score(*records, *graph);
  std::fputs(cprof::causality::ScoresAsText(scores).c_str(), stdout);
  if (!json_path.empty()) {
    std::ofstream(json_path) << cprof::causality::ScoresAsJson(scores);
  }
  if (!strict) return EXIT_SUCCESS;
  const std::vector<std::string> failures = Failures(scores);
  for (const std::string& failure : failures) std::printf("FAILED: %s\n", failure.c_str());
  return failures.empty() ? EXIT_SUCCESS : kExitBelow;
}
