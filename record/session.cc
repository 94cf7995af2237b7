// The control thread. States only move forward: ready, armed, recording, draining, closed.
//
// Stopping: the gate closes, the programs are detached, the drain thread takes what is left in the
// rings, the writer writes it and the footer. Each step may run while an earlier one was cut short.
#include "record/session.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "bpf/event.h"
#include "record/app_rings.h"
#include "record/clock.h"
#include "record/command.h"
#include "record/drain.h"
#include "record/kernel_capture.h"
#include "record/kernel_programs.h"
#include "record/mappings.h"
#include "record/output.h"
#include "record/privileges.h"
#include "record/procfs.h"
#include "record/progress.h"
#include "record/session_header.h"
#include "record/symbol_copy.h"
#include "record/target.h"
#include "record/wait_loop.h"
#include "record/write_queue.h"

namespace cprof {
namespace {

constexpr uint64_t kTickNs = 250'000'000;
// How long a closing that a second Ctrl-C asked for may take before it is cut off.
constexpr uint64_t kAbortNs = 1'000'000'000;

enum class State { kReady, kArmed, kRecording, kDraining, kClosed };

class CountingStreams : public StreamAllocator {
 public:
  StreamId Allocate(const StreamInfo&) override { return next_++; }

 private:
  std::atomic<StreamId> next_ = 0;
};

bool Has(const std::vector<std::string>& adapters, std::string_view name) {
  return std::find(adapters.begin(), adapters.end(), name) != adapters.end();
}

class Session {
 public:
  Session(const RecordOptions& options, const SessionContext& context)
      : options_(options),
        context_(context),
        progress_(!options.quiet),
        wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Session();

  Result<void> Prepare();
  Result<void> Arm();
  Result<SessionOutcome> Record();

 private:
  void StartThreads(std::unique_ptr<Writer> writer);
  void WatchEnds();
  void OpenGate();
  void AddArmedObjects(uint64_t existed_before_ns);
  void AddRuntimes();
  void AddApps();
  void PrintNotices();
  bool IsTarget(uint32_t tid, uint32_t tgid) const;
  void Stop(std::string reason);
  void OnSignal(int number);
  void Tick();
  void WriteMappings(bool all);
  uint64_t NextDeadline() const;
  void Close();
  void WaitFor(const std::function<bool()>& done);
  ProgressFigures Figures() const;
  void PrintSummary();
  bool command_is_target() const {
    return command_ != nullptr && targets_.empty() && !options_.system_wide;
  }

  const RecordOptions options_;
  const SessionContext context_;
  State state_ = State::kReady;
  Targets targets_;
  std::vector<uint32_t> target_tgids_;
  std::unique_ptr<Command> command_;
  CountingStreams streams_;
  std::unique_ptr<KernelCapture> capture_;
  bool has_sched_ = false;
  std::unique_ptr<AppRings> apps_;  // null where the adapter is not asked for
  std::atomic<bool> output_refused_ = false;
  MappingWatch mappings_;
  std::unique_ptr<SymbolCopy> symbols_;
  ProgressLine progress_;
  const int wake_fd_;
  std::unique_ptr<WriteQueue> queue_;
  std::unique_ptr<RecorderSource> recorder_;
  std::unique_ptr<WatchingSink> sink_;
  std::unique_ptr<DrainThread> drain_;
  WaitLoop loop_;
  std::set<std::tuple<uint64_t, uint32_t>> armed_threads_;
  std::set<std::tuple<uint64_t, uint32_t, uint32_t>> armed_rings_;

