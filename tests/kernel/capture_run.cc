// The child process and the sweeping loop of the kernel tests.
#include "capture_run.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace cprof {
namespace {

uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

class CollectingSink final : public BlockSink {
 public:
  explicit CollectingSink(Captured* captured) : captured_(captured) {}
  void Put(DrainedBlock block) override {
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(captured_->events, block.events);
    append(captured_->samples, block.samples);
    append(captured_->breaks, block.breaks);
    append(captured_->streams, block.new_streams);
  }
  StringId Intern(std::string_view /*text*/) override { return 0; }

 private:
  Captured* captured_;
};

class NumberingAllocator final : public StreamAllocator {
 public:
  StreamId Allocate(const StreamInfo& /*stream*/) override { return next_++; }

 private:
  StreamId next_ = 1;
};

}  // namespace

Child::Child(std::function<bool()> run, std::function<void()> prepare) {
  int go[2];
  int ready[2];
  if (pipe(go) != 0 || pipe(ready) != 0) std::abort();
  const pid_t pid = fork();
  if (pid < 0) std::abort();
  if (pid == 0) {
    close(go[1]);
    if (prepare) prepare();
    char byte = 1;
    if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) _exit(2);
    _exit(run() ? 0 : 1);
  }
  close(go[0]);
  close(ready[1]);
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) std::abort();
  close(ready[0]);
  go_fd_ = go[1];
  pid_ = static_cast<uint32_t>(pid);
}

Child::~Child() {
  close(go_fd_);
  if (!exited_) waitpid(static_cast<pid_t>(pid_), nullptr, 0);
}

void Child::Go() {
  const char byte = 1;
  if (write(go_fd_, &byte, 1) != 1) std::abort();
}

bool Child::HasExited() {
  int status = 0;
  if (!exited_ && waitpid(static_cast<pid_t>(pid_), &status, WNOHANG) > 0) {
    exited_ = true;
    succeeded_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return exited_;
}

std::vector<Event> Captured::Of(Verb verb) const {
  std::vector<Event> chosen;
  std::copy_if(events.begin(), events.end(), std::back_inserter(chosen),
               [verb](const Event& event) { return event.verb == verb; });
  return chosen;
}

uint64_t Captured::attempted() const {
  uint64_t total = 0;
  for (const auto& counter : counters) total += counter.attempted;
  return total;
}

uint64_t Captured::lost() const {
  uint64_t total = 0;
  for (const auto& counter : counters) total += counter.lost;
  return total;
}

Captured RecordChild(Child& child, KernelCaptureOptions options, const RunOptions& run) {
  Captured captured;
  captured.child_pid = child.pid();
  if (options.tgids.empty() && options.tids.empty() && !options.system_wide) {
    options.tgids.push_back(child.pid());
  }
  NumberingAllocator streams;
  CollectingSink sink(&captured);
  auto capture = KernelCapture::Open(options, streams);
  if (!capture) {
    ADD_FAILURE() << capture.error().message << "\n" << capture.error().hint;
    return captured;
  }
  captured.attributes = (*capture)->attributes();
  if (const auto attached = (*capture)->Attach(); !attached) {
    ADD_FAILURE() << attached.error().message;
    return captured;
  }
  captured.threads_before = (*capture)->ListThreads();
  captured.rings_before = (*capture)->ListRings();
  captured.begin_ns = NowNs();
  (*capture)->OpenGate();
  child.Go();
  while (!child.HasExited()) {
    usleep(2000);
    if (run.sweep_while_running) (*capture)->Sweep(sink);
    if (run.each_sweep) run.each_sweep();
  }
  usleep(20000);  // A ring is torn down by a worker of the kernel after its process is gone.
  (*capture)->Detach();
  captured.last_sweep_complete = (*capture)->Sweep(sink);
  captured.end_ns = NowNs();
  (*capture)->AppendCounters(&captured.counters);
  captured.child_succeeded = child.succeeded();
  std::stable_sort(captured.events.begin(), captured.events.end(),
                   [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  return captured;
}

}  // namespace cprof
