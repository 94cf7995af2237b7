// Opens the output and writes to it.
#include "record/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace cprof {
namespace {

const char kReadable[] = "what was written up to there can be read";

std::string HintFor(int error) {
  switch (error) {
    case ENOSPC: return std::string("free some space, or write elsewhere with -o; ") + kReadable;
    case EDQUOT: return std::string("the disk quota is used up; ") + kReadable;
    case EFBIG: return std::string("raise the limit of file sizes (ulimit -f); ") + kReadable;
    case EPIPE: return "the reader of the pipe has gone";
    default: return "";
  }
}

class OutputSink : public ByteSink {
 public:
  OutputSink(int fd, std::string name, bool owns_fd, std::atomic<bool>* refused)
      : fd_(fd), name_(std::move(name)), owns_fd_(owns_fd), refused_(refused) {
    struct stat status {};
    is_file_ = owns_fd && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  }
  ~OutputSink() override {
    if (owns_fd_) close(fd_);
  }

  Result<void> Write(std::span<const uint8_t> bytes) override {
    const size_t wanted = bytes.size();
    while (!bytes.empty()) {
      const ssize_t put = write(fd_, bytes.data(), bytes.size());
      if (put > 0) {
        bytes = bytes.subspan(static_cast<size_t>(put));
      } else if (put < 0 && errno != EINTR) {
        const int error = errno;
        *refused_ = true;
        // A failing cut leaves a torn tail, which readers know.
        if (is_file_ && ftruncate(fd_, static_cast<off_t>(size_bytes_)) != 0) is_file_ = false;
        return Error{"cannot write to " + name_ + ": " + std::strerror(error), HintFor(error)};
      }
    }
    size_bytes_ += wanted;
    return {};
  }

 private:
  const int fd_;
  const std::string name_;
  const bool owns_fd_;
  std::atomic<bool>* const refused_;
  bool is_file_ = false;
  uint64_t size_bytes_ = 0;
};

Error CannotOpen(const std::string& path, int error) {
  return {"cannot write '" + path + "': " + std::strerror(error),
          "choose another file with -o FILE"};
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// What stands at path now: nothing, a file to be kept as .old, or something to be opened as it is.
enum class Present { kNothing, kEmptyFile, kFile, kOther };

Result<Present> Inspect(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return Present::kNothing;
    return CannotOpen(path, errno);
  }
  if (S_ISLNK(status.st_mode)) {
    return Error{"'" + path + "' is a symbolic link, which is not followed",
                 "give the file itself with -o FILE, or remove the link"};
  }
  if (S_ISDIR(status.st_mode)) return CannotOpen(path, EISDIR);
  if (!S_ISREG(status.st_mode)) return Present::kOther;
  if (status.st_uid != geteuid()) {
    return Error{"'" + path + "' belongs to another user (uid " + std::to_string(status.st_uid) +
                     ") and is left alone",
                 "choose another file with -o FILE, or remove it"};
  }
  return status.st_size == 0 ? Present::kEmptyFile : Present::kFile;
}

}  // namespace

Result<void> CheckOutput(const std::string& path) {
  if (path == "-") {
    if (isatty(STDOUT_FILENO) == 1) {
      return Error{"a recording is binary and is not written to a terminal",
                   "send it on, as in 'cprof record -o - ... | cprof report -i -', or use -o FILE"};
    }
    return {};
  }
  if (path.empty()) return Error{"the name of the output is empty", "give one with -o FILE"};
  const auto present = Inspect(path);
  if (!present) return present.error();
  const std::string folder = FolderOf(path);
  if (*present == Present::kOther) {
    if (access(path.c_str(), W_OK) != 0) return CannotOpen(path, errno);
  } else if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return CannotOpen(path, errno);
  }
  return {};
}

Result<std::unique_ptr<ByteSink>> OpenOutput(const std::string& path, std::atomic<bool>* refused) {
  CPROF_RETURN_IF_ERROR(CheckOutput(path));
  if (path == "-") {
    return std::unique_ptr<ByteSink>(
        new OutputSink(STDOUT_FILENO, "standard output", false, refused));
  }
  const auto present = Inspect(path);
  if (!present) return present.error();
  if (*present == Present::kFile && std::rename(path.c_str(), (path + ".old").c_str()) != 0) {
    return Error{"cannot keep '" + path + "' as '" + path + ".old': " + std::strerror(errno),
                 "choose another file with -o FILE"};
  }
  if (*present == Present::kEmptyFile && unlink(path.c_str()) != 0) return CannotOpen(path, errno);
  int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
  if (*present != Present::kOther) flags |= O_CREAT | O_EXCL;
  const int fd = open(path.c_str(), flags, 0600);
  if (fd < 0) return CannotOpen(path, errno);
  if (isatty(fd) == 1) {
    close(fd);
    return Error{"'" + path + "' is a terminal, and a recording is binary", "use -o FILE"};
  }
  return std::unique_ptr<ByteSink>(new OutputSink(fd, "'" + path + "'", true, refused));
}

}  // namespace cprof
