// The command behind `--`: started, held until the recorder is ready, watched, waited for.
#ifndef CPROF_RECORD_COMMAND_H_
#define CPROF_RECORD_COMMAND_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/result.h"

namespace cprof {

// The child exists from Prepare on and waits at a pipe before its exec, as in perf: its PID can be
// made a target, and nothing of the command is missed. Destroying it unreleased ends the child.
class Command {
 public:
  // With output_to_stderr its standard output goes there: ours carries the recording.
  static Result<std::unique_ptr<Command>> Prepare(const std::vector<std::string>& words,
                                                  bool output_to_stderr);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  int pidfd() const { return pidfd_; }  // readable when it has ended

  // Lets it run. The error is that of exec: not found, not executable.
  Result<void> Release();
  // Whether it has ended; collects its status.
  bool HasEnded();
  // Asks it to end; nothing where it has ended.
  void Terminate();
  void Kill();
  // Waits for the end, however long that takes.
  void Wait();

  // As a shell has it: the exit status, or 128 + the signal's number. 0 while it runs.
  int exit_code() const;
  // In words, for the footer: "exit 3", "signal 11".
  std::string status_text() const;

 private:
  Command() = default;
  std::string name_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int release_fd_ = -1;
  int error_fd_ = -1;
  bool ended_ = false;
  int wait_status_ = 0;
};

// The file that a command of that name is.
Result<std::string> FindCommand(const std::string& name);
// Whether a command of that name can be found and executed, before anything is prepared.
Result<void> CheckCommand(const std::string& name);

}  // namespace cprof

#endif  // CPROF_RECORD_COMMAND_H_
