// What is installed is whole: program, header, manual, and completions that real shells understand.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "man_page.h"
#include "run.h"

namespace cprof::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::set<std::string> Lines(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    // fish has a description behind a tab.
    line = line.substr(0, line.find('\t'));
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) lines.insert(line);
  }
  return lines;
}

std::string Line(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

class OfflineInstall : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    const Outcome outcome =
        RunProgram({"cmake", "--install", CPROF_BUILD_FOLDER, "--prefix", folder_->path()});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string Path(const std::string& name) { return folder_->File(name); }
  static std::string Share(const std::string& name) { return Path("share/" + name); }

  // Runs with the installed cprof in front of any other.
  static Outcome Run(const Words& words, const std::string& folder = "") {
    RunOptions options;
    options.folder = folder;
    options.in_child = [] {
      const char* path = getenv("PATH");
      setenv("PATH", (Path("bin:") + (path == nullptr ? "/usr/bin:/bin" : path)).c_str(), 1);
      setenv("MANPATH", Share("man").c_str(), 1);
      setenv("MANPAGER", "cat", 1);
      setenv("TMPDIR", folder_->path().c_str(), 1);
      setenv("HOME", folder_->path().c_str(), 1);
      setenv("TERM", "dumb", 1);
    };
    return RunProgram(words, options);
  }

  // What a shell offers for the last word.
  static std::set<std::string> Bash(const Words& words, const std::string& folder = "") {
    Words command = {"bash", CPROF_CLI_FOLDER "/completion.bash",
                     Share("bash-completion/completions/cprof")};
    command.insert(command.end(), words.begin(), words.end());
    const Outcome outcome = Run(command, folder);
    EXPECT_EQ(outcome.err, "");
    return Lines(outcome.out);
  }
  static std::set<std::string> Zsh(const Words& words, const std::string& folder = "") {
    return Lines(Run({"zsh", "-f", CPROF_CLI_FOLDER "/completion.zsh", Share("zsh/site-functions"),
                      Line(words)},
                     folder)
                     .out);
  }
  static std::set<std::string> Fish(const Words& words, const std::string& folder = "") {
    const std::string script = "set fish_complete_path " + Share("fish/vendor_completions.d") +
                               " $fish_complete_path; complete -C '" + Line(words) + "'";
    const Outcome outcome = Run({"fish", "--no-config", "-c", script}, folder);
    EXPECT_EQ(outcome.err, "");
    return Lines(outcome.out);
  }

  // A build without the recorder offers no record, but answers "record --help": why it cannot.
  static bool IsOffered(const std::string& command) {
    return Run({"cprof", "--help"}).out.find("  " + command + " ") != std::string::npos;
  }

  struct Shell {
    const char* name;
    std::set<std::string> (*complete)(const Words&, const std::string&);
  };
  static constexpr Shell kShells[] = {{"bash", Bash}, {"zsh", Zsh}, {"fish", Fish}};

  static Folder* folder_;
};
Folder* OfflineInstall::folder_ = nullptr;

TEST_F(OfflineInstall, EverythingIsThere) {
  for (const std::string& page : ManPages()) {
    EXPECT_TRUE(fs::exists(Share("man/man" + page.substr(page.size() - 1) + "/" + page))) << page;
  }
  EXPECT_EQ(Run({"cprof", "--version"}).out.rfind("cprof ", 0), 0u);
  EXPECT_EQ(fs::exists(Path("include/cprof/cprof.h")), IsOffered("record"));
}

TEST_F(OfflineInstall, HelpShowsTheManualAtATerminal) {
  const Outcome shown = Run({"script", "-qec", "cprof help diff", "/dev/null"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_NE(shown.out.find("cprof-diff(1)"), std::string::npos) << shown.out;
  EXPECT_EQ(Run({"cprof", "help", "diff"}).out, Run({"cprof", "diff", "--help"}).out);
  EXPECT_EQ(Run({"cprof", "help"}).out, Run({"cprof", "--help"}).out);
  EXPECT_EQ(Run({"cprof", "help", "nothing"}).exit_code, 2);
}

TEST_F(OfflineInstall, ShellsOfferCommandsAndTheirWords) {
  for (const Shell& shell : kShells) {
    SCOPED_TRACE(shell.name);
    const std::set<std::string> commands = shell.complete({"cprof", ""}, "");
    for (const char* command : {"report", "graph", "script", "flame", "diff", "help"}) {
      EXPECT_TRUE(commands.contains(command)) << command;
    }
    EXPECT_FALSE(commands.contains("completion"));
    EXPECT_EQ(shell.complete({"cprof", "report", "--by", ""}, ""),
              (std::set<std::string>{"request", "thread", "io_request"}));
    EXPECT_EQ(shell.complete({"cprof", "diff", "--format", "j"}, ""),
              (std::set<std::string>{"json"}));
    EXPECT_TRUE(shell.complete({"cprof", "help", ""}, "").contains("flame"));
  }
}

TEST_F(OfflineInstall, ShellsOfferFiles) {
  const Folder folder;
  for (const char* name : {"before.data", "after.data"}) std::ofstream(folder.File(name)) << name;
  const std::set<std::string> both = {"before.data", "after.data"};
  for (const Shell& shell : kShells) {
    SCOPED_TRACE(shell.name);
    EXPECT_EQ(shell.complete({"cprof", "report", "-i", ""}, folder.path()), both);
    EXPECT_EQ(shell.complete({"cprof", "diff", ""}, folder.path()), both);
    EXPECT_EQ(shell.complete({"cprof", "diff", "before.data", "a"}, folder.path()),
              (std::set<std::string>{"after.data"}));
    EXPECT_EQ(shell.complete({"cprof", "flame", "--diff", "before.data", "a"}, folder.path()),
              (std::set<std::string>{"after.data"}));
  }
}

TEST_F(OfflineInstall, ShellsOfferWhatCanBeRecorded) {
  if (!IsOffered("record")) {
    EXPECT_FALSE(Bash({"cprof", ""}).contains("record"));
    return;
  }
  const std::string pid = std::to_string(getpid());
  for (const Shell& shell : kShells) {
    SCOPED_TRACE(shell.name);
    const std::set<std::string> pids = shell.complete({"cprof", "record", "-p", pid}, "");
    EXPECT_TRUE(pids.contains(pid)) << pids.size();
    std::set<std::string> adapters = shell.complete({"cprof", "record", "-e", "sched,io"}, "");
    EXPECT_TRUE(adapters.contains("sched,io_uring") || adapters.contains("io_uring"));
    EXPECT_EQ(adapters.size(), 1u);
    EXPECT_TRUE(shell.complete({"cprof", "record", "-q", "--", "mkf"}, "").contains("mkfifo"));
  }
}

TEST_F(OfflineInstall, ShellsOfferTheOptionsOfHelp) {
  size_t compared = 0;
  for (const char* command : {"record", "report", "graph", "script", "inject", "flame", "diff"}) {
    if (!IsOffered(command)) continue;
    const Outcome help = Run({"cprof", command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    std::set<std::string> options;
    for (const std::string& option : HelpOptions(help.out)) {
      if (option.starts_with("--")) options.insert(option);
    }
    for (const Shell& shell : kShells) {
      // Some offer "--format=" where a value follows.
      std::set<std::string> offered;
      for (std::string option : shell.complete({"cprof", command, "--"}, "")) {
        offered.insert(option.substr(0, option.find('=')));
      }
      offered.erase("--");
      EXPECT_EQ(offered, options) << shell.name << " " << command;
      ++compared;
    }
  }
  EXPECT_GE(compared, 18u);
}

}  // namespace
}  // namespace cprof::test
