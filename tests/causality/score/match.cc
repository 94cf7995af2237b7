// Finds what is behind a graph's edges by thread and time: see match.h.
#include "tests/causality/score/match.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>

namespace cprof::causality {
namespace {

struct Side {
  uint32_t tid = 0;
  uint64_t time_ns = 0;
  const std::string* event = nullptr;
};

// Edges from and to these are compared as hand-overs from thread to thread.
bool IsOtherKind(const Graph& graph, uint64_t id) {
  const GraphNode* node = graph.Find(id);
  if (node == nullptr) return false;
  const std::string& kind = node->kind;
  return kind == "timer" || kind == "work_item" || kind == "block_request" || kind == "message";
}

// Where an edge of this type meets the truth.
Side SideOf(const Graph& graph, const GraphEdge& edge, bool at_source) {
  uint32_t tid = graph.TidOf(at_source ? edge.src_thread : edge.dst_thread);
  if (tid == 0) tid = graph.TidOf(at_source ? edge.src : edge.dst);
  return {tid, at_source ? edge.src_time_ns : edge.dst_time_ns,
          at_source ? &edge.src_event : &edge.dst_event};
}

using HalvesByTid = std::map<uint32_t, std::vector<Half>>;

// Collects halves by the thread that the truth would name, and merges those of one event.
class Collector {
 public:
  explicit Collector(const std::vector<OracleRecord>& records) {
    for (const OracleRecord& record : records) {
      if (record.truth == Truth::kHelper) {
        owner_of_helper_[record.tid] = static_cast<uint32_t>(record.value);
      }
    }
  }

  // fold_helpers: a ring's completions are counted together, whoever of its threads ran them.
  Half& Add(const Side& side, bool fold_helpers) {
    uint32_t tid = side.tid;
    if (fold_helpers) {
      const auto found = owner_of_helper_.find(tid);
      if (found != owner_of_helper_.end()) tid = found->second;
    }
    std::vector<Half>& list = halves_[tid];
    if (side.event != nullptr && !side.event->empty()) {
      const auto [position, is_new] =
          by_event_.try_emplace(*side.event, std::pair<uint32_t, size_t>{tid, list.size()});
      if (!is_new) return halves_[position->second.first][position->second.second];
    }
    Half& half = list.emplace_back();
    half.time_ns = side.time_ns;
    if (side.event != nullptr) {
      char* rest = nullptr;
      half.stream = std::strtoull(side.event->c_str(), &rest, 10);
      half.has_event = *rest == '.';
      if (half.has_event) half.sequence = std::strtoull(rest + 1, nullptr, 10);
    }
    return half;
  }

  HalvesByTid TakeSorted() {
    for (auto& [tid, list] : halves_) {
      std::sort(list.begin(), list.end(), [](const Half& left, const Half& right) {
        return std::tie(left.time_ns, left.stream, left.sequence) <
               std::tie(right.time_ns, right.stream, right.sequence);
      });
    }
    return std::move(halves_);
  }

