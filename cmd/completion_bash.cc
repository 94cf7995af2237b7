// The completion of bash, for the package bash-completion.
#include <string_view>

#include "cmd/completion.h"

namespace cprof {
namespace {

using Kind = CompletionValue::Kind;

constexpr std::string_view kHead =
    R"(# bash completion for cprof; made from its options, do not edit.

# Completes the last of several words that are separated by commas.
_cprof_list() {
  local prefix=
  [[ $cur == *,* ]] && prefix=${cur%,*},
  COMPREPLY=($(compgen -P "$prefix" -W "$1" -- "${cur##*,}"))
  compopt -o nospace
}

_cprof() {
  local cur prev words cword split
  _init_completion -s || return
  local command= i
  for ((i = 1; i < cword; i++)); do
    if [[ ${words[i]} != -* ]]; then
      command=${words[i]}
      break
    fi
  done
)";

constexpr std::string_view kTail = R"(}

complete -F _cprof cprof
)";

std::string Action(const CompletionValue& value) {
  std::string words;
  for (const std::string& word : value.words) words += (words.empty() ? "" : " ") + word;
  switch (value.kind) {
    case Kind::kFile: return "_filedir";
    case Kind::kWords:
      return value.list ? "_cprof_list \"" + words + "\""
                        : "COMPREPLY=($(compgen -W \"" + words + "\" -- \"$cur\"))";
    case Kind::kPid: return "_cprof_list \"$(command ps axo pid=)\"";
    case Kind::kTid: return "_cprof_list \"$(command ps axLo tid=)\"";
    case Kind::kCpu: return "_cprof_list \"$(seq 0 $(($(nproc --all) - 1)))\"";
    default: return ":";
  }
}

std::string Names(const std::vector<CompletionOption>& options, const char* between) {
  std::string text;
  for (const CompletionOption& option : options) {
    for (const std::string& name : option.names) text += (text.empty() ? "" : between) + name;
  }
  return text;
}

void AppendCommand(const CompletionCommand& command, std::string* out) {
  *out += "    " + command.name + ")\n";
  for (const CompletionValue& value : command.positionals) {
    if (value.kind != Kind::kCommand) continue;
    *out +=
        "      for ((i = 2; i < cword; i++)); do\n"
        "        if [[ ${words[i]} == -- ]]; then\n"
        "          _command_offset $((i + 1))\n"
        "          return\n"
        "        fi\n"
        "      done\n";
  }
  *out += "      case $prev in\n";
  std::string second;  // of options that take two values
  for (const CompletionOption& option : command.options) {
    if (option.value.kind == Kind::kNone) continue;
    const std::string names = Names({option}, "|");
    *out += "        " + names + ") " + Action(option.value) + "; return ;;\n";
    if (option.value.count > 1) {
      second += "        " + names + ") " + Action(option.value) + "; return ;;\n";
    }
  }
  *out += "      esac\n";
  if (!second.empty()) {
    *out += "      case ${words[cword - 2]} in\n" + second + "      esac\n";
  }
  *out += "      $split && return\n      if [[ $cur == -* ]]; then\n";
  *out += "        COMPREPLY=($(compgen -W \"" + Names(command.options, " ") + "\" -- \"$cur\"))\n";
  for (const CompletionValue& value : command.positionals) {
    if (value.kind != Kind::kFile && value.kind != Kind::kWords) continue;
    // What positions there are is alike.
    *out += "      else\n        " + Action(value) + "\n";
    break;
  }
  *out += "      fi\n      ;;\n";
}

}  // namespace

std::string BashCompletion(const CompletionTable& table) {
  std::string out(kHead);
  std::string commands;
  for (const CompletionCommand& command : table.commands) {
    commands += (commands.empty() ? "" : " ") + command.name;
  }
  out += "  case $command in\n    '')\n      COMPREPLY=($(compgen -W \"" + commands + " " +
         Names(table.options, " ") + "\" -- \"$cur\"))\n      ;;\n";
  for (const CompletionCommand& command : table.commands) AppendCommand(command, &out);
  out += "  esac\n";
  return out + std::string(kTail);
}

}  // namespace cprof
