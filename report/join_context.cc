// The services of the join pass for its adapters: threads, nodes, edges, orphans.
#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "report/adapters/adapter.h"
#include "report/mutation.h"

namespace cprof {
namespace {

Node ThreadNode(const ThreadRecord& thread) {
  Node node;
  node.kind = NodeKind::kThread;
  node.key.lo = thread.key.tid;
  node.generation = thread.generation;
  node.born_ns = thread.born_ns;
  node.birth_seen = thread.birth_seen;
  node.birth_thread = thread.parent;
  node.attributes.thread = thread.key;
  node.attributes.comm = thread.comm;
  node.attributes.tgid = thread.key.tgid;
  return node;
}

}  // namespace

JoinContext::JoinContext(const SessionHeader& header, const StringTable& strings,
                         const JoinOptions& options, GraphSink& sink)
    : header_(header), strings_(strings), options_(options), sink_(sink) {
  summary_.orphans_by_reason.resize(static_cast<size_t>(OrphanReason::kUnexplained) + 1);
  ReadFilters();
}

void JoinContext::ReadFilters() {
  constexpr std::string_view kTids = "tid in ";
  for (const auto& [name, value] : header_.attributes) {
    if (!name.starts_with("filter.")) continue;
    if (value.starts_with("cpu in ")) cpus_left_out_ = true;
    if (value == "children left out") children_left_out_ = true;
    if (!value.starts_with(kTids)) continue;
    std::string_view rest = std::string_view(value).substr(kTids.size());
    while (!rest.empty()) {
      uint32_t tid = 0;
      std::from_chars(rest.data(), rest.data() + rest.size(), tid);
      target_tids_.push_back(tid);
      rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
    }
  }
}

JoinContext::~JoinContext() = default;

ThreadRecord& JoinContext::FindOrAdd(const ThreadKey& key, uint64_t time_ns) {
  if (ThreadRecord* found = threads_.Find(key)) return *found;
  // Removal waits until no adapter holds a reference: see RemoveStaleThreads.
  if (const ThreadRecord* older = threads_.FindByTid(key.tid); older != nullptr && key.tid != 0) {
    stale_threads_.push_back(older->key);
  }
  ThreadRecord& thread = threads_.Add(key, time_ns, false);
  thread.followed = IsFollowed(key);
  return thread;
}

void JoinContext::RemoveStaleThreads(uint64_t time_ns) {
  for (const ThreadKey& key : stale_threads_) {
    ThreadRecord* thread = threads_.Find(key);
    if (thread == nullptr) continue;
    RemoveThread(*thread, thread->exited ? thread->exit_ns : time_ns,
                 thread->exited ? NodeEnd::kObserved : NodeEnd::kSuperseded);
  }
  stale_threads_.clear();
}

ThreadRecord& JoinContext::Current(const Event& event) {
  ThreadRecord*& cached = last_on_stream_[event.stream % last_on_stream_.size()];
  if (cached != nullptr && cached->key.tid == event.tid &&
      cached->key.start_time_ns == event.start_time_ns && cached->key.tgid == event.tgid) {
    return *cached;
  }
  if (event.start_time_ns == 0 && event.tid != 0) {
    ThreadRecord* found = threads_.FindByTid(event.tid);
    if (found != nullptr && found->key.tgid == event.tgid) return *found;
  }
  cached = &FindOrAdd({event.start_time_ns, event.tid, event.tgid}, event.time_ns);
  return *cached;
}

ThreadRecord& JoinContext::Thread(const ThreadKey& key, uint64_t time_ns) {
  return FindOrAdd(key, time_ns);
}

ThreadRecord* JoinContext::FollowedThread(const ThreadKey& key, uint64_t time_ns) {
  if (key.tid == 0) return nullptr;
  if (ThreadRecord* found = threads_.Find(key)) return found;
  return IsFollowed(key) ? &FindOrAdd(key, time_ns) : nullptr;
}

NodeId JoinContext::NodeOf(ThreadRecord& thread) {
  if (thread.node != 0) return thread.node;
  Node node = ThreadNode(thread);
  thread.node = AddNode(&node);
  return thread.node;
}

NodeId JoinContext::CauseOf(const Event& event, NodeId* thread_node) {
  if ((event.level == Level::kTask || CPROF_RULE_REMOVED(kInterrupt)) && event.tid != 0) {
    *thread_node = NodeOf(Current(event));
    return *thread_node;
  }
  *thread_node = 0;
  const uint32_t cpu = event.stream < streams_.size() ? streams_[event.stream].cpu : 0;
  const auto level = std::min<size_t>(static_cast<size_t>(event.level), 4);
  NodeId& id = interrupt_nodes_[cpu][level];
  if (id == 0) {
    Node node;
    node.kind = NodeKind::kInterrupt;
    node.scope = {Scope::Kind::kCpu, cpu, static_cast<uint32_t>(level), 0};
    node.born_ns = event.time_ns;
    id = AddNode(&node);
    interrupts_.push_back(node);
  }
  return id;
}

// They never die, but whoever draws the graph must have met them.
void JoinContext::EndInterrupts(uint64_t end_ns) {
  for (Node& node : interrupts_) {
    node.died_ns = end_ns;
    node.end = NodeEnd::kOpen;
    EndNode(node);
  }
  interrupts_.clear();
}

void JoinContext::RemoveThread(ThreadRecord& thread, uint64_t time_ns, NodeEnd end) {
  for (const auto& adapter : adapters_) {
    if (adapter) adapter->OnThreadGone(thread);
  }
  if (thread.watched) --watched_threads_;
  if (thread.node != 0) {
    Node node = ThreadNode(thread);
    node.id = thread.node;
    node.died_ns = time_ns;
    node.end = end;
    EndNode(node);
  }
  std::replace(last_on_stream_.begin(), last_on_stream_.end(), &thread,
               static_cast<ThreadRecord*>(nullptr));
  threads_.Remove(thread);
}

bool JoinContext::IsFollowed(const ThreadKey& key) const {
  if (key.tid == 0) return false;
  if (std::find(target_tids_.begin(), target_tids_.end(), key.tid) != target_tids_.end())
    return true;
  if (header_.system_wide || (header_.target_tgids.empty() && target_tids_.empty())) return true;
  return std::find(header_.target_tgids.begin(), header_.target_tgids.end(), key.tgid) !=
         header_.target_tgids.end();
}

Scope JoinContext::ImageScope(const ThreadRecord& thread, StringId domain) const {
  return {Scope::Kind::kImage, thread.key.tgid, threads_.ImageOf(thread.key.tgid), domain};
}

NodeId JoinContext::AddNode(Node* node) {
  node->id = ++last_node_;
  sink_.OnNode(*node);
  return node->id;
}

EdgeId JoinContext::AddEdge(Edge* edge) {
  edge->id = ++last_edge_;
  ++summary_.edges;
  switch (edge->confidence) {
    case Confidence::kObserved: ++summary_.edges_observed; break;
    case Confidence::kReconstructed: ++summary_.edges_reconstructed; break;
    case Confidence::kUnknown: ++summary_.edges_unknown; break;
  }
  sink_.OnEdge(*edge);
  return edge->id;
}

void JoinContext::AddOrphan(Orphan* orphan) {
  orphan->id = ++last_orphan_;
  ++summary_.orphans;
  ++summary_.orphans_by_reason[static_cast<size_t>(orphan->reason)];
  sink_.OnOrphan(*orphan);
}

std::string JoinContext::EventName(EventRef event) {
  return std::to_string(event.stream) + "." + std::to_string(event.sequence);
}

}  // namespace cprof
