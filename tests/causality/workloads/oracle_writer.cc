// Writes the oracle log: see oracle_writer.h.
#include "tests/causality/workloads/oracle_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cprof::causality {

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

OracleFile::~OracleFile() {
  if (records_ != nullptr) munmap(records_ - 1, (capacity_ + 1) * sizeof(OracleRecord));
}

Result<void> OracleFile::Create(const std::string& path, uint64_t capacity) {
  unlink(path.c_str());
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Error{"cannot create " + path + ": " + std::strerror(errno), ""};
  const size_t size_bytes = (capacity + 1) * sizeof(OracleRecord);
  void* memory = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(size_bytes)) == 0) {
    memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int reason = errno;
  close(fd);
  if (memory == MAP_FAILED) return Error{"cannot map " + path + ": " + std::strerror(reason), ""};
  OracleHeader header;
  header.tgid = static_cast<uint32_t>(getpid());
  header.capacity = capacity;
  std::memcpy(memory, &header, sizeof(header));
  records_ = static_cast<OracleRecord*>(memory) + 1;
  capacity_ = capacity;
  return {};
}

OracleRecord* OracleFile::Take(uint64_t count) {
  const uint64_t first = next_.fetch_add(count, std::memory_order_relaxed);
  CPROF_CHECK(first + count <= capacity_);
  return records_ + first;
}

OracleWriter::OracleWriter(OracleFile& file)
    : file_(file), tid_(static_cast<uint32_t>(syscall(SYS_gettid))) {}

OracleRecord& OracleWriter::Add() {
  if (next_ == end_) {
    next_ = file_.Take(kBlockCount);
    end_ = next_ + kBlockCount;
  }
  next_->tid = tid_;
  return *next_++;
}

}  // namespace cprof::causality
