// A request's record is complete at its end, but the reason of a wait may be a request that ends
// later: a record that waited for live requests is held back until the last of them has ended. That
// ends, since each live request ends or Finish is called, and being held back holds back nobody.
#include "report/request_ledger.h"

#include <algorithm>
#include <string_view>

namespace cprof {
namespace {

bool IsWaitedFor(NodeKind kind) {
  switch (kind) {
    case NodeKind::kResource:
    case NodeKind::kIoRequest:
    case NodeKind::kTimer:
    case NodeKind::kWorkItem:
    case NodeKind::kBlockRequest:
    case NodeKind::kMessage: return true;
    default: return false;
  }
}

// Edge types that can end a wait.
bool MayEndWait(EdgeType type) { return type != EdgeType::kSubmit && type != EdgeType::kRelease; }

}  // namespace

void RequestLedger::OnNode(const Node& node) {
  nodes_.Add(node);
  if (node.kind != NodeKind::kRequest) return;
  auto record = std::make_unique<RequestRecord>();
  record->node = node.id;
  record->label = nodes_.LabelOf(node.id);
  record->key = node.key;
  record->generation = node.generation;
  record->tgid = node.attributes.tgid;
  record->begin_ns = node.born_ns;
  live_.emplace(node.id, std::move(record));
}

void RequestLedger::OnEdge(const Edge& edge) {
  if (!MayEndWait(edge.type)) return;
  EdgeBrief* slot = &edges_[edge.id & (edges_.size() - 1)];
  // An edge that a live request may still need is not overwritten while there is room to grow.
  while (slot->id != 0 && slot->id != edge.id && edges_.size() < kMaxEdges &&
         slot->time_ns >= OldestBeginNs()) {
    std::vector<EdgeBrief> larger(edges_.size() * 2);
    for (const EdgeBrief& old : edges_) {
      if (old.id != 0) larger[old.id & (larger.size() - 1)] = old;
    }
    edges_.swap(larger);
    slot = &edges_[edge.id & (edges_.size() - 1)];
  }
  *slot = {edge.id, edge.dst_time_ns, edge.src, edge.dst, edge.dst_thread, edge.type};
}

const RequestLedger::EdgeBrief* RequestLedger::FindEdge(EdgeId id) const {
  const EdgeBrief& slot = edges_[id & (edges_.size() - 1)];
  return id != 0 && slot.id == id ? &slot : nullptr;
}

NameIndex RequestLedger::NameOf(NodeId id) {
  NodeBrief* brief = nodes_.Find(id);
  if (brief == nullptr) return 0;
  if (brief->name_index != 0) return brief->name_index;
  const NodeName name{brief->label, brief->tid};
  const auto found = name_index_.find(name);
  if (found != name_index_.end()) return brief->name_index = found->second;
  if (names_.size() >= kMaxNames) return 0;
  brief->name_index = static_cast<NameIndex>(names_.size());
  names_.push_back(name);
  name_index_.emplace(name, brief->name_index);
  return brief->name_index;
}

uint64_t RequestLedger::OldestBeginNs() const {
  // Ids count in order of first mention, so the first is the oldest but for requests told late.
  return live_.empty() ? ~uint64_t{0} : live_.begin()->second->begin_ns;
}

uint64_t RequestLedger::OldestNeededNs() const {
  const uint64_t live_ns = OldestBeginNs();
  return held_back_begins_ns_.empty() ? live_ns : std::min(live_ns, *held_back_begins_ns_.begin());
}

void RequestLedger::OnState(const StateSpan& span) {
  const auto found = live_.find(span.request);
  if (found == live_.end() || span.to_ns <= span.from_ns) return;
  RequestRecord& record = *found->second;
  record.state_ns[static_cast<size_t>(span.state)] += span.to_ns - span.from_ns;
  if (record.spans.size() >= kMaxSpans) {
    record.spans_cut = true;
    return;
  }
  ExplainedSpan explained;
  explained.from_ns = span.from_ns;
  explained.to_ns = span.to_ns;
  explained.state = span.state;
  explained.confidence = span.confidence;
  explained.node = span.node;
  explained.node_name = NameOf(span.node);
  explained.cause = span.cause;
  explained.cause_name = NameOf(span.cause);
  explained.edge = span.edge;
  if (const EdgeBrief* edge = FindEdge(span.edge)) {
    explained.has_edge = true;
    explained.edge_type = edge->type;
    const NameIndex dst_name = NameOf(edge->dst);
    const NameIndex src_name = NameOf(edge->src);
    const Label& dst = LabelAt(dst_name);
    const Label& src = LabelAt(src_name);
    // Of a hand-over that nobody took up yet, what was handed over; of a wait, what it was for.
    const bool handed_over = edge->type == EdgeType::kQueue || edge->type == EdgeType::kSpawn;
    const bool take_dst = handed_over || (dst.known && IsWaitedFor(dst.kind) &&
                                          !(src.known && IsWaitedFor(src.kind)));
    explained.peer = take_dst ? edge->dst : edge->src;
    explained.peer_name = take_dst ? dst_name : src_name;
    explained.thread = edge->dst_thread;
    explained.thread_name = NameOf(edge->dst_thread);
  }
  record.spans.push_back(explained);
}

void RequestLedger::OnCost(const Cost& cost) {
  if (std::string_view(cost.kind) != "cpu_ns") return;
  const auto found = live_.find(cost.request);
  if (found == live_.end()) return;
  RequestRecord& record = *found->second;
  record.has_cpu = true;
  record.cpu_ns += cost.value;
  record.cpu_low_ns += cost.low;
  record.cpu_high_ns += cost.high;
}

void RequestLedger::OnRequestEnd(const RequestEnd& end) {
  const auto found = live_.find(end.request);
  if (found == live_.end()) return;
  auto ended = std::make_unique<Ended>();
  ended->record = std::move(*found->second);
  live_.erase(found);
  RequestRecord& record = ended->record;
  record.ended = end.ended;
  record.begun = end.begun;
  record.begin_ns = end.begin_ns;
  record.end_ns = std::max(end.begin_ns, end.end_ns);
  std::stable_sort(record.spans.begin(), record.spans.end(),
                   [](const auto& a, const auto& b) { return a.from_ns < b.from_ns; });
  kept_spans_ += record.spans.size();

  const NodeId id = end.request;
  Ended* kept = ended.get();
  ended_[id] = std::move(ended);
  ended_order_.push_back(id);
  AwaitHolders(kept);
  if (kept->awaited == 0) {
    Deliver(kept);
  } else {
    held_back_begins_ns_.insert(kept->record.begin_ns);
  }

  // Those that waited for this one.
  const auto awaiting = awaiting_.find(id);
  if (awaiting != awaiting_.end()) {
    const std::vector<NodeId> waiters = std::move(awaiting->second);
    awaiting_.erase(awaiting);
    for (const NodeId waiter : waiters) {
      const auto entry = ended_.find(waiter);
      if (entry == ended_.end() || entry->second->delivered) continue;
      if (--entry->second->awaited == 0) Deliver(entry->second.get());
    }
  }
  Forget();
}

void RequestLedger::AwaitHolders(Ended* ended) {
  std::vector<NodeId> holders;
  for (const ExplainedSpan& span : ended->record.spans) {
    if (span.cause == 0 || FindTold(span.cause) != nullptr) continue;
    if (live_.contains(span.cause)) holders.push_back(span.cause);
  }
  std::sort(holders.begin(), holders.end());
  holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
  ended->awaited = static_cast<uint32_t>(holders.size());
  ended->awaited_any = !holders.empty();
  for (const NodeId holder : holders) awaiting_[holder].push_back(ended->record.node);
}

void RequestLedger::Deliver(Ended* ended) {
  ended->delivered = true;
  const auto held_back = held_back_begins_ns_.find(ended->record.begin_ns);
  if (ended->awaited_any && held_back != held_back_begins_ns_.end()) {
    held_back_begins_ns_.erase(held_back);
  }
  consumer_(ended->record);
}

const RequestRecord* RequestLedger::FindTold(NodeId request) const {
  const auto found = ended_.find(request);
  if (found != ended_.end()) return &found->second->record;
  // All spans of a request come at once; its end may follow later, when its costs are known.
  const auto live = live_.find(request);
  return live == live_.end() || live->second->spans.empty() ? nullptr : live->second.get();
}

// Drops records that no live or held back request can have waited for. The oldest go first; one
// that is still needed keeps those behind it, up to the bound.
void RequestLedger::Forget() {
  while (!ended_order_.empty()) {
    const auto entry = ended_.find(ended_order_.front());
    Ended& ended = *entry->second;
    const bool over = kept_spans_ > kMaxKeptSpans;
    if (!over && (!ended.delivered || ended.record.end_ns >= OldestNeededNs())) return;
    if (!ended.delivered) Deliver(&ended);  // explained as far as it can be
    kept_spans_ -= ended.record.spans.size();
    ended_.erase(entry);
    ended_order_.pop_front();
  }
}

void RequestLedger::OnFinal(uint64_t final_ns) {
  nodes_.Forget(std::min(final_ns, OldestBeginNs()));
}

void RequestLedger::Finish() {
  for (const NodeId id : ended_order_) {
    Ended& ended = *ended_[id];
    if (!ended.delivered) Deliver(&ended);
  }
}

}  // namespace cprof
