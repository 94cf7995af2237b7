// Output files of report, graph, flame and inject.
#include "cmd/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cmd/input.h"
#include "cmd/subcommand.h"

namespace cprof {

Output::Output(int fd, bool owned, std::string name)
    : fd_(fd), owned_(owned), name_(std::move(name)), sink_(MakeFdSink(fd, name_)) {}

Output::~Output() {
  if (owned_ && fd_ >= 0) ::close(fd_);
}

Result<std::unique_ptr<Output>> Output::Open(const std::string& path, const Input& input,
                                             mode_t mode, const Input* second) {
  if (path.empty() || path == "-") {
    return std::unique_ptr<Output>(new Output(STDOUT_FILENO, false, "standard output"));
  }
  struct stat status {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  for (const Input* read : {&input, second}) {
    if (is_there && read != nullptr && read->file &&
        *read->file == std::pair(status.st_dev, status.st_ino)) {
      return Error{path + " is the recording that is read", "write to another file with -o"};
    }
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) {
    return Error{"cannot write " + path + ": " + std::strerror(errno),
                 "name a file in a folder that you may write to"};
  }
  return std::unique_ptr<Output>(new Output(fd, true, path));
}

Result<void> Output::Close() {
  if (!owned_ || fd_ < 0) return {};
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) return Error{"cannot write " + name_ + ": " + std::strerror(errno), ""};
  return {};
}

int FinishOutput(Output& output, const Result<void>& written, int exit_code) {
  Result<void> closed = output.Close();
  const Result<void>& first = written ? closed : written;
  if (first) return exit_code;
  // Whoever closed the pipe (head, a pager) has seen enough; the exit code tells.
  if (errno != EPIPE) PrintError(first.error());
  return exit_code == kExitOk ? kExitFailure : exit_code;
}

}  // namespace cprof
