// What the recorder says while it records and when it is done, in perf's manner.
#ifndef CPROF_RECORD_PROGRESS_H_
#define CPROF_RECORD_PROGRESS_H_

#include <cstdint>
#include <map>
#include <string>

#include "record/drain.h"

namespace cprof {

struct ProgressFigures {
  uint64_t elapsed_ns = 0;
  uint64_t events = 0;
  uint64_t bytes = 0;
  uint64_t lost = 0;
};

// "1.2 MB" with 1 MB = 10^6 bytes.
std::string FormatBytes(uint64_t bytes);
// "[ cprof record: 12.3 s, 123456 events, 1.2 MB, 0 lost ]"
std::string FormatProgress(const ProgressFigures& figures);
// "[ cprof record: Captured and wrote 1.2 MB cprof.data (123456 events) ]"
std::string FormatSummary(const ProgressFigures& figures, const std::string& output);
// One line that names what was lost, where and why; empty where nothing was.
std::string FormatLosses(const LossTotals& losses, const std::map<StreamId, StreamInfo>& streams);

// The line on a terminal that is drawn over and over; silent where standard error is none.
class ProgressLine {
 public:
  explicit ProgressLine(bool enabled);
  bool enabled() const { return enabled_; }
  void Show(const std::string& text);
  // Takes the line away, before anything else is printed.
  void Clear();

 private:
  bool enabled_;
  size_t width_ = 0;
};

}  // namespace cprof

#endif  // CPROF_RECORD_PROGRESS_H_
