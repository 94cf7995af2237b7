// causality_table SCORES ...: makes the table of results from what causality_score wrote.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/causality/score/table.h"

namespace cprof::causality {
namespace {

constexpr int kExitMissed = 1;
constexpr int kExitUsage = 2;

int Usage() {
  std::fputs(
      "usage: causality_table [OPTION ...] SCORES ...\n"
      "Makes a table from JSON files of causality_score; a directory stands for the files in it.\n"
      "Labels say where a file belongs: mechanism, fault, tool; loss (\"1%\", \"10% burst\", "
      "\"real\")\n"
      "and attributes (\"reused\") where they apply.\n"
      "  --markdown FILE   write it for people (without: to standard output)\n"
      "  --json FILE       write it for programs\n"
      "  --overhead FILE   what overhead.py wrote: the curve of accuracy against overhead\n"
      "  --title TEXT, --note TEXT (once for each line)   what stands above it\n"
      "  --quick           a hundredth of the edges is enough\n"
      "  --strict          fail where an aim is missed\n",
      stderr);
  return kExitUsage;
}

struct Arguments {
  std::vector<std::string> paths;
  TableText text{"Causality benchmark: results", {}, ""};
  std::string markdown, json, overhead;
  bool is_quick = false, is_strict = false;
};

std::optional<Arguments> ParseArguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool has_next = i + 1 < words.size();
    if (word == "--quick") {
      arguments.is_quick = true;
    } else if (word == "--strict") {
      arguments.is_strict = true;
    } else if (word == "--markdown" && has_next) {
      arguments.markdown = words[++i];
    } else if (word == "--json" && has_next) {
      arguments.json = words[++i];
    } else if (word == "--overhead" && has_next) {
      arguments.overhead = words[++i];
    } else if (word == "--title" && has_next) {
      arguments.text.title = words[++i];
    } else if (word == "--note" && has_next) {
      arguments.text.notes.push_back(words[++i]);
    } else if (word.starts_with("--")) {
      return std::nullopt;
    } else {
      arguments.paths.push_back(word);
    }
  }
  return arguments.paths.empty() ? std::nullopt : std::optional(std::move(arguments));
}

// Files in the order of their names. JSON of something else that lies in a directory is passed
// over, but not a file that was named.
Result<std::vector<TableRow>> ReadRows(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<TableRow> rows;
  for (const std::string& path : paths) {
    std::error_code ignored;
    std::vector<std::string> files;
    const bool is_directory = fs::is_directory(path, ignored);
    if (is_directory) {
      for (const auto& entry : fs::recursive_directory_iterator(path)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path().string());
      }
      std::sort(files.begin(), files.end());
    } else {
      files.push_back(path);
    }
    for (const std::string& file : files) {
      std::ifstream input(file);
      if (!input) return Error{"cannot open " + file, ""};
      auto row = ReadTableRow(input);
      if (!row) return Error{file + ": " + row.error().message, row.error().hint};
      if (*row) {
        rows.push_back(std::move(**row));
      } else if (!is_directory) {
        return Error{file + " holds no scores of causality_score", ""};
      }
    }
  }
  if (rows.empty()) return Error{"there are no scores to make a table of", ""};
  SortRows(&rows);
  return rows;
}

int Fail(const Error& error) {
  std::fprintf(stderr, "causality_table: error: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "causality_table: hint: %s\n", error.hint.c_str());
  return kExitUsage;
}

Result<void> Write(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text << std::flush;
  if (!out) return Error{"cannot write " + path, ""};
  return {};
}

int Main(const std::vector<std::string>& words) {
  auto arguments = ParseArguments(words);
  if (!arguments) return Usage();
  if (!arguments->overhead.empty()) {
    std::ifstream file(arguments->overhead);
    if (!file) return Fail({"cannot open " + arguments->overhead, ""});
    arguments->text.overhead.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto rows = ReadRows(arguments->paths);
  if (!rows) return Fail(rows.error());
  const std::vector<Aim> aims = JudgeAims(*rows, "cprof", arguments->is_quick);
  const auto markdown = TableAsMarkdown(*rows, aims, arguments->text);
  if (!markdown) return Fail(markdown.error());
  if (arguments->markdown.empty()) {
    std::fputs(markdown->c_str(), stdout);
  } else if (const auto written = Write(arguments->markdown, *markdown); !written) {
    return Fail(written.error());
  }
  if (!arguments->json.empty()) {
    const auto written = Write(arguments->json, TableAsJson(*rows, aims, arguments->text));
    if (!written) return Fail(written.error());
  }
  const bool is_missed = std::any_of(aims.begin(), aims.end(), [](const Aim& aim) {
    return aim.outcome == Aim::Outcome::kMissed;
  });
  return arguments->is_strict && is_missed ? kExitMissed : EXIT_SUCCESS;
}

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  return cprof::causality::Main(std::vector<std::string>(argv + 1, argv + argc));
}
