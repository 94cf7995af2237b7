// Forks the command and holds it at a pipe.
#include "record/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace cprof {
namespace {

Error ExecError(const std::string& name, int error) {
  Error refusal{"cannot run '" + name + "': " + std::strerror(error), ""};
  if (error == ENOENT) refusal.hint = "the command stands behind '--' as in a shell, with its PATH";
  if (error == EACCES) refusal.hint = "is it a program, and executable?";
  return refusal;
}

// Runs in the child, between fork and exec: async-signal-safe calls only.
[[noreturn]] void HoldAndExec(char* const* words, int release_fd, int error_fd) {
  // The recorder's signal mask and ignored signals are not the command's business.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  char go = 0;
  ssize_t got = 0;
  do {
    got = read(release_fd, &go, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) _exit(0);  // The recorder gave up, and has said why.
  execvp(words[0], words);
  const int error = errno;
  if (write(error_fd, &error, sizeof(error)) < 0) _exit(126);
  _exit(error == ENOENT ? 127 : 126);
}

}  // namespace

Result<std::string> FindCommand(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (access(name.c_str(), X_OK) != 0) return ExecError(name, errno);
    return name;
  }
  const char* path = std::getenv("PATH");
  const std::string folders = path != nullptr ? path : "/bin:/usr/bin";
  int error = ENOENT;
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string folder = folders.substr(begin, end - begin);
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    if (errno == EACCES) error = EACCES;
    begin = end + 1;
  }
  return ExecError(name, error);
}

Result<void> CheckCommand(const std::string& name) {
  if (const auto found = FindCommand(name); !found) return found.error();
  return {};
}

Result<std::unique_ptr<Command>> Command::Prepare(const std::vector<std::string>& words,
                                                  bool output_to_stderr) {
  std::unique_ptr<Command> command(new Command);
  command->name_ = words[0];
  int release[2] = {-1, -1};
  int error[2] = {-1, -1};
  if (pipe2(release, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0) {
    const Error refusal{std::string("cannot make a pipe for the command: ") + std::strerror(errno),
                        ""};
    if (release[0] >= 0) close(release[0]);
    if (release[1] >= 0) close(release[1]);
    return refusal;
  }
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  command->pid_ = fork();
  if (command->pid_ == 0) {
    close(release[1]);
    close(error[0]);
    if (output_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
    HoldAndExec(pointers.data(), release[0], error[1]);
  }
  const int fork_error = errno;
  close(release[0]);
  close(error[1]);
  command->release_fd_ = release[1];
  command->error_fd_ = error[0];
  if (command->pid_ < 0) {
    return Error{std::string("cannot start the command: ") + std::strerror(fork_error), ""};
  }
  command->pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, command->pid_, 0));
  if (command->pidfd_ < 0) {
    return Error{std::string("cannot watch the command: ") + std::strerror(errno), ""};
  }
  return command;
}

Command::~Command() {
  if (release_fd_ >= 0) {
    close(release_fd_);
    release_fd_ = -1;
    if (pid_ > 0 && !ended_) Wait();  // It leaves at once.
  }
  if (error_fd_ >= 0) close(error_fd_);
  if (pidfd_ >= 0) close(pidfd_);
}

Result<void> Command::Release() {
  const char go = 1;
  ssize_t put = 0;
  do {
    put = write(release_fd_, &go, 1);
  } while (put < 0 && errno == EINTR);
  close(release_fd_);
  release_fd_ = -1;
  if (put != 1) return {};  // It was killed while it waited; its status will say so.
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(error_fd_, &error, sizeof(error));  // Ends without a word when exec succeeds.
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(error))) return {};
  Wait();
  return ExecError(name_, error);
}

bool Command::HasEnded() {
  if (!ended_ && waitpid(pid_, &wait_status_, WNOHANG) == pid_) ended_ = true;
  return ended_;
}

void Command::Terminate() {
  if (!HasEnded()) kill(pid_, SIGTERM);
}

void Command::Kill() {
  if (!HasEnded()) kill(pid_, SIGKILL);
}

void Command::Wait() {
  while (!ended_) {
    const pid_t got = waitpid(pid_, &wait_status_, 0);
    if (got == pid_ || (got < 0 && errno != EINTR)) ended_ = true;
  }
}

int Command::exit_code() const {
  if (!ended_) return 0;
  if (WIFSIGNALED(wait_status_)) return 128 + WTERMSIG(wait_status_);
  return WEXITSTATUS(wait_status_);
}

std::string Command::status_text() const {
  if (!ended_) return "running";
  if (WIFSIGNALED(wait_status_)) return "signal " + std::to_string(WTERMSIG(wait_status_));
  return "exit " + std::to_string(WEXITSTATUS(wait_status_));
}

}  // namespace cprof
