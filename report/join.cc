// Leads each event to the adapter of its verb, and keeps the accounts: every half-edge ends joined
// or as an orphan.
#include "report/join.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "format/result.h"
#include "report/adapters/adapter.h"

namespace cprof {
namespace {

using Factory = std::unique_ptr<JoinAdapter> (*)(JoinContext&);
constexpr Factory kFactories[] = {
#define CPROF_ADAPTER(id, name, default_on, description) &Make##id##Adapter,
#define CPROF_VERB(...)
#include "format/adapters.def"
#undef CPROF_ADAPTER
#undef CPROF_VERB
};

}  // namespace

struct Joiner::State {
  State(const SessionHeader& header, const StringTable& strings, const JoinOptions& options,
        GraphSink& sink)
      : context(header, strings, options, sink) {
    for (const Factory factory : kFactories) context.adapters_.push_back(factory(context));
    for (const VerbInfo& info : AllVerbs()) {
      adapter_of[info.verb] = context.adapters_[static_cast<size_t>(info.adapter)].get();
      role_of[info.verb] = info.role;
    }
  }

  void ApplyEvent(const Event& event);
  // Events with equal times: in the order that the states of their keys accept.
  void ApplyTies(std::span<const Event> events);
  void ApplySample(const StackSample& sample);
  void ApplyBreak(const Break& lost);
  void CallAdapters(uint64_t time_ns);

  JoinContext context;
  std::array<JoinAdapter*, 256> adapter_of{};
  std::array<Role, 256> role_of{};
  std::vector<Event> ties;
  uint64_t end_ns = 0;
  bool finished = false;
};

void Joiner::State::ApplyEvent(const Event& event) {
  GraphSummary& summary = context.summary_;
  ++summary.events;
  end_ns = std::max(end_ns, event.time_ns);
  if (!context.stale_threads_.empty()) context.RemoveStaleThreads(event.time_ns);
  JoinAdapter* adapter = adapter_of[event.verb];
  // A verb of a later version: counted, and no half that this version knows how to join.
  if (adapter == nullptr) {
    ++summary.lifecycle;
    return;
  }
  switch (role_of[event.verb]) {
    case Role::kHandOut:
    case Role::kTakeUp: ++summary.half_edges; break;
    case Role::kLifecycle: ++summary.lifecycle; break;
    case Role::kSample: ++summary.samples; break;
  }
  if (context.watched_threads_ != 0 && event.level == Level::kTask && event.tid != 0) {
    ThreadRecord& thread = context.Current(event);
    if (thread.watched) {
      thread.watched = false;
      --context.watched_threads_;
      for (const auto& other : context.adapters_) other->OnWatchedThread(thread, event);
    }
  }
  adapter->Apply(event);
}

void Joiner::State::ApplyTies(std::span<const Event> events) {
  ties.assign(events.begin(), events.end());
  for (size_t next = 0; next < ties.size(); ++next) {
    const Event& first = ties[next];
    JoinAdapter* adapter = adapter_of[first.verb];
    for (size_t i = next + 1; adapter != nullptr && i < ties.size(); ++i) {
      // Only the first of another stream may pass, so that each stream keeps its own order.
      if (ties[i].stream == first.stream) continue;
      const auto begin = ties.begin() + static_cast<ptrdiff_t>(next);
      const auto second = ties.begin() + static_cast<ptrdiff_t>(i);
      const bool leads = std::none_of(
          begin, second, [&](const Event& between) { return between.stream == ties[i].stream; });
      if (!leads || adapter_of[ties[i].verb] != adapter || !adapter->MustSwap(first, ties[i])) {
        continue;
      }
      std::rotate(begin, second, second + 1);
      break;
    }
    ApplyEvent(ties[next]);
  }
}

void Joiner::State::ApplySample(const StackSample& sample) {
  ++context.summary_.events;
  ++context.summary_.samples;
  end_ns = std::max(end_ns, sample.event.time_ns);
  // A sample hits whoever is on the CPU, also from an interrupt; who that is decides the thread
  // only.
  if (sample.event.tid == 0) return;
  const NodeId thread = context.NodeOf(context.Current(sample.event));
  context.sink_.OnSample(thread, thread, sample);
}

void Joiner::State::ApplyBreak(const Break& lost) {
  const BreakId id = context.breaks_.Add(lost);
  ++context.summary_.breaks;
  context.sink_.OnBreak(id, lost);
  for (const auto& adapter : context.adapters_) adapter->OnBreak(id, lost);
}

Joiner::Joiner(const SessionHeader& header, const StringTable& strings, const JoinOptions& options,
               GraphSink& sink)
    : state_(std::make_unique<State>(header, strings, options, sink)) {}

Joiner::~Joiner() = default;

void Joiner::AddStream(const StreamInfo& stream) {
  JoinContext& context = state_->context;
  context.breaks_.AddStream(stream);
  if (context.streams_.size() <= stream.id) context.streams_.resize(stream.id + size_t{1});
  context.streams_[stream.id] = stream;
}

void Joiner::State::CallAdapters(uint64_t time_ns) {
  context.call_ns_ = UINT64_MAX;
  for (const auto& adapter : context.adapters_) adapter->OnTime(time_ns);
}

void Joiner::Apply(const Batch& batch) {
  for (const Break& lost : batch.breaks) state_->ApplyBreak(lost);
  auto sample = batch.samples.begin();
  const std::span<const Event> events = batch.events;
  for (size_t i = 0; i < events.size();) {
    const uint64_t time_ns = events[i].time_ns;
    while (sample != batch.samples.end() && sample->event.time_ns < time_ns) {
      state_->ApplySample(*sample++);
    }
    if (time_ns >= state_->context.call_ns_) state_->CallAdapters(time_ns);
    size_t end = i + 1;
    while (end < events.size() && events[end].time_ns == time_ns) ++end;
    if (end == i + 1) {
      state_->ApplyEvent(events[i]);
    } else {
      state_->ApplyTies(events.subspan(i, end - i));
    }
    i = end;
  }
  while (sample != batch.samples.end()) state_->ApplySample(*sample++);
  JoinContext& context = state_->context;
  if (!batch.last) {
    for (const auto& adapter : context.adapters_) adapter->OnFinal(batch.final_ns);
    context.sink_.OnFinal(batch.final_ns);
  }
}

void Joiner::Finish() {
  if (state_->finished) return;
  state_->finished = true;
  JoinContext& context = state_->context;
  const uint64_t end_ns = state_->end_ns;
  for (const auto& adapter : context.adapters_) adapter->Finish(end_ns);
  for (ThreadRecord* thread : context.threads_.Sorted()) {
    const bool exited = thread->exited;
    context.RemoveThread(*thread, exited ? thread->exit_ns : end_ns,
                         exited ? NodeEnd::kObserved : NodeEnd::kOpen);
  }
  CPROF_CHECK(context.OpenHalves() == 0);
  context.sink_.OnFinal(end_ns);
  context.EndInterrupts(end_ns);
  context.sink_.OnSummary(context.summary_);
}

}  // namespace cprof
