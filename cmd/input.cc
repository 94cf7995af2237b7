// Opens what a command reads, and says in words why it cannot.
#include "cmd/input.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace cprof {
namespace {

constexpr size_t kProbeBytes = 16;

// Gives the probed bytes back first, then what follows; closes the descriptor that it owns.
class ProbedSource : public ByteSource {
 public:
  ProbedSource(int fd, bool owns_fd, std::string name)
      : fd_(fd), owns_fd_(owns_fd), rest_(MakeFdSource(fd, std::move(name))) {}
  ~ProbedSource() override {
    if (owns_fd_) ::close(fd_);
  }
  ProbedSource(const ProbedSource&) = delete;
  ProbedSource& operator=(const ProbedSource&) = delete;

  // Reads the first bytes, fewer where there are not so many.
  Result<std::span<const uint8_t>> Probe() {
    while (end_ < probe_.size()) {
      auto result = rest_->Read(std::span(probe_).subspan(end_));
      if (!result) return result.error();
      if (*result == 0) break;
      end_ += *result;
    }
    return std::span<const uint8_t>(probe_).first(end_);
  }

  Result<size_t> Read(std::span<uint8_t> buffer) override {
    if (at_ == end_) return rest_->Read(buffer);
    const size_t size = std::min(buffer.size(), end_ - at_);
    std::memcpy(buffer.data(), probe_.data() + at_, size);
    at_ += size;
    return size;
  }

 private:
  int fd_;
  bool owns_fd_;
  std::unique_ptr<ByteSource> rest_;
  std::array<uint8_t, kProbeBytes> probe_{};
  size_t at_ = 0;
  size_t end_ = 0;
};

std::string OpenHint(const std::string& path, int error) {
  if (error == ENOENT && path == kDefaultInput) {
    return "make a recording with 'cprof record', or name one with -i";
  }
  if (error == ENOENT) return "name a recording with -i";
  if (error == EACCES || error == EPERM) {
    return "recordings are readable by their owner only; try as that user or as root";
  }
  return "";
}

}  // namespace

Result<Input> OpenInput(const std::string& path) {
  Input input;
  const bool is_stdin = path == "-";
  input.name = is_stdin ? "standard input" : path;
  const int fd = is_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    return Error{"cannot open " + path + ": " + std::strerror(error), OpenHint(path, error)};
  }
  auto source = std::make_unique<ProbedSource>(fd, !is_stdin, input.name);
  struct stat status {};
  if (::fstat(fd, &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      return Error{path + " is a directory", "name a recording with -i"};
    }
    if (S_ISREG(status.st_mode)) input.file.emplace(status.st_dev, status.st_ino);
  }
  if (::isatty(fd) != 0) {
    return Error{input.name + " is a terminal, not a recording",
                 "name a recording with -i, or pipe one in"};
  }
  auto probe = source->Probe();
  if (!probe) return probe.error();
  if (probe->empty())
    return Error{input.name + " is empty",
                 "a recorder that was stopped at once writes nothing; record again"};
  input.is_text = LooksLikeText(*probe);
  input.source = std::move(source);
  return input;
}

PipelineOptions LineOptions() {
  PipelineOptions options;
  cpu_set_t cpus;
  options.two_threads = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) > 1;
  return options;
}

void PrintError(const Error& error) {
  std::fprintf(stderr, "cprof: error: %s\n", error.message.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "cprof: hint: %s\n", error.hint.c_str());
}

void PrintInputError(const Input& input, const Error& error) {
  PrintError({input.name + ": " + error.message, error.hint});
}

void PrintLosses(const Input& input, const ReadSummary& summary) {
  for (const LossEntry& loss : summary.losses) {
    std::fprintf(stderr, "cprof: warning: %s: %s: %llu times, %llu records, %llu bytes. %s\n",
                 input.name.c_str(), loss.name.c_str(), static_cast<unsigned long long>(loss.count),
                 static_cast<unsigned long long>(loss.records),
                 static_cast<unsigned long long>(loss.bytes), loss.advice.c_str());
  }
}

}  // namespace cprof