  uint64_t begin_ns_ = 0;  // the gate opens, or opened
  uint64_t end_ns_ = UINT64_MAX;
  uint64_t stop_ns_ = 0;
  std::string reason_;
  int signals_ = 0;
  uint64_t abort_ns_ = UINT64_MAX;
  bool drained_ = false;
  bool written_ = false;
};

Session::~Session() {
  drain_.reset();  // Before what it uses.
  queue_.reset();
  close(wake_fd_);
}

// Everything that can refuse without touching the system.
Result<void> Session::Prepare() {
  auto targets = FindTargets(options_);
  if (!targets) return targets.error();
  targets_ = std::move(*targets);
  CPROF_RETURN_IF_ERROR(CheckOutput(options_.output));
  if (!options_.command.empty()) CPROF_RETURN_IF_ERROR(CheckCommand(options_.command[0]));
  CPROF_RETURN_IF_ERROR(CheckPrivileges());
  target_tgids_ = targets_.tgids();
  if (!options_.command.empty()) {
    auto command = Command::Prepare(options_.command, options_.output == "-");
    if (!command) return command.error();
    command_ = std::move(*command);
    if (command_is_target()) target_tgids_.push_back(command_->pid());
  }
  return {};
}

Result<void> Session::Arm() {
  KernelCaptureOptions kernel;
  kernel.self_tgid = static_cast<uint32_t>(getpid());
  kernel.system_wide = options_.system_wide;
  kernel.inherit = options_.inherit;
  kernel.raw_keys = options_.raw_keys;
  kernel.tgids = target_tgids_;
  kernel.tids = targets_.tids();
  kernel.cpus = options_.cpus;
  kernel.adapters = ChooseAdapters(options_);
  kernel.frequency_hz = options_.frequency_hz;
  kernel.call_graph = options_.call_graph;
  kernel.ring_pages = options_.ring_pages;
  auto capture = KernelCapture::Open(kernel, streams_);
  if (!capture) return capture.error();
  capture_ = std::move(*capture);
  const auto missing = TellMissingHooks(capture_->attributes(), options_.adapters);
  if (!missing) return missing.error();
  for (const std::string& sentence : *missing) {
    std::fprintf(stderr, "cprof: warning: %s\n", sentence.c_str());
  }
  symbols_ = std::make_unique<SymbolCopy>(options_.raw_keys ? 0 : capture_->kernel_base());
  CPROF_RETURN_IF_ERROR(capture_->Attach());
  has_sched_ = Has(kernel.adapters, "sched");
  if (Has(kernel.adapters, "app")) {
    auto apps = AppRings::Open(capture_->object(), streams_, {options_.inherit});
    if (!apps) return apps.error();
    apps_ = std::move(*apps);
  }
  if (targets_.AllEnded()) {
    return Error{"the target ended before the recording began", "is the PID still right?"};
  }
  if (options_.verbosity > 0) {
    for (const auto& [name, value] : capture_->attributes()) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), value.c_str());
    }
  }
  auto output = OpenOutput(options_.output, &output_refused_);
  if (!output) return output.error();
  WriterOptions writer_options;
  writer_options.max_size_bytes = options_.max_size_bytes;
  auto writer = MakeWriter(std::move(*output), writer_options);
  CPROF_RETURN_IF_ERROR(writer->WriteHeader(
      MakeSessionHeader(options_, context_, target_tgids_, capture_->attributes())));
  StartThreads(std::move(writer));
  AddArmedObjects(UINT64_MAX);
  for (const uint32_t tgid : targets_.tgids()) mappings_.Notice(tgid, MonotonicNs(), true);
  WriteMappings(false);
  WatchEnds();
  drain_->Start();
  state_ = State::kArmed;
  return {};
}

void Session::StartThreads(std::unique_ptr<Writer> writer) {
  queue_ = std::make_unique<WriteQueue>(std::move(writer));
  recorder_ = std::make_unique<RecorderSource>(streams_);
  sink_ = std::make_unique<WatchingSink>(queue_.get(), &mappings_, symbols_.get(), wake_fd_);
  std::vector<EventSource*> sources = {recorder_.get(), capture_.get()};
  if (apps_ != nullptr) sources.push_back(apps_.get());
  drain_ = std::make_unique<DrainThread>(std::move(sources), sink_.get(), queue_.get());
  loop_.Add(queue_->failure_fd(), true, [this] {
    Stop(output_refused_ ? "the output refused" : "the recording has reached --max-size");
  });
  loop_.Add(queue_->done_fd(), true, [this] { written_ = true; });
  loop_.Add(drain_->done_fd(), true, [this] { drained_ = true; });
  loop_.Add(wake_fd_, true, [this] { WriteMappings(false); });
  loop_.OnSignal([this](int number) { OnSignal(number); });
}

