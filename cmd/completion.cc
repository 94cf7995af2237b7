// Reads the option table of the parser.
#include "cmd/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

#include "cmd/subcommand.h"
#include "format/verb.h"

namespace cprof {
namespace {

// "TEXT:{text,json}" -> text, json.
std::vector<std::string> CheckedWords(const std::string& type) {
  const size_t begin = type.find('{');
  const size_t end = type.find('}', begin);
  std::vector<std::string> words;
  if (begin == std::string::npos || end == std::string::npos) return words;
  for (size_t at = begin + 1; at < end;) {
    const size_t comma = std::min(type.find(',', at), end);
    words.push_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

std::vector<std::string> AdapterWords() {
  std::vector<std::string> words;
  for (const AdapterInfo& adapter : AllAdapters()) {
    if (adapter.id != Adapter::kRecorder) words.emplace_back(adapter.name);
  }
  return words;
}

CompletionValue ValueOf(const CLI::Option& option) {
  using Kind = CompletionValue::Kind;
  CompletionValue value;
  const bool is_flag = !option.get_positional() && option.get_items_expected_min() == 0;
  if (is_flag) return value;
  const std::string type = option.get_type_name();
  value.kind = Kind::kAnything;
  value.name = type.substr(0, type.find_first_of(":["));
  value.count = std::clamp(option.get_expected_min(), 1, 8);
  value.words = CheckedWords(type);
  if (!value.words.empty()) {
    value.kind = Kind::kWords;
    value.name = "WORD";
  } else if (type == kTypeFile) {
    value.kind = Kind::kFile;
  } else if (type == kTypeCommand) {
    value.kind = Kind::kCommand;
  } else if (type == kTypeAdapters) {
    value.kind = Kind::kWords;
    value.words = AdapterWords();
  } else if (type == kTypePids) {
    value.kind = Kind::kPid;
  } else if (type == kTypeTids) {
    value.kind = Kind::kTid;
  } else if (type == kTypeCpus) {
    value.kind = Kind::kCpu;
  }
  value.list = type.find("[,") != std::string::npos && value.kind != Kind::kAnything;
  return value;
}

void AddOptions(const CLI::App& app, CompletionCommand* command) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) {
      command->positionals.push_back(ValueOf(*option));
      continue;
    }
    CompletionOption entry;
    for (const std::string& name : option->get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) entry.names.push_back("--" + name);
    entry.description = option->get_description();
    entry.value = ValueOf(*option);
    command->options.push_back(std::move(entry));
  }
}

}  // namespace

CompletionTable MakeCompletionTable(const CLI::App& app) {
  CompletionCommand whole;
  AddOptions(app, &whole);
  CompletionTable table;
  table.options = std::move(whole.options);
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_group().empty()) continue;
    CompletionCommand command;
    command.name = sub->get_name();
    command.summary = sub->get_description();
    AddOptions(*sub, &command);
    table.commands.push_back(std::move(command));
  }
  return table;
}

std::function<int()> SetupCompletion(Options& options) {
  options.app().group("");  // for whoever packages cprof; not in --help
  const auto shell = std::make_shared<std::string>();
  options.Add("shell", *shell, "bash, zsh or fish").Required().OneOf({"bash", "zsh", "fish"});
  const CLI::App& root = *options.app().get_parent();
  return [&root, shell] {
    const CompletionTable table = MakeCompletionTable(root);
    const std::string text = *shell == "bash"  ? BashCompletion(table)
                             : *shell == "zsh" ? ZshCompletion(table)
                                               : FishCompletion(table);
    std::fputs(text.c_str(), stdout);
    return kExitOk;
  };
}

}  // namespace cprof
