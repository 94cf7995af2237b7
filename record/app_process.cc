// Reads what the app adapter needs to know of a process.
#include "record/app_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>

#include "record/procfs.h"

namespace cprof {
namespace {

// Text of maps: a process may have up to 65530 mappings (vm.max_map_count) of some 100 bytes.
constexpr size_t kMapsLimitBytes = 16 << 20;

std::string_view NextWord(std::string_view* line) {
  const size_t begin = std::min(line->find_first_not_of(' '), line->size());
  const size_t end = std::min(line->find(' ', begin), line->size());
  const std::string_view word = line->substr(begin, end - begin);
  line->remove_prefix(end);
  return word;
}

template <typename T>
bool ParseWhole(std::string_view text, T* out, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseMapsLine(std::string_view line, MapsEntry* entry) {
  const std::string_view range = NextWord(&line);
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos) return false;
  entry->permissions = NextWord(&line);
  const std::string_view offset = NextWord(&line);
  entry->device = NextWord(&line);
  const std::string_view inode = NextWord(&line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  entry->path = line;
  return ParseWhole(range.substr(0, dash), &entry->start, 16) &&
         ParseWhole(range.substr(dash + 1), &entry->end, 16) &&
         ParseWhole(offset, &entry->file_offset, 16) && ParseWhole(inode, &entry->inode, 10) &&
         entry->permissions.size() == 4 && entry->start < entry->end;
}

// The number of a namespace; 0 where it cannot be read.
uint64_t NamespaceInode(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

std::vector<MapsEntry> ParseMaps(std::string_view text) {
  std::vector<MapsEntry> entries;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    MapsEntry entry;
    if (ParseMapsLine(text.substr(0, end), &entry)) entries.push_back(entry);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return entries;
}

std::optional<int64_t> ParseMonotonicOffset(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (NextWord(&line) != "monotonic") continue;
    int64_t seconds = 0, nanoseconds = 0;
    if (!ParseWhole(NextWord(&line), &seconds, 10) ||
        !ParseWhole(NextWord(&line), &nanoseconds, 10)) {
      return std::nullopt;
    }
    // A clock so far off that the sum would not fit is no clock.
    if (seconds > 9'000'000'000 || seconds < -9'000'000'000) return std::nullopt;
    return seconds * 1'000'000'000 + nanoseconds;
  }
  return std::nullopt;
}

SeccompMode ParseSeccompMode(std::string_view status) {
  const size_t at = status.find("\nSeccomp:");
  if (at == std::string_view::npos) return SeccompMode::kNone;
  const size_t digit = status.find_first_of("012", at + 9);
  if (digit == std::string_view::npos) return SeccompMode::kNone;
  return static_cast<SeccompMode>(status[digit] - '0');
}

std::optional<AppProcess> AppProcess::Open(uint32_t tgid) {
  OwnedFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(tgid), 0)));
  if (!pidfd.valid()) return std::nullopt;
  return AppProcess(tgid, std::move(pidfd));
}

bool AppProcess::alive() const {
  pollfd poll_fd = {pidfd_.get(), POLLIN, 0};
  return poll(&poll_fd, 1, 0) == 0;
}

std::string AppProcess::Path(std::string_view name) const {
  return "/proc/" + std::to_string(tgid_) + "/" + std::string(name);
}

std::string AppProcess::ReadMaps() const {
  std::string text = ReadSmallFile(Path("maps"), kMapsLimitBytes).value_or("");
  return alive() ? text : std::string();
}

OwnedFd AppProcess::OpenMapping(const MapsEntry& entry, int flags) const {
  char name[64];
  std::snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, entry.start, entry.end);
  OwnedFd fd(open(Path(name).c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (fd.valid() && !alive()) return OwnedFd();
  return fd;
}

bool AppProcess::ReadMemory(uint64_t address, void* to, size_t size_bytes) const {
  const OwnedFd memory(open(Path("mem").c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory.valid()) return false;
  const ssize_t got = pread(memory.get(), to, size_bytes, static_cast<off_t>(address));
  return got == static_cast<ssize_t>(size_bytes) && alive();
}

SeccompMode AppProcess::seccomp() const {
  SeccompMode worst = SeccompMode::kNone;
  for (const uint32_t tid : ListThreads(tgid_)) {
    const auto status = ReadSmallFile(Path("task/" + std::to_string(tid) + "/status"), 1 << 16);
    if (!status) continue;
    const SeccompMode mode = ParseSeccompMode(*status);
    if (mode == SeccompMode::kStrict) return mode;
    worst = std::max(worst, mode);
  }
  return worst;
}

std::optional<int64_t> AppProcess::MonotonicOffset() const {
  const uint64_t theirs = NamespaceInode(Path("ns/time"));
  if (theirs == 0) return 0;  // a kernel without time namespaces
  // The file tells the offsets of the namespace for children, which is not always its own.
  if (theirs != NamespaceInode(Path("ns/time_for_children"))) return std::nullopt;
  const auto text = ReadSmallFile(Path("timens_offsets"), 4096);
  if (!text) return std::nullopt;
  return ParseMonotonicOffset(*text);
}

}  // namespace cprof
