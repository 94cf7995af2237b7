// The tapes behind sink_queue.h.
#include "report/sink_queue.h"

#include <utility>

namespace cprof {

void SinkTape::AddTexts(const StringTable& strings, StringId from) {
  for (StringId id = from; id < strings.size(); ++id) texts_.emplace_back(strings.Get(id));
}

void SinkTape::Play(StringTable& strings, GraphSink& graph, ReportSink& facts) const {
  for (const std::string& text : texts_) strings.Intern(text);
  auto node = nodes_.begin();
  auto edge = edges_.begin();
  auto orphan = orphans_.begin();
  auto slice = slices_.begin();
  auto binding = bindings_.begin();
  auto stack = stacks_.begin();
  auto other = others_.begin();
  std::span<const OpenBinding> open = open_;
  for (const Call call : calls_) {
    switch (call) {
      case Call::kNode: graph.OnNode(*node++); break;
      case Call::kNodeEnd: graph.OnNodeEnd(*node++); break;
      case Call::kEdge: graph.OnEdge(*edge++); break;
      case Call::kOrphan: graph.OnOrphan(*orphan++); break;
      case Call::kThreadSlice: graph.OnThreadSlice(*slice++); break;
      case Call::kBinding: graph.OnBinding(*binding++); break;
      case Call::kBindingStack:
        graph.OnBindingStack(stack->thread, stack->time_ns, open.first(stack->count));
        open = open.subspan(stack->count);
        ++stack;
        break;
      case Call::kOther: (*other++)(graph, facts); break;
    }
  }
}

void SinkTape::Clear() {
  texts_.clear();
  calls_.clear();
  nodes_.clear();
  edges_.clear();
  orphans_.clear();
  slices_.clear();
  bindings_.clear();
  stacks_.clear();
  open_.clear();
  others_.clear();
}

SinkQueue::SinkQueue(const StringTable& strings)
    : strings_(strings),
      next_text_(static_cast<StringId>(strings.size())),
      tape_(std::make_unique<SinkTape>()) {}

void SinkQueue::Pass() {
  tape_->AddTexts(strings_, next_text_);
  next_text_ = static_cast<StringId>(strings_.size());
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return full_.size() < kMaxFull; });
  full_.push_back(std::move(tape_));
  if (free_.empty()) {
    tape_ = std::make_unique<SinkTape>();
  } else {
    tape_ = std::move(free_.back());
    free_.pop_back();
  }
  changed_.notify_one();
}

void SinkQueue::Close() {
  Pass();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_one();
}

void SinkQueue::Deliver(StringTable& strings, GraphSink& graph, ReportSink& facts) {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !full_.empty() || closed_; });
    if (full_.empty()) return;
    std::unique_ptr<SinkTape> tape = std::move(full_.front());
    full_.pop_front();
    changed_.notify_one();
    lock.unlock();
    tape->Play(strings, graph, facts);
    tape->Clear();
    lock.lock();
    free_.push_back(std::move(tape));
  }
}

}  // namespace cprof
