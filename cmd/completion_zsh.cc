// The completion of zsh: a function _cprof for the completion system.
#include <string_view>

#include "cmd/completion.h"

namespace cprof {
namespace {

using Kind = CompletionValue::Kind;

// Inside of single quotes and of a specification, where colons and brackets separate.
std::string Quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string Words(const CompletionValue& value, const char* between) {
  std::string text;
  for (const std::string& word : value.words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string Action(const CompletionValue& value) {
  switch (value.kind) {
    case Kind::kFile: return "_files";
    case Kind::kWords:
      return value.list ? "_sequence compadd - " + Words(value, " ")
                        : "(" + Words(value, " ") + ")";
    case Kind::kPid: return "_sequence compadd - $(command ps axo pid=)";
    case Kind::kTid: return "_sequence compadd - $(command ps axLo tid=)";
    case Kind::kCpu: return "_sequence compadd - {0..$(($(nproc --all) - 1))}";
    default: return " ";
  }
}

void AppendOption(const CompletionOption& option, const char* indent, std::string* out) {
  std::string names, excluded;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ",") + name;
    excluded += (excluded.empty() ? "" : " ") + name;
  }
  *out += indent;
  // Lists may be given more than once; all else excludes itself.
  *out += option.value.list ? "'*'" : "'(" + excluded + ")'";
  *out += option.names.size() > 1 ? "{" + names + "}" : names;
  *out += "'[" + Quoted(option.description) + "]";
  for (int i = 0; option.value.kind != Kind::kNone && i < option.value.count; ++i) {
    *out += ":" + Quoted(option.value.name) + ":" + Action(option.value);
  }
  *out += "'";
}

void AppendCommand(const CompletionCommand& command, std::string* out) {
  *out += "        " + command.name + ")\n          _arguments -s -S";
  for (const CompletionOption& option : command.options) {
    *out += " \\\n";
    AppendOption(option, "            ", out);
  }
  for (const CompletionValue& value : command.positionals) {
    *out += " \\\n            ";
    if (value.kind == Kind::kCommand) {
      *out += "'*::command: _normal'";
    } else {
      *out += "':" + Quoted(value.name) + ":" + Action(value) + "'";
    }
  }
  *out += "\n          ;;\n";
}

}  // namespace

std::string ZshCompletion(const CompletionTable& table) {
  std::string out =
      "#compdef cprof\n"
      "# zsh completion for cprof; made from its options, do not edit.\n\n"
      "_cprof() {\n"
      "  local curcontext=\"$curcontext\" state line\n"
      "  typeset -A opt_args\n"
      "  _arguments -C";
  for (const CompletionOption& option : table.options) {
    out += " \\\n";
    AppendOption(option, "    ", &out);
  }
  out +=
      " \\\n    '1: :->command' \\\n    '*:: :->words'\n"
      "  case $state in\n"
      "    command)\n"
      "      local -a commands=(\n";
  for (const CompletionCommand& command : table.commands) {
    out += "        '" + command.name + ":" + Quoted(command.summary) + "'\n";
  }
  out +=
      "      )\n"
      "      _describe -t commands 'cprof command' commands\n"
      "      ;;\n"
      "    words)\n"
      "      curcontext=\"${curcontext%:*:*}:cprof-$words[1]:\"\n"
      "      case $words[1] in\n";
  for (const CompletionCommand& command : table.commands) AppendCommand(command, &out);
  out +=
      "      esac\n"
      "      ;;\n"
      "  esac\n"
      "}\n\n"
      "_cprof \"$@\"\n";
  return out;
}

}  // namespace cprof
