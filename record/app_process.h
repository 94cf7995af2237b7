// A process as the app adapter sees it: held by a pidfd, its mappings, seccomp and clock offset.
#ifndef CPROF_RECORD_APP_PROCESS_H_
#define CPROF_RECORD_APP_PROCESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cprof {

// Closes what it holds. Never negative and open at once.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  ~OwnedFd();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// One line of /proc/PID/maps.
struct MapsEntry {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  uint64_t inode = 0;
  std::string_view permissions;  // "r-xp"
  std::string_view device;       // "fd:00"
  std::string_view path;         // may be anything that its owner wrote there
};
// The entries point into text. Lines that make no sense are left out.
std::vector<MapsEntry> ParseMaps(std::string_view text);

// What CLOCK_MONOTONIC of a time namespace is ahead, from the text of timens_offsets.
std::optional<int64_t> ParseMonotonicOffset(std::string_view text);

// Where a process stands with seccomp, from one status file.
enum class SeccompMode : uint8_t { kNone = 0, kStrict = 1, kFilter = 2 };
SeccompMode ParseSeccompMode(std::string_view status);

class AppProcess {
 public:
  // Nothing where there is no such process.
  static std::optional<AppProcess> Open(uint32_t tgid);

  uint32_t tgid() const { return tgid_; }
  // Whether the process that was opened still runs, and so whether the number is still its own.
  bool alive() const;
  // The text of /proc/PID/maps; empty once the process is gone.
  std::string ReadMaps() const;
  // Opens what is mapped at an entry, by the mapping and not by its path. Invalid where it is gone.
  OwnedFd OpenMapping(const MapsEntry& entry, int flags) const;
  bool ReadMemory(uint64_t address, void* to, size_t size_bytes) const;
  // The strictest mode among its threads.
  SeccompMode seccomp() const;
  // What its CLOCK_MONOTONIC is ahead of the kernel's own; nothing where that cannot be known.
  std::optional<int64_t> MonotonicOffset() const;

 private:
  AppProcess(uint32_t tgid, OwnedFd pidfd) : tgid_(tgid), pidfd_(std::move(pidfd)) {}
  std::string Path(std::string_view name) const;

  uint32_t tgid_ = 0;
  OwnedFd pidfd_;
};

}  // namespace cprof

#endif  // CPROF_RECORD_APP_PROCESS_H_
