// Writes the oracle log from many threads and processes at once: each takes blocks of records.
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
uint32_t OwnTid();

// The log as one process sees it. A forked child uses its parent's; one that was started by exec
// joins it by its path.
class OracleFile {
 public:
  OracleFile() = default;
  // Whoever created the log cuts it to what was used, so every other writer must be done by then.
  ~OracleFile();
  OracleFile(const OracleFile&) = delete;
  OracleFile& operator=(const OracleFile&) = delete;

  // Creates path (0600; an old one is replaced) with room for `capacity` records. Fails in words.
  Result<void> Create(const std::string& path, uint64_t capacity);
  // Goes on with a log that another process created and still writes.
  Result<void> Join(const std::string& path);
  // Takes `count` records in a row. A log that overflows is no truth: it ends the process.
  OracleRecord* Take(uint64_t count);
  // The record that matches and has the latest before_ns; null where there is none.
  template <typename Matches>
  OracleRecord* FindLatest(Matches matches) {
    OracleRecord* latest = nullptr;
    OracleRecord* records = reinterpret_cast<OracleRecord*>(header_) + 1;
    const uint64_t count = std::atomic_ref(header_->next_record).load();
    for (uint64_t i = 0; i < count && i < capacity_; ++i) {
      if (!matches(records[i])) continue;
      if (latest == nullptr || records[i].before_ns >= latest->before_ns) latest = &records[i];
    }
    return latest;
  }
  // Hidden ids: unique in this log, never 0.
  uint64_t NewId();

 private:
  Result<void> Map(int fd, const std::string& path, uint64_t capacity);

  OracleHeader* header_ = nullptr;  // the records follow it
  uint64_t capacity_ = 0;
  int fd_ = -1;           // of the creator
  uint32_t creator_ = 0;  // its process
};

// One thread's end of the log.
class OracleWriter {
 public:
  // block_count: records taken at a time; a thread that lives for a moment needs few.
  explicit OracleWriter(OracleFile& file, uint64_t block_count = 256);
  // The next record, with tid filled in. The caller sets `truth` last; until then it does not
  // count.
  OracleRecord& Add();
  uint64_t NewId() { return file_.NewId(); }
  uint32_t tid() const { return tid_; }

 private:
  OracleFile& file_;
  OracleRecord* next_ = nullptr;
  OracleRecord* end_ = nullptr;
  uint64_t block_count_;
  uint32_t tid_;
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_WORKLOADS_ORACLE_WRITER_H_
