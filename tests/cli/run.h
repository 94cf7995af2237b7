// Runs the built cprof as a user does, and reads what it wrote.
#ifndef CPROF_TESTS_CLI_RUN_H_
#define CPROF_TESTS_CLI_RUN_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "format/reader.h"

namespace cprof::test {

// A folder of its own, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Outcome {
  int exit_code = -1;  // 128 + n for a signal
  std::string out;
  std::string err;
};

struct RunOptions {
  std::string folder = {};                        // where it runs; empty: here
  std::function<void()> in_child = {};            // just before exec
  std::function<void(pid_t)> while_running = {};  // after `until` stands in its standard error
  std::string until = {};
};

// Runs any program; the first word is its path or name.
Outcome RunProgram(const std::vector<std::string>& words, const RunOptions& options = {});
// Runs cprof with these arguments.
Outcome RunCprof(const std::vector<std::string>& arguments, const RunOptions& options = {});

// Two processes that hand a byte to and fro until destroyed: tens of thousands of switches a
// second.
class PingPong {
 public:
  PingPong();
  ~PingPong();
  pid_t pid() const { return pids_[0]; }
  std::string pids() const { return std::to_string(pids_[0]) + "," + std::to_string(pids_[1]); }

 private:
  pid_t pids_[2] = {-1, -1};
};

// What a recording holds.
struct Content : RecordingVisitor {
  bool has_header = false;
  bool has_footer = false;
  SessionHeader header;
  Footer footer;
  ReadSummary summary;
  std::map<StreamId, StreamInfo> streams;
  std::map<StreamId, uint64_t> events;
  std::map<StreamId, uint64_t> latest_ns;
  std::map<Verb, uint64_t> verb_counts;
  std::vector<Event> recorder_events;
  std::vector<Break> breaks;
  std::vector<Mapping> mappings;
  uint64_t total = 0;

  void OnHeader(const SessionHeader& value) override;
  void OnStream(const StreamInfo& stream) override { streams[stream.id] = stream; }
  void OnEvents(StreamId stream, std::span<const Event> values) override;
  void OnSamples(StreamId stream, std::span<const StackSample> values) override;
  void OnBreak(const Break& value) override { breaks.push_back(value); }
  void OnMappings(std::span<const Mapping> values) override;
  void OnFooter(const Footer& value) override;
};

// Adds a test failure where the file is no recording.
Content ReadFile(const std::string& path);
Content ReadBytes(const std::string& bytes);

// Fails unless each stream's attempted events are all in the file or in a break.
void ExpectEveryEventAccounted(const Content& content);

}  // namespace cprof::test

#endif  // CPROF_TESTS_CLI_RUN_H_