void Session::WatchEnds() {
  for (const Targets::Target& target : targets_.all()) {
    if (target.pidfd < 0) continue;  // Looked after by Tick.
    loop_.Add(target.pidfd, false, [this, fd = target.pidfd] {
      loop_.Remove(fd);
      if (targets_.AllEnded()) Stop("all targets have ended");
    });
  }
  if (command_ == nullptr) return;
  loop_.Add(command_->pidfd(), false, [this] {
    loop_.Remove(command_->pidfd());
    command_->HasEnded();
    Stop("the command has ended");
  });
}

bool Session::IsTarget(uint32_t tid, uint32_t tgid) const {
  if (options_.system_wide) return true;
  const auto& tids = options_.tids;
  return std::find(target_tgids_.begin(), target_tgids_.end(), tgid) != target_tgids_.end() ||
         std::find(tids.begin(), tids.end(), tid) != tids.end();
}

// States each thread and ring of the targets once. Called before the gate opens, and right after it
// for those that came up in between; what is born later has its events.
void Session::AddArmedObjects(uint64_t existed_before_ns) {
  for (const FoundThread& thread : capture_->ListThreads()) {
    if (thread.start_time_ns >= existed_before_ns || !IsTarget(thread.tid, thread.tgid)) continue;
    if (!armed_threads_.emplace(thread.start_time_ns, thread.tid).second) continue;
    Event event;
    event.verb = verbs::kRecorderThread;
    event.key.lo = thread.start_time_ns;
    event.key2.lo = CPROF_THREAD_KEY2(thread.tid, thread.tgid);
    for (size_t i = 0; i < 16 && i < thread.comm.size(); ++i) {
      uint64_t& half = i < 8 ? event.arg : event.arg2;
      half |= static_cast<uint64_t>(static_cast<uint8_t>(thread.comm[i])) << (i % 8 * 8);
    }
    recorder_->Add(event);
  }
  for (const FoundRing& ring : capture_->ListRings()) {
    if (!IsTarget(ring.tgid, ring.tgid)) continue;
    if (!armed_rings_.emplace(ring.ring, ring.tgid, ring.fd).second) continue;
    Event event;
    event.verb = verbs::kRecorderRing;
    event.tid = ring.tgid;
    event.tgid = ring.tgid;
    event.key2.lo = ring.ring;
    event.arg = ring.fd;
    event.arg2 = ring.setup_flags;
    recorder_->Add(event);
  }
}

// States the CPU time of each recorded thread, which its switches tell only now and then. Called
// while the gate is shut, so that no reading of a switch can come between a reading and its time.
void Session::AddRuntimes() {
  if (!has_sched_) return;
  for (const FoundThread& thread : capture_->ListThreads()) {
    if (!thread.is_target) continue;
    Event event;
    event.verb = verbs::kSchedRuntime;
    event.key.lo = thread.start_time_ns;
    event.key2.lo = CPROF_THREAD_KEY2(thread.tid, thread.tgid);
    event.arg = thread.runtime_ns;
    recorder_->Add(event);
  }
}

void Session::OpenGate() {
  AddArmedObjects(UINT64_MAX);
  AddRuntimes();
  Event event;
  event.verb = verbs::kRecorderGate;
  event.arg = 1;
  recorder_->Add(event);
  begin_ns_ = MonotonicNs();
  capture_->OpenGate();
  AddApps();
  AddArmedObjects(begin_ns_);
  state_ = State::kRecording;
  if (options_.duration_s > 0) {
    end_ns_ = begin_ns_ + static_cast<uint64_t>(options_.duration_s * 1e9);
  }
}

