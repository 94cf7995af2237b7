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

void RequestLedger::Entry::Clear() {
  // A short list of spans keeps its memory for the next request.
  constexpr size_t kKeptSpans = 32;
  std::vector<ExplainedSpan> spans;
  if (record.spans.capacity() <= kKeptSpans) spans.swap(record.spans);
  *this = Entry{};
  spans.clear();
  record.spans.swap(spans);
}

void RequestLedger::OnNode(const Node& node) {
  nodes_.Add(node);
  if (node.kind != NodeKind::kRequest) return;
  RequestRecord& record = entries_.FindOrAdd(node.id).record;
  record.node = node.id;
  record.label = nodes_.LabelOf(node.id);
  record.name = NameOf(node.id);
  record.key = node.key;
  record.generation = node.generation;
  record.tgid = node.attributes.tgid;
  record.begin_ns = node.born_ns;
  ++live_count_;
  live_.push_back({node.id, node.born_ns});
  untold_.push_back({node.id, node.born_ns});
  // One request that stays live must not keep what came after it.
  const size_t bound = 2 * live_count_ + 1024;
  if (live_.size() > bound) {
    live_.EraseIf([this](const Begin& begin) {
      const Entry* entry = entries_.Find(begin.node);
      return entry == nullptr || entry->ended;
    });
  }
  if (untold_.size() > bound) {
    untold_.EraseIf([this](const Begin& begin) {
      const Entry* entry = entries_.Find(begin.node);
      return entry == nullptr || entry->IsTold();
    });
  }
}

void RequestLedger::OnEdge(const Edge& edge) {
  if (!MayEndWait(edge.type)) return;
  if (edges_.empty()) edges_.resize(kFirstEdges);
  EdgeBrief* slot = &edges_[edge.id & (edges_.size() - 1)];
  // An edge that a live request may still need is not overwritten while there is room to grow.
  while (slot->id != 0 && slot->id != edge.id && edges_.size() < kMaxEdges &&
         slot->time_ns >= OldestUntoldNs()) {
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
  if (id == 0 || edges_.empty()) return nullptr;
  const EdgeBrief& slot = edges_[id & (edges_.size() - 1)];
  return slot.id == id ? &slot : nullptr;
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

uint64_t RequestLedger::OldestUntoldNs() {
  for (; !untold_.empty(); untold_.pop_front()) {
    const Entry* entry = entries_.Find(untold_.front().node);
    if (entry != nullptr && !entry->IsTold()) return untold_.front().begin_ns;
  }
  return ~uint64_t{0};
}

uint64_t RequestLedger::OldestNeededNs() {
  uint64_t oldest_ns = ~uint64_t{0};
  for (; !live_.empty(); live_.pop_front()) {
    const Entry* entry = entries_.Find(live_.front().node);
    if (entry == nullptr || entry->ended) continue;
    oldest_ns = live_.front().begin_ns;
    break;
  }
  return held_back_begins_ns_.empty() ? oldest_ns
                                      : std::min(oldest_ns, *held_back_begins_ns_.begin());
}

void RequestLedger::OnState(const StateSpan& span) {
  Entry* entry = entries_.Find(span.request);
  if (entry == nullptr || entry->ended || span.to_ns <= span.from_ns) return;
  RequestRecord& record = entry->record;
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
  Entry* entry = entries_.Find(cost.request);
  if (entry == nullptr || entry->ended) return;
  RequestRecord& record = entry->record;
  record.has_cpu = true;
  record.cpu_ns += cost.value;
  record.cpu_low_ns += cost.low;
  record.cpu_high_ns += cost.high;
}

void RequestLedger::OnRequestEnd(const RequestEnd& end) {
  Entry* entry = entries_.Find(end.request);
  if (entry == nullptr || entry->ended) return;
  entry->ended = true;
  --live_count_;
  RequestRecord& record = entry->record;
  record.ended = end.ended;
  record.begun = end.begun;
  record.begin_ns = end.begin_ns;
  record.end_ns = std::max(end.begin_ns, end.end_ns);
  const auto is_before = [](const auto& a, const auto& b) { return a.from_ns < b.from_ns; };
  if (!std::is_sorted(record.spans.begin(), record.spans.end(), is_before)) {
    std::stable_sort(record.spans.begin(), record.spans.end(), is_before);
  }
  kept_spans_ += record.spans.size();

  ended_order_.push_back(end.request);
  AwaitHolders(entry);
  if (entry->awaited == 0) {
    Deliver(entry);
  } else {
    held_back_begins_ns_.insert(record.begin_ns);
  }

  const std::vector<NodeId> waiters = std::move(entry->waiters);
  for (const NodeId id : waiters) {
    Entry* waiter = entries_.Find(id);
    if (waiter == nullptr || waiter->delivered) continue;
    if (--waiter->awaited == 0) Deliver(waiter);
  }
  Forget();
}

void RequestLedger::AwaitHolders(Entry* ended) {
  holders_.clear();
  for (const ExplainedSpan& span : ended->record.spans) {
    if (span.cause == 0) continue;
    const Entry* holder = entries_.Find(span.cause);
    if (holder != nullptr && !holder->IsTold()) holders_.push_back(span.cause);
  }
  std::sort(holders_.begin(), holders_.end());
  holders_.erase(std::unique(holders_.begin(), holders_.end()), holders_.end());
  ended->awaited = static_cast<uint32_t>(holders_.size());
  ended->awaited_any = !holders_.empty();
  for (const NodeId holder : holders_) {
    entries_.Find(holder)->waiters.push_back(ended->record.node);
  }
}

void RequestLedger::Deliver(Entry* ended) {
  ended->delivered = true;
  if (ended->awaited_any) {
    const auto held_back = held_back_begins_ns_.find(ended->record.begin_ns);
    if (held_back != held_back_begins_ns_.end()) held_back_begins_ns_.erase(held_back);
  }
  consumer_(ended->record);
}

const RequestRecord* RequestLedger::FindTold(NodeId request) const {
  const Entry* entry = entries_.Find(request);
  return entry == nullptr || !entry->IsTold() ? nullptr : &entry->record;
}

// Drops records that no live or held back request can have waited for. The oldest go first; one
// that is still needed keeps those behind it, up to the bound.
void RequestLedger::Forget() {
  uint64_t needed_ns = OldestNeededNs();
  while (!ended_order_.empty()) {
    Entry& ended = *entries_.Find(ended_order_.front());
    const bool over = kept_spans_ > kMaxKeptSpans;
    if (!over && (!ended.delivered || ended.record.end_ns >= needed_ns)) return;
    if (!ended.delivered) {
      Deliver(&ended);  // explained as far as it can be
      needed_ns = OldestNeededNs();
    }
    kept_spans_ -= ended.record.spans.size();
    entries_.Erase(ended_order_.front());
    ended_order_.pop_front();
  }
}

void RequestLedger::OnFinal(uint64_t final_ns) {
  nodes_.Forget(std::min(final_ns, OldestUntoldNs()));
}

void RequestLedger::Finish() {
  for (const NodeId id : ended_order_) {
    Entry& ended = *entries_.Find(id);
    if (!ended.delivered) Deliver(&ended);
  }
}

}  // namespace cprof
