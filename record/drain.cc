// Sweeps. The pace follows the fill: rings that were nearly empty are left alone for longer, so
// that an idle recording costs ten wake-ups a second, and a busy one is drained before it loses
// anything.
#include "record/drain.h"

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "record/clock.h"

namespace cprof {
namespace {

constexpr std::chrono::microseconds kShortestPause(500);
constexpr std::chrono::microseconds kLongestPause(100'000);
constexpr std::chrono::microseconds kFirstPause(10'000);
// Rings should be found between these fills. A burst of eight times the rate then still fits.
constexpr double kLowFill = 0.03;
constexpr double kHighFill = 0.12;
// Sweeping ends when it finds nothing unfinished; a record that stays busy after all programs were
// detached will never be finished.
constexpr int kLastSweeps = 64;
constexpr int kNice = -10;

// Rings fill while this thread waits for a CPU, and on a busy machine that can be long. It moves
// bytes for a millisecond at most and sleeps; then whoever fills the rings may go on. Where real
// time is not allowed (a container), a higher share of the CPU has to do.
void GoFirst() {
  const sched_param first_in_line = {.sched_priority = 1};
  if (pthread_setschedparam(pthread_self(), SCHED_RR, &first_in_line) == 0) return;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
}

}  // namespace

RecorderSource::RecorderSource(StreamAllocator& streams) { info_.id = streams.Allocate(info_); }

void RecorderSource::Add(Event event) {
  const std::lock_guard lock(mutex_);
  // Under the lock: a sweep that began later finds every event older than itself.
  event.time_ns = MonotonicNs();
  event.stream = info_.id;
  event.sequence = next_sequence_++;
  events_.push_back(event);
}

bool RecorderSource::Sweep(BlockSink& sink) {
  DrainedBlock block;
  block.stream = info_.id;
  {
    const std::lock_guard lock(mutex_);
    block.events.swap(events_);
  }
  if (block.events.empty()) return true;
  if (!std::exchange(announced_, true)) block.new_streams.push_back(info_);
  sink.Put(std::move(block));
  return true;
}

void RecorderSource::AppendCounters(std::vector<RoundMark::Counter>* counters) {
  const std::lock_guard lock(mutex_);
  if (announced_) counters->push_back({info_.id, next_sequence_ - events_.size(), 0});
}

void WatchingSink::Put(DrainedBlock block) {
  events_ += block.events.size() + block.samples.size();
  bool wake = false;
  for (const Event& event : block.events) {
    if (event.verb == verbs::kSchedExec) {
      wake |= mappings_->Notice(event.tgid, event.time_ns, true);
    }
  }
  for (const StackSample& sample : block.samples) {
    if (!sample.user_frames.empty()) {
      wake |= mappings_->Notice(sample.event.tgid, sample.event.time_ns, false);
    }
    symbols_->NoticeFrames(sample.kernel_frames);
  }
  for (const StreamInfo& stream : block.new_streams) streams_[stream.id] = stream;
  for (const Break& lost : block.breaks) {
    lost_ += lost.total;
    LossTotal& total = losses_[{lost.stream, lost.reason}];
    total.total += lost.total;
    for (const auto& [verb, count] : lost.lost) total.verbs[verb] += count;
  }
  if (wake) (void)!eventfd_write(wake_fd_, 1);
  queue_->Put(std::move(block));
}

DrainThread::DrainThread(std::vector<EventSource*> sources, WatchingSink* sink, WriteQueue* queue)
    : sources_(std::move(sources)),
      sink_(sink),
      queue_(queue),
      done_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

DrainThread::~DrainThread() {
  Finish();
  Join();
  close(done_fd_);
}

void DrainThread::Start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "cprof-drain");
    GoFirst();
    Run();
  });
}

void DrainThread::Finish() {
  const std::lock_guard lock(mutex_);
  finishing_ = true;
  finish_.notify_one();
}

void DrainThread::Join() {
  if (thread_.joinable()) thread_.join();
}

double DrainThread::SweepOnce() {
  double fill = 0;
  for (const EventSource* source : sources_) fill = std::max(fill, source->Fill());
  const uint64_t before_ns = MonotonicNs();
  complete_ = true;
  for (EventSource* source : sources_) complete_ &= source->Sweep(*sink_);
  RoundMark mark;
  mark.final_ns = before_ns;
  for (const EventSource* source : sources_) {
    mark.final_ns = std::min(mark.final_ns, source->FinalNs());
  }
  for (EventSource* source : sources_) source->AppendCounters(&mark.counters);
  last_mark_ = mark;
  if (complete_) queue_->PutMark(std::move(mark));
  return fill;
}

void DrainThread::Run() {
  std::chrono::microseconds pause = kFirstPause;
  std::unique_lock lock(mutex_);
  while (!finishing_) {
    lock.unlock();
    const double fill = SweepOnce();
    if (fill > kHighFill) pause = std::max(pause / 2, kShortestPause);
    if (fill > 4 * kHighFill) pause = kShortestPause;
    if (fill < kLowFill) pause = std::min(pause * 5 / 4, kLongestPause);
    for (const EventSource* source : sources_) {
      const auto longest_us = static_cast<int64_t>(source->LongestPauseNs() / 1000);
      pause = std::min(pause, std::chrono::microseconds(longest_us));
    }
    lock.lock();
    finish_.wait_for(lock, pause, [this] { return finishing_; });
  }
  lock.unlock();
  // Twice at least: losses of the last epoch are told by the sweep after it.
  for (int i = 0; i < kLastSweeps && (i < 2 || !complete_); ++i) SweepOnce();
  (void)!eventfd_write(done_fd_, 1);
}

}  // namespace cprof
