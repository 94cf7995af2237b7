// `cprof help`: the manual page of a command where there is one to show and a terminal to show it
// on, else what --help prints.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cmd/subcommand.h"

namespace cprof {
namespace {

// Whether `man` is there and knows the page.
bool HasManPage(const std::string& page) {
  std::string words[] = {"man", "-w", page};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const bool spawned = posix_spawnp(&pid, "man", &actions, nullptr, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return spawned && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

int Run(const CLI::App& root, const std::string& command) {
  const std::string page = command.empty() ? "cprof" : "cprof-" + command;
  if (isatty(STDOUT_FILENO) != 0 && HasManPage(page)) {
    std::signal(SIGPIPE, SIG_DFL);  // as man expects it
    execlp("man", "man", page.c_str(), nullptr);
  }
  // App::help of the root would be that of this command, for it was given.
  const CLI::App& app = command.empty() ? root : *root.get_subcommand(command);
  const std::string name = root.get_name() + (command.empty() ? "" : " " + command);
  const std::string text = root.get_formatter()->make_help(&app, name, CLI::AppFormatMode::Normal);
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

}  // namespace

std::function<int()> SetupHelp(Options& options) {
  const CLI::App& root = *options.app().get_parent();
  std::vector<std::string> commands;
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    if (command != &options.app()) commands.push_back(command->get_name());
  }
  const auto command = std::make_shared<std::string>();
  options.Add("command", *command, "the command; none: cprof itself").OneOf(commands);
  return [&root, command] { return Run(root, *command); };
}

}  // namespace cprof
