// Writes the oracle log: see oracle_writer.h.
#include "tests/causality/workloads/oracle_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace cprof::causality {

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

uint32_t OwnTid() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

OracleFile::~OracleFile() {
  if (header_ == nullptr) return;
  const size_t size_bytes = (capacity_ + 1) * sizeof(OracleRecord);
  const bool is_creator = fd_ >= 0 && creator_ == static_cast<uint32_t>(getpid());
  uint64_t used = 0;
  if (is_creator) header_->capacity = used = header_->next_record;
  munmap(header_, size_bytes);
  if (is_creator) {
    CPROF_CHECK(ftruncate(fd_, static_cast<off_t>((used + 1) * sizeof(OracleRecord))) == 0);
  }
  if (fd_ >= 0) close(fd_);
}

Result<void> OracleFile::Create(const std::string& path, uint64_t capacity) {
  unlink(path.c_str());
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Error{"cannot create " + path + ": " + std::strerror(errno), ""};
  fd_ = fd;
  if (ftruncate(fd, static_cast<off_t>((capacity + 1) * sizeof(OracleRecord))) != 0) {
    return Error{"cannot size " + path + ": " + std::strerror(errno), ""};
  }
  CPROF_RETURN_IF_ERROR(Map(fd, path, capacity));
  *header_ = OracleHeader{};
  header_->tgid = creator_ = static_cast<uint32_t>(getpid());
  header_->capacity = capacity;
  return {};
}

Result<void> OracleFile::Join(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return Error{"cannot open " + path + ": " + std::strerror(errno), ""};
  OracleHeader header;
  Result<void> mapped = Error{path + " is not an oracle log", ""};
  if (pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
      std::memcmp(header.magic, OracleHeader{}.magic, sizeof(header.magic)) == 0) {
    mapped = Map(fd, path, header.capacity);
  }
  close(fd);
  return mapped;
}

Result<void> OracleFile::Map(int fd, const std::string& path, uint64_t capacity) {
  void* memory = mmap(nullptr, (capacity + 1) * sizeof(OracleRecord), PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return Error{"cannot map " + path + ": " + std::strerror(errno), ""};
  header_ = static_cast<OracleHeader*>(memory);
  capacity_ = capacity;
  return {};
}

OracleRecord* OracleFile::Take(uint64_t count) {
  const uint64_t first =
      std::atomic_ref(header_->next_record).fetch_add(count, std::memory_order_relaxed);
  CPROF_CHECK(first + count <= capacity_);
  return reinterpret_cast<OracleRecord*>(header_) + 1 + first;
}

uint64_t OracleFile::NewId() {
  return std::atomic_ref(header_->next_id).fetch_add(1, std::memory_order_relaxed);
}

OracleWriter::OracleWriter(OracleFile& file, uint64_t block_count)
    : file_(file), block_count_(block_count), tid_(OwnTid()) {}

OracleRecord& OracleWriter::Add() {
  if (next_ == end_) {
    next_ = file_.Take(block_count_);
    end_ = next_ + block_count_;
  }
  next_->tid = tid_;
  return *next_++;
}

}  // namespace cprof::causality
