// The completion of fish.
#include <string_view>

#include "cmd/completion.h"

namespace cprof {
namespace {

using Kind = CompletionValue::Kind;

constexpr std::string_view kHead =
    R"(# fish completion for cprof; made from its options, do not edit.

# The command behind --, completed as if it stood alone.
function __cprof_command
    set -l words (commandline -opc) (commandline -ct)
    set -l at (contains -i -- -- $words)
    or return
    complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-1]))
end

# Whether the word before the last one is this.
function __cprof_before_last
    set -l words (commandline -opc)
    test (count $words) -gt 1
    and test "$words[-2]" = $argv[1]
end

)";

// Inside of single quotes.
std::string Quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string Words(const CompletionValue& value) {
  std::string text;
  for (const std::string& word : value.words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The options of `complete` that offer a value; empty where any will do.
std::string Offer(const CompletionValue& value) {
  switch (value.kind) {
    case Kind::kNone: return "";
    case Kind::kFile: return " -r -F";
    case Kind::kWords:
      return value.list ? " -x -a '(__fish_complete_list , \"string split \\' \\' \\'" +
                              Words(value) + "\\'\")'"
                        : " -x -a '" + Words(value) + "'";
    case Kind::kPid: return " -x -a '(__fish_complete_list , __fish_complete_pids)'";
    case Kind::kTid: return " -x -a '(__fish_complete_list , \"command ps axLo tid=\")'";
    case Kind::kCpu: return " -x -a '(__fish_complete_list , \"seq 0 (math (nproc --all) - 1)\")'";
    default: return " -x";
  }
}

std::string Names(const CompletionOption& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return text;
}

void AppendCommand(const CompletionCommand& command, std::string* out) {
  const std::string seen = "__fish_seen_subcommand_from " + command.name;
  const bool runs =
      !command.positionals.empty() && command.positionals.front().kind == Kind::kCommand;
  // Behind -- stand the words of another command.
  const std::string own = runs ? seen + "; and not contains -- -- (commandline -opc)" : seen;
  for (const CompletionOption& option : command.options) {
    *out += "complete -c cprof -n '" + own + "'" + Names(option) + " -d '" +
            Quoted(option.description) + "'" + Offer(option.value) + "\n";
    if (option.value.count > 1) {
      *out += "complete -c cprof -n '" + own + "; and __cprof_before_last " + option.names.back() +
              "'" + Offer(option.value) + "\n";
    }
  }
  if (runs) {
    *out += "complete -c cprof -n '" + seen +
            "; and contains -- -- (commandline -opc)' -x -a '(__cprof_command)'\n";
    return;
  }
  for (const CompletionValue& value : command.positionals) {
    if (value.kind != Kind::kFile && value.kind != Kind::kWords) continue;
    *out += "complete -c cprof -n '" + seen + "'" + Offer(value) + "\n";
    break;
  }
}

}  // namespace

std::string FishCompletion(const CompletionTable& table) {
  std::string out(kHead);
  out += "complete -c cprof -f\n";
  for (const CompletionOption& option : table.options) {
    out += "complete -c cprof -n __fish_use_subcommand" + Names(option) + " -d '" +
           Quoted(option.description) + "'\n";
  }
  for (const CompletionCommand& command : table.commands) {
    out += "complete -c cprof -n __fish_use_subcommand -a " + command.name + " -d '" +
           Quoted(command.summary) + "'\n";
  }
  for (const CompletionCommand& command : table.commands) AppendCommand(command, &out);
  return out;
}

}  // namespace cprof
