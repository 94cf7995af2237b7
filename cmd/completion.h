// Completions of shells, made from the options as they are parsed.
#ifndef CPROF_CMD_COMPLETION_H_
#define CPROF_CMD_COMPLETION_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace cprof {

// What may stand as a value, as far as a shell can say.
struct CompletionValue {
  enum class Kind { kNone, kAnything, kWords, kFile, kPid, kTid, kCpu, kCommand };
  Kind kind = Kind::kNone;
  bool list = false;               // several, separated by commas
  int count = 1;                   // so many in a row
  std::string name;                // for people: "FILE"
  std::vector<std::string> words;  // kWords
};

struct CompletionOption {
  std::vector<std::string> names;  // with their dashes
  std::string description;
  CompletionValue value;
};

struct CompletionCommand {
  std::string name;
  std::string summary;
  std::vector<CompletionOption> options;
  std::vector<CompletionValue> positionals;
};

// The whole command line: options of cprof itself, and its commands.
struct CompletionTable {
  std::vector<CompletionOption> options;
  std::vector<CompletionCommand> commands;
};
// By the type names and checks of the options (see the kType names in options.h); what is hidden
// from help is not in it.
CompletionTable MakeCompletionTable(const CLI::App& app);

std::string BashCompletion(const CompletionTable& table);
std::string ZshCompletion(const CompletionTable& table);
std::string FishCompletion(const CompletionTable& table);

}  // namespace cprof

#endif  // CPROF_CMD_COMPLETION_H_
