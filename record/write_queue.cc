// Gathers small blocks to chunks worth compressing, and writes them out in order.
#include "record/write_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "record/clock.h"

namespace cprof {
namespace {

// What may wait for the writer: at full rate (5 million events a second) a tenth of a second.
constexpr size_t kQueueBytes = 64 << 20;
// A chunk of this many events compresses as well as one of a million.
constexpr size_t kChunkEvents = 1 << 14;
// Between two round marks in the file: readers keep this much to bring events into order.
constexpr size_t kMarkEvents = 1 << 17;
// What a killed recording may miss at its end.
constexpr uint64_t kFlushPeriodNs = 500'000'000;

void Signal(int fd) { (void)!eventfd_write(fd, 1); }

size_t SizeOf(const DrainedBlock& block) {
  size_t size = sizeof(block) + block.events.size() * sizeof(Event);
  for (const StackSample& sample : block.samples) {
    size += sizeof(sample) + (sample.user_frames.size() + sample.kernel_frames.size()) * 8;
  }
  return size;
}

template <typename T>
void MoveAppend(std::vector<T>* from, std::vector<T>* to) {
  if (to->empty()) {
    to->swap(*from);
  } else {
    to->insert(to->end(), std::make_move_iterator(from->begin()),
               std::make_move_iterator(from->end()));
  }
}

}  // namespace

WriteQueue::WriteQueue(std::unique_ptr<Writer> writer)
    : writer_(std::move(writer)),
      failure_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      done_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      translated_{0} {
  last_flush_ns_ = MonotonicNs();
  bytes_written_ = writer_->bytes_written();
  thread_ = std::thread([this] { Run(); });
}

WriteQueue::~WriteQueue() {
  if (thread_.joinable()) {
    PutFooter({});  // Only where the session failed half-way; the file then says where it ends.
    Join();
  }
  close(failure_fd_);
  close(done_fd_);
}

void WriteQueue::Push(Item item, size_t size_bytes) {
  std::unique_lock lock(mutex_);
  not_full_.wait(lock, [&] { return waiting_bytes_ < kQueueBytes || refusing_; });
  waiting_bytes_ += size_bytes;
  items_.emplace_back(std::move(item), size_bytes);
  not_empty_.notify_one();
}

void WriteQueue::Put(DrainedBlock block) {
  const size_t size = SizeOf(block);
  Push(std::move(block), size);
}

StringId WriteQueue::Intern(std::string_view text) {
  const std::lock_guard lock(strings_mutex_);
  return strings_.Intern(text);
}

void WriteQueue::PutMark(RoundMark mark) { Push(std::move(mark), sizeof(RoundMark)); }
void WriteQueue::PutMappings(std::vector<Mapping> mappings) {
  if (!mappings.empty()) Push(std::move(mappings), sizeof(Mapping));
}
void WriteQueue::PutKernelSymbols(std::vector<KernelSymbol> symbols) {
  if (!symbols.empty()) Push(std::move(symbols), sizeof(KernelSymbol));
}
void WriteQueue::PutFooter(Footer footer) { Push(std::move(footer), sizeof(Footer)); }

void WriteQueue::Abort() {
  const std::lock_guard lock(mutex_);
  refusing_ = true;
  not_full_.notify_all();
}

void WriteQueue::Join() {
  if (thread_.joinable()) thread_.join();
}

std::optional<Error> WriteQueue::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void WriteQueue::Refuse(const Result<void>& result) {
  if (result) return;
  const std::lock_guard lock(mutex_);
  refusing_ = true;
  not_full_.notify_all();
  if (failure_) return;
  failure_ = result.error();
  Signal(failure_fd_);
}

void WriteQueue::Run() {
  bool ended = false;
  while (!ended) {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [&] { return !items_.empty(); });
    auto [item, size_bytes] = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    ended = std::holds_alternative<Footer>(item);
    std::visit([this](auto& content) { Handle(content); }, item);
    bytes_written_ = writer_->bytes_written();
    lock.lock();
    waiting_bytes_ -= size_bytes;
    not_full_.notify_one();
  }
  Signal(done_fd_);
}

StringId WriteQueue::Translate(StringId id) {
  if (id == 0) return 0;
  const std::lock_guard lock(strings_mutex_);
  while (translated_.size() <= id) {
    translated_.push_back(writer_->Intern(strings_.Get(static_cast<StringId>(translated_.size()))));
  }
  return translated_[id];
}