// In-process rings have no gate: their flag goes up when the gate has opened, they are cut when it
// closes, and then the flag falls. What running programs tell until theirs is up is a break. What
// targets execute later makes itself heard.
void Session::AddApps() {
  if (apps_ == nullptr) return;
  std::vector<uint32_t> tgids = target_tgids_;
  for (const uint32_t tid : targets_.tids()) {
    if (const auto ids = ReadTaskIds(tid)) tgids.push_back(ids->tgid);
  }
  if (options_.system_wide) tgids = ListProcesses();
  for (const uint32_t tgid : tgids) {
    if (tgid != static_cast<uint32_t>(getpid())) {
      (void)apps_->AddProcess(tgid, begin_ns_).has_value();
    }
  }
  PrintNotices();
}

void Session::PrintNotices() {
  if (apps_ == nullptr) return;
  for (const std::string& notice : apps_->TakeNotices()) {
    progress_.Clear();
    std::fprintf(stderr, "cprof: warning: %s\n", notice.c_str());
  }
}

void Session::Stop(std::string reason) {
  if (state_ >= State::kDraining) return;
  const bool was_open = state_ == State::kRecording;
  state_ = State::kDraining;
  reason_ = std::move(reason);
  capture_->CloseGate();
  if (apps_ != nullptr) apps_->Cut();
  stop_ns_ = MonotonicNs();
  if (was_open) {
    AddRuntimes();
    Event event;
    event.verb = verbs::kRecorderGate;
    recorder_->Add(event);
  }
  // Takes some 10 ms, in which programs go on telling.
  if (apps_ != nullptr) apps_->Disarm();
}

void Session::OnSignal(int number) {
  ++signals_;
  if (signals_ == 1 && state_ < State::kDraining) {
    Stop(std::string("signal ") + sigabbrev_np(number));
    return;
  }
  // Again: end at once. What waits is dropped and counted; a command that does not end is ended.
  queue_->Abort();
  if (command_ != nullptr) command_->Kill();
  if (abort_ns_ == UINT64_MAX) abort_ns_ = MonotonicNs() + kAbortNs;
}

void Session::WriteMappings(bool all) {
  queue_->PutMappings(mappings_.Collect(MonotonicNs(), all));
  queue_->PutKernelSymbols(symbols_->Collect());
}

ProgressFigures Session::Figures() const {
  const uint64_t until_ns = stop_ns_ != 0 ? stop_ns_ : MonotonicNs();
  ProgressFigures figures;
  figures.elapsed_ns = state_ >= State::kRecording && begin_ns_ != 0 ? until_ns - begin_ns_ : 0;
  figures.events = sink_->events();
  figures.bytes = queue_->bytes_written();
  figures.lost = sink_->lost();
  return figures;
}

void Session::Tick() {
  const uint64_t now_ns = MonotonicNs();
  if (state_ == State::kArmed && now_ns >= begin_ns_) OpenGate();
  if (state_ == State::kRecording && now_ns >= end_ns_) Stop("the duration is over");
  if (targets_.AllEnded()) Stop("all targets have ended");
  if (state_ == State::kRecording) WriteMappings(false);
  PrintNotices();
  if (now_ns >= abort_ns_ && !written_) {
    // The writer hangs in the kernel, on a pipe that nobody reads. Whole chunks are out.
    progress_.Clear();
    std::fprintf(stderr, "cprof: warning: the output does not take the rest; it ends unfinished\n");
    std::fflush(stderr);
    _exit(1);
  }
  if (progress_.enabled()) progress_.Show(FormatProgress(Figures()));
}

uint64_t Session::NextDeadline() const {
  uint64_t deadline_ns = MonotonicNs() + kTickNs;
  if (state_ == State::kArmed) deadline_ns = std::min(deadline_ns, begin_ns_);
  if (state_ == State::kRecording) deadline_ns = std::min(deadline_ns, end_ns_);
  return std::min(deadline_ns, abort_ns_);
}

