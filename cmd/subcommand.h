// One command of cprof as data: name, words of help, options, action.
#ifndef CPROF_CMD_SUBCOMMAND_H_
#define CPROF_CMD_SUBCOMMAND_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace cprof {

// Exit codes of every command, as in the man pages.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  // the world refused
inline constexpr int kExitUsage = 2;    // the command line is wrong

struct Subcommand {
  const char* name;
  const char* summary;  // one line for `cprof --help`
  // Adds options to app and returns the action, which runs after parsing and returns an exit code.
  std::function<int()> (*setup)(CLI::App& app);
};

// What stands for a value in --help; completions know these (see completion.h).
inline constexpr const char* kTypeFile = "FILE";
inline constexpr const char* kTypeAdapters = "ADAPTER[,ADAPTER]";
inline constexpr const char* kTypePids = "PID[,PID]";
inline constexpr const char* kTypeTids = "TID[,TID]";
inline constexpr const char* kTypeCpus = "CPU[,CPU-CPU]";
inline constexpr const char* kTypeCommand = "-- COMMAND";

// A check for options whose empty value would mean that they are not there.
inline std::string IsNotEmpty(const std::string& value) {
  return value.empty() ? "needs a value" : "";
}

std::function<int()> SetupRecord(CLI::App& app);
std::function<int()> SetupReport(CLI::App& app);
std::function<int()> SetupGraph(CLI::App& app);
std::function<int()> SetupScript(CLI::App& app);
std::function<int()> SetupInject(CLI::App& app);
std::function<int()> SetupFlame(CLI::App& app);
std::function<int()> SetupDiff(CLI::App& app);
// These two look at all commands set up before them.
std::function<int()> SetupHelp(CLI::App& app);
std::function<int()> SetupCompletion(CLI::App& app);

}  // namespace cprof

#endif  // CPROF_CMD_SUBCOMMAND_H_
