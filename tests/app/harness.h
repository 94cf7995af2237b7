// What the tests of the app adapter share: a recorder of the app plane alone, and a program to
// record.
#ifndef CPROF_TESTS_APP_HARNESS_H_
#define CPROF_TESTS_APP_HARNESS_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "record/app_rings.h"

struct cprof_bpf;

namespace cprof {

// Everything that was drained, by stream.
class Collected : public BlockSink {
 public:
  void Put(DrainedBlock block) override;
  StringId Intern(std::string_view text) override;

  std::vector<Event> EventsOf(uint32_t tgid) const;
  std::vector<Break> BreaksOf(uint32_t tgid) const;
  std::string Text(StringId id) const;
  // Events and counted losses of a process.
  uint64_t AccountedFor(uint32_t tgid) const;
  uint64_t LostBy(uint32_t tgid) const;

 private:
  mutable std::mutex mutex_;
  std::map<StreamId, StreamInfo> streams_;
  std::vector<Event> events_;
  std::vector<Break> breaks_;
  std::map<std::string, StringId, std::less<>> ids_;
  std::vector<std::string> texts_ = {""};
};

class Streams : public StreamAllocator {
 public:
  StreamId Allocate(const StreamInfo&) override { return next_++; }

 private:
  std::atomic<StreamId> next_{0};
};

// Records the app plane of the processes that are added, and of their children.
class AppRecorder {
 public:
  explicit AppRecorder(bool inherit = true);
  ~AppRecorder();

  void Add(uint32_t tgid, uint64_t recording_ns = 0);
  // Sweeps every few milliseconds until stopped or destroyed.
  void StartSweeping();
  void StopSweeping();
  bool SweepOnce() { return rings_->Sweep(collected_); }
  // The flags fall, and what is left is taken.
  void Finish();
  // Keeps sweeping until the process accounts for so many attempts, or ten seconds have passed.
  bool WaitFor(uint32_t tgid, uint64_t attempts);

  AppRings& rings() { return *rings_; }
  Collected& collected() { return collected_; }
  uint64_t Attempted();  // sum over all streams

 private:
  cprof_bpf* skeleton_ = nullptr;
  std::vector<void*> links_;
  Streams streams_;
  Collected collected_;
  std::unique_ptr<AppRings> rings_;
  std::thread sweeper_;
  std::atomic<bool> stop_{false};
};

// A child process that answers each line of input with one line.
class Target {
 public:
  explicit Target(std::vector<std::string> arguments = {CPROF_APP_TARGET});
  ~Target();

  uint32_t tgid() const { return static_cast<uint32_t>(pid_); }
  void Send(const std::string& command);
  std::string Receive();
  std::string Ask(const std::string& command);
  // Asks for a number; fails the test where the answer is none.
  uint64_t AskNumber(const std::string& command);
  // Closes its input and waits; returns what waitpid says.
  int Wait();
  void Kill(int signal);

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string buffered_;
};

}  // namespace cprof

#endif  // CPROF_TESTS_APP_HARNESS_H_
