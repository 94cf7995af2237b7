// One command of cprof as data: name, words of help, options, action.
#ifndef CPROF_CMD_SUBCOMMAND_H_
#define CPROF_CMD_SUBCOMMAND_H_

#include <functional>

#include "cmd/options.h"

namespace cprof {

// Exit codes of every command, as in the man pages.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  // the world refused
inline constexpr int kExitUsage = 2;    // the command line is wrong

struct Subcommand {
  const char* name;
  const char* summary;  // one line for `cprof --help`
  // Adds its options and returns the action, which runs after parsing and returns an exit code.
  std::function<int()> (*setup)(Options& options);
};

std::function<int()> SetupRecord(Options& options);
std::function<int()> SetupReport(Options& options);
std::function<int()> SetupGraph(Options& options);
std::function<int()> SetupScript(Options& options);
std::function<int()> SetupInject(Options& options);
std::function<int()> SetupFlame(Options& options);
std::function<int()> SetupDiff(Options& options);
// These two look at all commands set up before them.
std::function<int()> SetupHelp(Options& options);
std::function<int()> SetupCompletion(Options& options);

}  // namespace cprof

#endif  // CPROF_CMD_SUBCOMMAND_H_