void Session::WaitFor(const std::function<bool()>& done) {
  while (!done()) {
    uint64_t deadline_ns = NextDeadline();
    if (state_ == State::kRecording) {
      deadline_ns = std::min(deadline_ns, mappings_.next_due_ns());
    }
    loop_.Wait(deadline_ns);
    Tick();
  }
}

void Session::Close() {
  WriteMappings(true);
  capture_->Detach();
  drain_->Finish();
  WaitFor([this] { return drained_; });
  drain_->Join();
  WriteMappings(false);
  if (command_ != nullptr) {
    command_->Terminate();
    WaitFor([this] { return command_->HasEnded(); });
  }
  Footer footer;
  footer.end_ns = stop_ns_;
  footer.final_counters = drain_->last_mark();
  footer.attributes["reason"] = reason_;
  if (command_ != nullptr) footer.attributes["exit_status"] = command_->status_text();
  if (const uint64_t failures = capture_->inherit_failures(); failures != 0) {
    footer.attributes["children_not_followed"] = std::to_string(failures);
  }
  queue_->PutFooter(std::move(footer));
  WaitFor([this] { return written_; });
  queue_->Join();
  state_ = State::kClosed;
}

void Session::PrintSummary() {
  progress_.Clear();
  ProgressFigures figures = Figures();
  figures.events = queue_->events_written();
  if (!options_.quiet) {
    std::fprintf(stderr, "%s\n", FormatSummary(figures, options_.output).c_str());
    if (options_.max_size_bytes != 0 && queue_->failure() && !output_refused_) {
      std::fprintf(stderr, "[ cprof record: Ended early: %s ]\n", reason_.c_str());
    }
  }
  LossTotals losses = sink_->losses();
  for (const auto& [stream, lost] : queue_->unwritten()) {
    LossTotal& total = losses[{stream, lost.reason}];
    total.total += lost.total;
    for (const auto& [verb, count] : lost.lost) total.verbs[verb] += count;
  }
  const std::string text = FormatLosses(losses, sink_->streams());
  if (!text.empty()) std::fprintf(stderr, "%s\n", text.c_str());
  if (const uint64_t failures = capture_->inherit_failures(); failures != 0) {
    std::fprintf(stderr, "[ cprof record: %" PRIu64 " children were not followed, too many ]\n",
                 failures);
  }
}

Result<SessionOutcome> Session::Record() {
  begin_ns_ = MonotonicNs() + uint64_t{options_.delay_ms} * 1'000'000;
  if (options_.delay_ms == 0) OpenGate();
  SessionOutcome outcome;
  if (apps_ != nullptr && command_ != nullptr && command_is_target() &&
      state_ == State::kRecording) {
    if (const auto path = FindCommand(options_.command[0])) {
      apps_->AddExecutable(command_->pid(), *path);
    }
  }
  if (command_ != nullptr) {
    if (auto released = command_->Release(); !released) {
      outcome.error = released.error();
      Stop("the command could not be run");
    } else if (command_is_target()) {
      mappings_.Notice(command_->pid(), MonotonicNs(), true);
    }
  }
  WaitFor([this] { return state_ >= State::kDraining; });
  Close();
  PrintSummary();
  if (command_ != nullptr) outcome.exit_code = command_->exit_code();
  if (output_refused_) outcome.error = queue_->failure();
  return outcome;
}

}  // namespace

Result<SessionOutcome> RunSession(const RecordOptions& options, const SessionContext& context) {
  CPROF_RETURN_IF_ERROR(WaitLoop::TakeSignals());
  Session session(options, context);
  CPROF_RETURN_IF_ERROR(session.Prepare());
  CPROF_RETURN_IF_ERROR(session.Arm());
  return session.Record();
}

}  // namespace cprof
