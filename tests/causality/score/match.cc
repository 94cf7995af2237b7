// Finds what is behind a graph's edges by thread and time: see match.h.
#include "tests/causality/score/match.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

namespace cprof::causality {
namespace {

struct Side {
  uint32_t tid = 0;
  uint64_t time_ns = 0;
  const std::string* event = nullptr;
};

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
      if (*rest == '.') half.sequence = std::strtoull(rest + 1, nullptr, 10);
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

HalvesByTid Collect(const Graph& graph, const std::vector<OracleRecord>& records,
                    std::string_view type) {
  const bool at_source = type != "complete";
  Collector collector(records);
  for (uint32_t i = 0; i < graph.edges.size(); ++i) {
    const GraphEdge& edge = graph.edges[i];
    if (edge.type != type) continue;
    // Hand-overs are what an application tells; submits and completions are not.
    if ((type == "queue") != (edge.source == "application")) continue;
    // A block request is submitted and completed too, but is no operation of a ring.
    const GraphNode* node = graph.Find(at_source ? edge.dst : edge.src);
    if (node != nullptr && node->kind == "block_request") continue;
    collector.Add(SideOf(graph, edge, at_source), !at_source).edges.push_back(i);
  }
  for (uint32_t i = 0; i < graph.orphans.size(); ++i) {
    const GraphOrphan& orphan = graph.orphans[i];
    if (orphan.type != type || (orphan.half == "hand_out") != at_source) continue;
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
                                                 Truth truth) {
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
            const Window& window, Matched* matched) {
  const size_t expected_count = batch.records.size();
  const auto count = static_cast<size_t>(last - first);
  if (count == 0 && (batch.after_ns < window.from_ns || batch.before_ns > window.to_ns)) {
    matched->outside += expected_count;
    return;
  }
  matched->truths += expected_count;
  if (count == 0) {
    matched->unreported += expected_count;
    return;
  }
  if (count != expected_count) {
    matched->undecided += expected_count;
    // More than was done: the surplus cannot be true, whichever it is.
    size_t surplus = count > expected_count ? count - expected_count : 0;
    for (auto half = first; half != last; ++half) {
      half->verdict = surplus > 0 ? Half::Verdict::kInvented : Half::Verdict::kUndecided;
      if (surplus > 0) --surplus;
    }
    return;
  }
  matched->decided += expected_count;
  for (const uint32_t record : batch.records) {
    first->verdict = Half::Verdict::kDecided;
    first->record = record;
    ++first;
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

Matched Match(const Graph& graph, const std::vector<OracleRecord>& records, std::string_view type,
              Truth truth, const Window& window) {
  HalvesByTid halves = Collect(graph, records, type);
  Matched matched;
  for (auto& [tid, batches] : BatchesOf(records, truth)) {
    std::vector<Half>& list = halves[tid];
    // Until a batch claims it, a half of a thread whose every deed is in the log is an invention.
    for (Half& half : list) half.verdict = Half::Verdict::kInvented;
    auto first = list.begin();
    for (const Batch& batch : batches) {
      while (first != list.end() && first->time_ns < batch.before_ns) ++first;
      auto last = first;
      while (last != list.end() && last->time_ns <= batch.after_ns) ++last;
      Decide(batch, first, last, window, &matched);
      first = last;
    }
  }
  for (auto& [tid, list] : halves) {
    for (Half& half : list) matched.halves.push_back(std::move(half));
  }
  for (uint32_t i = 0; i < matched.halves.size(); ++i) {
    const Half& half = matched.halves[i];
    if (half.verdict == Half::Verdict::kDecided) matched.half_of_record[half.record] = i + 1;
  }
  return matched;
}

Lives::Lives(const std::vector<OracleRecord>& records, Truth begin, Truth end) {
  for (const OracleRecord& record : records) {
    if (record.truth == begin) {
      Life& life = by_id_[record.operation];
      life.id = record.operation;
      life.owner = record.owner;
      life.begin_before_ns = record.before_ns;
      life.begin_after_ns = record.after_ns;
      by_handle_[record.value].push_back(record.operation);
    } else if (record.truth == end) {
      Life& life = by_id_[record.operation];
      life.end_before_ns = record.before_ns;
      life.end_after_ns = record.after_ns;
    }
  }
  for (auto& [handle, ids] : by_handle_) {
    std::sort(ids.begin(), ids.end(), [this](uint64_t left, uint64_t right) {
      return by_id_[left].begin_before_ns < by_id_[right].begin_before_ns;
    });
  }
}

uint64_t Lives::Find(const GraphNode& node) const {
  const auto found = by_handle_.find(node.handle);
  if (found == by_handle_.end()) return 0;
  const std::vector<uint64_t>& ids = found->second;
  // The last life that began before the node was born; it must not have ended by then. Lives of one
  // handle do not overlap, so there is no second candidate.
  auto after = std::upper_bound(
      ids.begin(), ids.end(), node.born_ns,
      [this](uint64_t time_ns, uint64_t id) { return time_ns < by_id_.at(id).begin_before_ns; });
  if (after == ids.begin()) return 0;
  const Life& life = by_id_.at(*(after - 1));
  if (life.end_after_ns != 0 && node.born_ns > life.end_after_ns) return 0;
  return life.id;
}

const Lives::Life* Lives::Of(uint64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

}  // namespace cprof::causality
