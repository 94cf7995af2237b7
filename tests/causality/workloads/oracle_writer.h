// Writes the oracle log from many threads at once: each takes blocks of records for itself.
#ifndef CPROF_TESTS_CAUSALITY_WORKLOADS_ORACLE_WRITER_H_
#define CPROF_TESTS_CAUSALITY_WORKLOADS_ORACLE_WRITER_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "format/result.h"
#include "tests/causality/oracle.h"

namespace cprof::causality {

// CLOCK_MONOTONIC, the clock of every recorded event.
uint64_t NowNs();

class OracleFile {
 public:
  OracleFile() = default;
  ~OracleFile();
  OracleFile(const OracleFile&) = delete;
  OracleFile& operator=(const OracleFile&) = delete;

  // Creates path (0600; an old one is replaced) with room for `capacity` records. Fails in words.
  Result<void> Create(const std::string& path, uint64_t capacity);
  // Takes `count` records in a row. A log that overflows is no truth: it ends the process.
  OracleRecord* Take(uint64_t count);
  // Hidden ids: unique in this log, never 0.
  uint64_t NewId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

 private:
  OracleRecord* records_ = nullptr;
  uint64_t capacity_ = 0;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> next_id_{1};
};

// One thread's end of the log.
class OracleWriter {
 public:
  explicit OracleWriter(OracleFile& file);
  // The next record, with tid filled in. The caller sets `truth` last.
  OracleRecord& Add();
  uint64_t NewId() { return file_.NewId(); }
  uint32_t tid() const { return tid_; }

 private:
  static constexpr uint64_t kBlockCount = 256;
  OracleFile& file_;
  OracleRecord* next_ = nullptr;
  OracleRecord* end_ = nullptr;
  uint32_t tid_;
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_WORKLOADS_ORACLE_WRITER_H_
