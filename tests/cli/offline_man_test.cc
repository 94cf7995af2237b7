// The man pages hold: their examples work, and their options are those of --help.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <utility>

#include "man_page.h"
#include "run.h"

namespace cprof::test {
namespace {

constexpr const char* kCommands[] = {"report", "graph",  "flame", "diff",
                                     "script", "inject", "record"};

bool Records(const Example& example) {
  return example.command.find("cprof record") != std::string::npos;
}

// Runs a command of a page in `folder`, with the built cprof before any other.
Outcome RunShell(const std::string& command, const std::string& folder) {
  RunOptions options;
  options.folder = folder;
  options.in_child = [] {
    const std::string binaries = std::filesystem::path(CPROF_BINARY).parent_path();
    const char* path = std::getenv("PATH");
    setenv("PATH", (binaries + ":" + (path == nullptr ? "/usr/bin:/bin" : path)).c_str(), 1);
  };
  return RunProgram({"bash", "-c", "set -o pipefail\n" + command}, options);
}

// Two recordings that can be compared, under the names that the pages give them.
void PutPair(const Folder& folder) {
  for (const auto& [name, golden] : {std::pair("before.data", "contention.txt"),
                                     std::pair("after.data", "contention_free.txt")}) {
    std::ifstream from(std::string(CPROF_GOLDEN_FOLDER) + "/" + golden);
    std::ofstream to(folder.File(name));
    for (std::string line; std::getline(from, line);) {
      if (!line.starts_with("!break")) to << line << '\n';
    }
  }
}

TEST(OfflineMan, EveryExampleThatReadsWorks) {
  size_t ran = 0;
  for (const std::string& page : ManPages()) {
    const Folder folder;
    // The page about the format looks at bytes, the others at requests.
    const char* recording = page == "cprof-format.5" ? "format-1.cprof" : "contention.txt";
    std::filesystem::copy_file(std::string(CPROF_GOLDEN_FOLDER) + "/" + recording,
                               folder.File("cprof.data"));
    PutPair(folder);
    const std::set<std::string> given = {"cprof.data", "before.data", "after.data"};
    for (const Example& example : ManExamples(page)) {
      if (Records(example)) continue;
      ++ran;
      const Outcome outcome = RunShell(example.command, folder.path());
      EXPECT_EQ(outcome.exit_code, 0) << page << ": " << example.command << "\n" << outcome.err;
      // A result, or a file with one.
      bool written = !outcome.out.empty();
      for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        written |= !given.contains(entry.path().filename()) && entry.file_size() > 0;
      }
      EXPECT_TRUE(written) << page << ": " << example.command;
      if (!example.output.empty()) {
        EXPECT_EQ(outcome.out, example.output) << page;
      }
    }
  }
  EXPECT_GE(ran, 10u);
}

TEST(OfflineMan, EveryCommandHasExamples) {
  for (const char* command : kCommands) {
    EXPECT_FALSE(ManExamples(std::string("cprof-") + command + ".1").empty()) << command;
  }
  EXPECT_FALSE(ManExamples("cprof.1").empty());
}

TEST(OfflineMan, EveryCommandTellsItsExitCodes) {
  for (const std::string& page : ManPages()) {
    if (!page.ends_with(".1")) continue;
    const std::vector<std::string> lines = ManSection(page, "EXIT STATUS");
    for (const char* code : {"*0*", "*1*", "*2*"}) {
      EXPECT_TRUE(std::find(lines.begin(), lines.end(), code) != lines.end()) << page << code;
    }
  }
}

TEST(OfflineMan, ExamplesUseOnlyOptionsOfTheirPage) {
  const std::set<std::string> known = ManOptions("cprof-record.1");
  ASSERT_FALSE(known.empty());
  const std::regex option(" (--?[a-zA-Z][a-z-]*)");
  size_t seen = 0;
  for (const std::string& page : ManPages()) {
    for (const Example& example : ManExamples(page)) {
      const size_t record = example.command.find("cprof record");
      if (record == std::string::npos) continue;
      // Its own words end at "--", at a pipe, and at the end of the line.
      std::string words = example.command.substr(record);
      for (const char* end : {" -- ", " |", "\n"}) words = words.substr(0, words.find(end));
      for (std::sregex_iterator at(words.begin(), words.end(), option), end; at != end; ++at) {
        ++seen;
        EXPECT_TRUE(known.contains((*at)[1])) << page << ": " << (*at)[1];
      }
    }
  }
  EXPECT_GE(seen, 5u);
}

TEST(OfflineMan, OptionsAreThoseOfHelp) {
  const std::string commands = RunCprof({"--help"}).out;
  size_t compared = 0;
  for (const char* command : kCommands) {
    if (commands.find(std::string("  ") + command + " ") == std::string::npos) continue;
    ++compared;
    const Outcome help = RunCprof({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    std::set<std::string> options = HelpOptions(help.out);
    EXPECT_EQ(options.erase("--help"), 1u) << help.out;
    options.erase("-h");
    EXPECT_EQ(options, ManOptions(std::string("cprof-") + command + ".1")) << command;
  }
  EXPECT_GE(compared, 4u);
  EXPECT_EQ(HelpOptions(commands), ManOptions("cprof.1"));
}

}  // namespace
}  // namespace cprof::test
