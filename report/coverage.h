// What a report rests on: how much was seen, what was lost, what could not be hooked.
#ifndef CPROF_REPORT_COVERAGE_H_
#define CPROF_REPORT_COVERAGE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "format/reader.h"
#include "report/graph.h"
#include "report/json_writer.h"

namespace cprof {

// Collects the facts of one recording; every renderer that prints a header feeds one.
class Coverage {
 public:
  void SetHeader(const SessionHeader& header) { header_ = header; }
  void SetFooter(const Footer& footer);
  void AddStream(const StreamInfo& stream);
  void AddBreak(const Break& lost);
  void SetSummary(const GraphSummary& summary) { summary_ = summary; }
  void SetRead(const ReadSummary& read) { read_ = read; }
  // Wall time of all requests, each instant counted once, and how much of it is unknown.
  void SetWall(uint64_t wall_ns, uint64_t unknown_ns) {
    wall_ns_ = wall_ns;
    unknown_ns_ = unknown_ns;
  }
  // The latest time that anything was final at.
  void SetFinal(uint64_t final_ns) { final_ns_ = final_ns; }

  const SessionHeader& header() const { return header_; }
  const GraphSummary& summary() const { return summary_; }
  const ReadSummary& read() const { return read_; }
  // From arming to the end of the recording.
  uint64_t DurationNs() const;
  // Everything that was lost, of all streams.
  struct Lost {
    uint64_t breaks = 0;
    uint64_t events = 0;    // of the breaks that can be counted
    bool countable = true;  // all can
  };
  Lost LostInAll() const;
  // Names of the hooks that this kernel did not have, sorted.
  std::vector<std::string> UnavailableHooks() const;

  // Lines that begin with '#'.
  void AppendText(std::string* out) const;
  // The session as perf's --header does it: "# captured on : ...".
  void AppendSessionText(std::string* out) const;
  // "session": {...}, "coverage": {...}
  void WriteJson(JsonWriter* json) const;

 private:
  struct Losses {
    uint64_t breaks = 0;
    uint64_t total = 0;  // events, where countable
    bool countable = true;
    uint64_t from_ns = ~uint64_t{0};
    uint64_t to_ns = 0;
    std::string detail;  // of the first
  };

  std::string StreamText(StreamId stream) const;
  void AppendCounts(std::string* out) const;
  void AppendBreaks(std::string* out) const;
  void AppendHooks(std::string* out) const;
  void AppendFile(std::string* out) const;
  void WriteSessionJson(JsonWriter* json) const;
  void WriteLossesJson(JsonWriter* json) const;

  SessionHeader header_;
  bool has_footer_ = false;
  Footer footer_;
  std::map<StreamId, std::string> streams_;
  std::map<std::pair<StreamId, BreakReason>, Losses> losses_;
  uint64_t other_breaks_ = 0;  // of streams beyond the bound
  GraphSummary summary_;
  ReadSummary read_;
  uint64_t wall_ns_ = 0;
  uint64_t unknown_ns_ = 0;
  uint64_t final_ns_ = 0;
};

}  // namespace cprof

#endif  // CPROF_REPORT_COVERAGE_H_
