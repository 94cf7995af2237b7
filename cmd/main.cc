// The command `cprof`: finds the subcommand, parses its words, runs it, reports a full disk.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "cmd/input.h"
#include "cmd/subcommand.h"

namespace cprof {
namespace {

constexpr Subcommand kSubcommands[] = {
#ifdef CPROF_HAS_RECORD
    {"record", "record a process, its causal edges and stack samples", SetupRecord},
#endif
    {"report", "where each kind of request spent its time", SetupReport},
    {"graph", "print the causal graph as text", SetupGraph},
    {"script", "print a recording, one line an event", SetupScript},
    {"inject", "copy a recording with faults put into it", SetupInject},
    {"flame", "draw a flame graph as SVG", SetupFlame},
    {"diff", "what changed between two recordings, and why", SetupDiff},
    {"help", "the manual page of a command", SetupHelp},
    {"completion", "print what a shell needs to complete cprof", SetupCompletion},
};

// Names a word that stands where none may.
Error StrayWord(const std::string& word, const std::string& command) {
  if (command.empty()) return {"no such command: " + word, "'cprof --help' lists the commands"};
  if (word.starts_with('-')) {
    return {"'cprof " + command + "' has no option " + word,
            "'cprof " + command + " --help' lists the options"};
  }
  if (command == "record") {
    return {"unexpected words beside the command to record",
            "the command stands behind '--', and before that nothing but options"};
  }
  return {"'cprof " + command + "' takes no word '" + word + "'",
          "a recording is named with -i, as in 'cprof " + command + " -i " + word + "'"};
}

int Usage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const std::string command = commands.empty() ? "" : commands.front()->get_name();
  const bool stray = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                     (command.empty() && !app.remaining().empty());
  const std::vector<std::string> words = app.remaining(true);
  if (stray && !words.empty()) {
    PrintError(StrayWord(words.front(), command));
  } else if (command.empty()) {
    PrintError({"no command", "'cprof --help' lists the commands"});
  } else {
    PrintError({error.what(), "see 'cprof " + command + " --help'"});
  }
  return kExitUsage;
}

// Output that did not reach its file is a failure even where every write call said yes.
int CloseOutput(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  if (errno != EPIPE) {
    PrintError({std::string("cannot write to standard output: ") + std::strerror(errno),
                errno == ENOSPC ? "free some space or write elsewhere" : ""});
  }
  return exit_code == kExitOk ? kExitFailure : exit_code;
}

int Main(int argc, char** argv) {
  CLI::App app("cprof: where logical requests spend their time, across threads and the kernel",
               "cprof");
  app.set_version_flag("--version", "cprof " CPROF_VERSION);
  app.require_subcommand(1);
  std::function<int()> actions[std::size(kSubcommands)];
  CLI::App* parsed[std::size(kSubcommands)];
  for (size_t i = 0; i < std::size(kSubcommands); ++i) {
    parsed[i] = app.add_subcommand(kSubcommands[i].name, kSubcommands[i].summary);
    Options options(*parsed[i]);
    actions[i] = kSubcommands[i].setup(options);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return CloseOutput(Usage(app, error));
  }
  for (size_t i = 0; i < std::size(kSubcommands); ++i) {
    if (parsed[i]->parsed()) return CloseOutput(actions[i]());
  }
  return kExitUsage;
}

}  // namespace
}  // namespace cprof

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return cprof::Main(argc, argv);
}