void WriteQueue::Translate(Event* event) {
  if ((event->name | event->domain | event->domain2) == 0) return;
  event->name = Translate(event->name);
  event->domain = Translate(event->domain);
  event->domain2 = Translate(event->domain2);
}

void WriteQueue::Handle(DrainedBlock& block) {
  for (const StreamInfo& stream : block.new_streams) Refuse(writer_->WriteStream(stream));
  for (const Break& lost : block.breaks) Refuse(writer_->WriteBreak(lost));
  if (refusing_) {
    for (const Event& event : block.events) CountUnwritten(block.stream, event);
    for (const StackSample& sample : block.samples) CountUnwritten(block.stream, sample.event);
    return;
  }
  for (Event& event : block.events) Translate(&event);
  pending_count_ += block.events.size() + block.samples.size();
  Pending& pending = pending_[block.stream];
  MoveAppend(&block.events, &pending.events);
  MoveAppend(&block.samples, &pending.samples);
  if (pending.events.size() >= kChunkEvents) Flush(block.stream, &pending);
}

void WriteQueue::Handle(RoundMark& mark) {
  const uint64_t now_ns = MonotonicNs();
  if (pending_count_ < kMarkEvents && now_ns - last_flush_ns_ < kFlushPeriodNs) return;
  last_flush_ns_ = now_ns;
  FlushAll();
  if (refusing_) return;
  Refuse(writer_->WriteMark(mark));
  last_mark_ns_ = mark.final_ns;
}

void WriteQueue::Handle(std::vector<Mapping>& mappings) {
  if (!refusing_) Refuse(writer_->WriteMappings(mappings));
}

void WriteQueue::Handle(std::vector<KernelSymbol>& symbols) {
  if (!refusing_) Refuse(writer_->WriteKernelSymbols(symbols));
}

void WriteQueue::Handle(Footer& footer) {
  FlushAll();
  WriteUnwritten();
  if (footer.final_counters.final_ns != last_mark_ns_) {
    Refuse(writer_->WriteMark(footer.final_counters));
  }
  Refuse(writer_->WriteFooter(footer));
}

void WriteQueue::Flush(StreamId stream, Pending* pending) {
  Result<void> result;
  size_t events = 0;
  size_t samples = 0;
  // Chunk by chunk, so that a refusal says how much got through.
  while (result && !refusing_ && events < pending->events.size()) {
    const size_t count = std::min(kChunkEvents, pending->events.size() - events);
    result = writer_->WriteEvents(stream, std::span(pending->events).subspan(events, count));
    if (result) events += count;
  }
  if (result && !refusing_ && !pending->samples.empty()) {
    result = writer_->WriteSamples(stream, pending->samples);
    if (result) samples = pending->samples.size();
  }
  Refuse(result);
  events_written_ += events + samples;
  for (size_t i = events; i < pending->events.size(); ++i) {
    CountUnwritten(stream, pending->events[i]);
  }
  for (size_t i = samples; i < pending->samples.size(); ++i) {
    CountUnwritten(stream, pending->samples[i].event);
  }
  pending_count_ -= std::min(pending_count_, pending->events.size() + pending->samples.size());
  pending->events.clear();
  pending->samples.clear();
}

void WriteQueue::FlushAll() {
  for (auto& [stream, pending] : pending_) Flush(stream, &pending);
}

void WriteQueue::CountUnwritten(StreamId stream, const Event& event) {
  Break& lost = unwritten_[stream];
  if (lost.total++ == 0) {
    lost.stream = stream;
    lost.reason = BreakReason::kWriterStalled;
    lost.from_ns = event.time_ns;
  }
  lost.from_ns = std::min(lost.from_ns, event.time_ns);
  lost.to_ns = std::max(lost.to_ns, event.time_ns);
  lost.signature |= SignatureBit(event.key.lo) | SignatureBit(event.key2.lo);
  ++unwritten_verbs_[stream][event.verb];
}

void WriteQueue::WriteUnwritten() {
  for (auto& [stream, lost] : unwritten_) {
    lost.lost.assign(unwritten_verbs_[stream].begin(), unwritten_verbs_[stream].end());
    Refuse(writer_->WriteBreak(lost));
  }
}

}  // namespace cprof