 private:
  std::unordered_map<uint32_t, uint32_t> owner_of_helper_;
  std::unordered_map<std::string, std::pair<uint32_t, size_t>> by_event_;
  HalvesByTid halves_;
};

HalvesByTid Collect(const MatchInput& input, TrueType true_type) {
  const Graph& graph = input.graph;
  const bool is_told = true_type == TrueType::kHandOver;
  const bool at_source = true_type != TrueType::kComplete;
  const std::string_view type = is_told ? "queue" : TrueTypeName(true_type);
  Collector collector(input.records);
  for (uint32_t i = 0; i < graph.edges.size(); ++i) {
    const GraphEdge& edge = graph.edges[i];
    if (edge.type != type || is_told != (edge.source == "application")) continue;
    if (IsOtherKind(graph, edge.src) || IsOtherKind(graph, edge.dst)) continue;
    collector.Add(SideOf(graph, edge, at_source), !at_source).edges.push_back(i);
  }
  for (uint32_t i = 0; i < graph.orphans.size(); ++i) {
    const GraphOrphan& orphan = graph.orphans[i];
    if (orphan.type != type || (orphan.half == "hand_out") != at_source) continue;
    if (IsOtherKind(graph, orphan.node)) continue;
    const Side side{graph.TidOf(orphan.thread), orphan.time_ns, &orphan.event};
    collector.Add(side, !at_source).orphans.push_back(i);
  }
  return collector.TakeSorted();
}

struct Batch {
  uint64_t before_ns = 0, after_ns = 0;
  std::vector<uint32_t> records;  // in sequence
};

// Batches of one thread in order of time; their brackets do not overlap.
std::map<uint32_t, std::vector<Batch>> BatchesOf(const std::vector<OracleRecord>& records,
                                                 TrueType type) {
  const Truth truth = type == TrueType::kSubmit     ? Truth::kSubmit
                      : type == TrueType::kComplete ? Truth::kComplete
                                                    : Truth::kHandOver;
  std::map<std::pair<uint32_t, uint64_t>, Batch> by_id;
  for (uint32_t i = 0; i < records.size(); ++i) {
    if (records[i].truth != truth) continue;
    Batch& batch = by_id[{records[i].tid, records[i].batch}];
    batch.before_ns = records[i].before_ns;
    batch.after_ns = records[i].after_ns;
    batch.records.push_back(i);
  }
  std::map<uint32_t, std::vector<Batch>> by_tid;
  for (auto& [id, batch] : by_id) {
    std::sort(batch.records.begin(), batch.records.end(),
              [&records](uint32_t left, uint32_t right) {
                return records[left].sequence < records[right].sequence;
              });
    by_tid[id.first].push_back(std::move(batch));
  }
  for (auto& [tid, batches] : by_tid) {
    std::sort(batches.begin(), batches.end(), [](const Batch& left, const Batch& right) {
      return left.before_ns < right.before_ns;
    });
  }
  return by_tid;
}

// Decides one batch from the halves [first, last) inside its bracket.
void Decide(const Batch& batch, std::vector<Half>::iterator first, std::vector<Half>::iterator last,
            const Window& window, Judgement* judgement) {
  const size_t expected_count = batch.records.size();
  const auto count = static_cast<size_t>(last - first);
  const auto set_all = [&](TrueEdge::Status status) {
    for (const uint32_t record : batch.records) judgement->SetStatus(record, status);
  };
  if (count == 0) {
    const bool is_outside = batch.after_ns < window.from_ns || batch.before_ns > window.to_ns;
    set_all(is_outside ? TrueEdge::Status::kOutside : TrueEdge::Status::kMissing);
    return;
  }
  if (count != expected_count) {
    set_all(TrueEdge::Status::kUndecided);
    // More than was done: the surplus cannot be true, whichever it is.
    size_t surplus = count > expected_count ? count - expected_count : 0;
    for (auto half = first; half != last; ++half) {
      half->verdict = surplus > 0 ? Half::Verdict::kInvented : Half::Verdict::kUndecided;
      if (surplus > 0) --surplus;
    }
    return;
  }
  set_all(TrueEdge::Status::kMissing);
  for (const uint32_t record : batch.records) {
    first->verdict = Half::Verdict::kDecided;
    first->record = record;
    ++first;
  }
}

// Halves by what they are in the recording without loss; where that cannot tell, nobody can.
void Remind(const HalfMemory& memory, TrueType type, std::vector<Half>* list) {
  for (Half& half : *list) {
    const HalfMemory::Known* known = memory.Find(type, half);
    if (known == nullptr) continue;
    half.verdict = known->verdict;
    half.record = known->record;
  }
}

}  // namespace

Window WindowOf(const Graph& graph) {
  Window window{UINT64_MAX, 0};
  const auto see = [&window](uint64_t time_ns) {
    window.from_ns = std::min(window.from_ns, time_ns);
    window.to_ns = std::max(window.to_ns, time_ns);
  };
  for (const GraphEdge& edge : graph.edges) {
    see(edge.src_time_ns);
    see(edge.dst_time_ns);
  }
  for (const GraphOrphan& orphan : graph.orphans) see(orphan.time_ns);
  // A profile by thread has no edges, but says whose each thread was.
  for (const GraphBinding& binding : graph.bindings) {
    see(binding.from_ns);
    see(binding.to_ns);
  }
  return window;
}

void HalfMemory::Remember(TrueType type, const std::vector<Half>& halves) {
  auto& known = known_[static_cast<size_t>(type)];
  for (const Half& half : halves) {
    if (half.has_event) known[{half.stream, half.sequence}] = {half.verdict, half.record};
  }
}

const HalfMemory::Known* HalfMemory::Find(TrueType type, const Half& half) const {
  const auto& known = known_[static_cast<size_t>(type)];
  const auto found = known.find({half.stream, half.sequence});
  return !half.has_event || found == known.end() ? nullptr : &found->second;
}

std::vector<Half> Match(const MatchInput& input, TrueType type, Judgement* judgement) {
  HalvesByTid halves = Collect(input, type);
  for (auto& [tid, list] : halves) {
    for (Half& half : list) {
      if (input.domains.Cover(tid, EdgeKind::kNone, half.time_ns)) {
        half.verdict = Half::Verdict::kInvented;
      }
    }
  }
  for (auto& [tid, batches] : BatchesOf(input.records, type)) {
    std::vector<Half>& list = halves[tid];
    // Until a batch claims it, a half of a thread whose every deed is in the log is an invention.
    for (Half& half : list) half.verdict = Half::Verdict::kInvented;
    auto first = list.begin();
    for (const Batch& batch : batches) {
      while (first != list.end() && first->time_ns < batch.before_ns) ++first;
      auto last = first;
      while (last != list.end() && last->time_ns <= batch.after_ns) ++last;
      if (input.memory == nullptr) Decide(batch, first, last, input.window, judgement);
      first = last;
    }
    if (input.memory != nullptr) Remind(*input.memory, type, &list);
  }
  std::vector<Half> all;
  for (auto& [tid, list] : halves) {
    for (Half& half : list) all.push_back(std::move(half));
  }
  return all;
}

}  // namespace cprof::causality
