// causality_score LOG GRAPH ...: scores graph texts against oracle logs. See Usage().
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/causality/score/explain.h"
#include "tests/causality/score/oracle_log.h"
#include "tests/causality/score/score.h"
#include "tests/causality/score/score_text.h"

namespace cprof::causality {
namespace {

constexpr int kExitBelow = 1;
constexpr int kExitUsage = 2;
constexpr uint64_t kExplainedCount = 10;

int Usage() {
  std::fputs(
      "usage: causality_score [OPTION ...] LOG GRAPH [LOG GRAPH ...]\n"
      "Scores graph texts (\"-\": standard input) against oracle logs. Several pairs are runs of "
      "one\n"
      "workload with other seeds: counts are added up, figures get 95 % intervals.\n"
      "  --json FILE             write the scores as JSON\n"
      "  --label NAME=VALUE      put into the JSON; mechanism, fault and tool are what tables "
      "need\n"
      "  --capability FILE       what hooks can see, by the labels mechanism and fault\n"
      "  --lossless GRAPH        the graph of the same recording before events were taken from it\n"
      "  --losses WHOLE KEPT     what `cprof script` prints of both; what is missing was lost\n"
      "                          (these two: once for each pair, in order)\n"
      "  --overhead FILE         a JSON object that the JSON shall hold as `overhead`\n"
      "  --whole                 the recording covers the whole run: nothing is outside of it\n"
      "  --explain WHAT [COUNT]  false-joins, duplicates, missing or owners, in words\n"
      "  --strict                fail where a join is false, an orphan unexplained, the accounts "
      "do\n"
      "                          not add up, more than 0.1 % of attributed time has the wrong "
      "owner,\n"
      "                          more than 0.1 % of the truth is undecided without loss, or "
      "nothing\n"
      "                          was found\n",
      stderr);
  return kExitUsage;
}

struct Arguments {
  std::vector<std::string> paths;
  std::map<std::string, std::string> labels;
  std::string json, capability, overhead;
  std::vector<std::string> lossless;
  std::vector<std::pair<std::string, std::string>> losses;
  std::vector<std::pair<Question, uint64_t>> questions;
  bool is_whole = false, is_strict = false;
};

std::optional<Question> QuestionOf(const std::string& word) {
  if (word == "false-joins") return Question::kFalseJoins;
  if (word == "duplicates") return Question::kDuplicates;
  if (word == "missing") return Question::kMissing;
  if (word == "owners") return Question::kOwners;
  return std::nullopt;
}

bool IsCount(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

std::optional<Arguments> ParseArguments(const std::vector<std::string>& words) {
  Arguments arguments;
  size_t i = 0;
  const auto has = [&](size_t count) { return i + count < words.size(); };
  for (; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--strict") {
      arguments.is_strict = true;
    } else if (word == "--whole") {
      arguments.is_whole = true;
    } else if (word == "--json" && has(1)) {
      arguments.json = words[++i];
    } else if (word == "--capability" && has(1)) {
      arguments.capability = words[++i];
    } else if (word == "--overhead" && has(1)) {
      arguments.overhead = words[++i];
    } else if (word == "--lossless" && has(1)) {
      arguments.lossless.push_back(words[++i]);
    } else if (word == "--losses" && has(2)) {
      arguments.losses.push_back({words[i + 1], words[i + 2]});
      i += 2;
    } else if (word == "--label" && has(1)) {
      const std::string& label = words[++i];
      const size_t equals = label.find('=');
      if (equals == std::string::npos || equals == 0) return std::nullopt;
      arguments.labels[label.substr(0, equals)] = label.substr(equals + 1);
    } else if (word == "--explain" && has(1)) {
      const auto question = QuestionOf(words[++i]);
      if (!question) return std::nullopt;
      uint64_t count = kExplainedCount;
      if (has(1) && IsCount(words[i + 1])) count = std::strtoull(words[++i].c_str(), nullptr, 10);
      arguments.questions.push_back({*question, count});
    } else if (word.starts_with("--")) {
      return std::nullopt;
    } else {
      arguments.paths.push_back(word);
    }
  }
  const size_t pairs = arguments.paths.size() / 2;
  const auto fits = [pairs](size_t count) { return count == 0 || count == pairs; };
  const bool is_good = pairs > 0 && arguments.paths.size() % 2 == 0 &&
                       fits(arguments.lossless.size()) && fits(arguments.losses.size());
  return is_good ? std::optional(std::move(arguments)) : std::nullopt;
}

Result<Graph> OpenGraph(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path);
  if (path != "-" && !file) return Error{"cannot open " + path, ""};
  auto graph = ReadGraphText(path == "-" ? std::cin : file);
  if (!graph) return Error{path + ": " + graph.error().message, ""};
  return graph;
}

Result<Losses> OpenLosses(const std::string& whole_path, const std::string& kept_path) {
  std::ifstream whole(whole_path), kept(kept_path);
  if (!whole) return Error{"cannot open " + whole_path, ""};
  if (!kept) return Error{"cannot open " + kept_path, ""};
  return FindLosses(whole, kept);
}

std::string LabelOf(const Arguments& arguments, const char* name) {
  const auto found = arguments.labels.find(name);
  return found == arguments.labels.end() ? "" : found->second;
}

// Scores one pair, and prints what was asked about it.
Result<Scores> ScorePair(const Arguments& arguments, const Capability* table, size_t pair) {
  const auto records = ReadOracleLog(arguments.paths[2 * pair]);
  if (!records) return records.error();
  const auto graph = OpenGraph(arguments.paths[2 * pair + 1]);
  if (!graph) return graph.error();
  ScoreOptions options;
  options.capability = table;
  options.mechanism = LabelOf(arguments, "mechanism");
  options.fault = LabelOf(arguments, "fault");
  options.is_whole = arguments.is_whole;
  Graph lossless;
  if (!arguments.lossless.empty()) {
    auto read = OpenGraph(arguments.lossless[pair]);
    if (!read) return read.error();
    lossless = std::move(*read);
    options.lossless = &lossless;
  }
  Losses losses;
  if (!arguments.losses.empty()) {
    auto read = OpenLosses(arguments.losses[pair].first, arguments.losses[pair].second);
    if (!read) return read.error();
    losses = std::move(*read);
    options.losses = &losses;
  }
  const Scored scored = ScoreGraph(*records, *graph, options);
  for (const auto& [question, count] : arguments.questions) {
    std::fputs(Explain(*records, *graph, scored, question, count).c_str(), stdout);
  }
  return scored.scores;
}

// Says what is below the mark. Nothing: all is well.
std::vector<std::string> Failures(const Scores& scores) {
  std::vector<std::string> failures;
  const TruthScore truths = scores.AllTruths();
  // Of a recording that lost everything nothing is asked.
  if (truths.found == 0 && (truths.kept > 0 || truths.inside == 0))
    failures.push_back("no true edge was found");
  if (scores.FalseJoins() > 0) failures.push_back("there are false joins");
  if (scores.unexplained > 0) failures.push_back("there are unexplained orphans");
  if (scores.accounts_off > 0) failures.push_back("half-edges are not joined + orphans");
  // Where events were lost, the k-th of a batch cannot always be told.
  if (scores.breaks == 0 && truths.undecided * 1000 > truths.inside) {
    failures.push_back("too much is undecided");
  }
  for (const OwnerScore* owner : {&scores.threads, &scores.operations_owner}) {
    if (owner->wrong_ns * 1000 > owner->attributed_ns) {
      failures.push_back("too much time has the wrong owner");
    }
  }
  if (scores.states_not_adding > 0) failures.push_back("states do not add up to the wall");
  return failures;
}

int Fail(const Error& error) {
  std::fprintf(stderr, "causality_score: error: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "causality_score: hint: %s\n", error.hint.c_str());
  return kExitUsage;
}

// The JSON with the runner's overhead in it.
Result<void> WriteJson(const Arguments& arguments, const std::vector<Scores>& runs) {
  std::string overhead;
  if (!arguments.overhead.empty()) {
    std::ifstream file(arguments.overhead);
    if (!file) return Error{"cannot open " + arguments.overhead, ""};
    overhead.assign(std::istreambuf_iterator<char>(file), {});
    if (overhead.empty()) return Error{arguments.overhead + " is empty", ""};
  }
  const auto json = ScoresAsJson(runs, arguments.labels, overhead);
  if (!json) return json.error();
  std::ofstream out(arguments.json);
  out << *json << std::flush;
  if (!out) return Error{"cannot write " + arguments.json, ""};
  return {};
}

int Main(const std::vector<std::string>& words) {
  const auto arguments = ParseArguments(words);
  if (!arguments) return Usage();
  Capability table;
  if (!arguments->capability.empty()) {
    std::ifstream file(arguments->capability);
    if (!file) return Fail({"cannot open " + arguments->capability, ""});
    auto read = Capability::Read(file);
    if (!read) return Fail(read.error());
    table = std::move(*read);
  }
  std::vector<Scores> runs;
  for (size_t pair = 0; 2 * pair < arguments->paths.size(); ++pair) {
    auto scores = ScorePair(*arguments, arguments->capability.empty() ? nullptr : &table, pair);
    if (!scores) return Fail(scores.error());
    runs.push_back(std::move(*scores));
  }
  std::fputs(ScoresAsText(runs).c_str(), stdout);
  if (!arguments->json.empty()) {
    if (const auto written = WriteJson(*arguments, runs); !written) return Fail(written.error());
  }
  if (!arguments->is_strict) return EXIT_SUCCESS;
  Scores all = runs.front();
  for (size_t i = 1; i < runs.size(); ++i) all.Add(runs[i]);
  const std::vector<std::string> failures = Failures(all);
  for (const std::string& failure : failures) std::printf("FAILED: %s\n", failure.c_str());
  return failures.empty() ? EXIT_SUCCESS : kExitBelow;
}

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  return cprof::causality::Main(std::vector<std::string>(argv + 1, argv + argc));
}
