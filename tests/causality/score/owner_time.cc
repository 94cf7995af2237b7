// Wrong-owner time: see owner_time.h.
#include "tests/causality/score/owner_time.h"

#include <algorithm>
#include <map>

namespace cprof::causality {
namespace {

// What the graph claims for [from, to): hidden ids of the requests (0: one that never was).
struct Claim {
  uint64_t from_ns = 0, to_ns = 0;
  uint64_t opened_ns = 0;          // of the binding: the latest is the innermost
  std::vector<uint64_t> requests;  // none: said to be unknown, whatever lies around it
  std::string confidence;
};

// What was true over [from, to).
struct Stretch {
  uint64_t from_ns = 0, to_ns = 0;
  uint64_t owner = 0;  // 0: nobody
  bool is_sure = false;
};

using OwnersByNode = std::unordered_map<uint64_t, std::vector<const GraphOwner*>>;

OwnersByNode GroupOwners(const Graph& graph) {
  OwnersByNode owners;
  for (const GraphOwner& owner : graph.owners) {
    if (owner.confidence != "unknown" && !owner.requests.empty()) {
      owners[owner.node].push_back(&owner);
    }
  }
  return owners;
}

std::vector<uint64_t> HiddenIds(const OwnerTruth& truth, const std::vector<uint64_t>& nodes) {
  std::vector<uint64_t> ids;
  for (const uint64_t node : nodes) {
    const auto found = truth.request_of_node.find(node);
    ids.push_back(found == truth.request_of_node.end() ? 0 : found->second);
  }
  return ids;
}

std::map<uint32_t, std::vector<Claim>> ClaimsByTid(const OwnerTruth& truth) {
  const OwnersByNode owners = GroupOwners(truth.graph);
  std::map<uint32_t, std::vector<Claim>> claims;
  for (const GraphBinding& binding : truth.graph.bindings) {
    const uint32_t tid = truth.graph.TidOf(binding.thread);
    if (tid == 0) continue;
    if (binding.confidence == "unknown") {
      claims[tid].push_back({binding.from_ns, binding.to_ns, binding.from_ns, {}, {}});
      continue;
    }
    if (truth.request_of_node.contains(binding.node)) {
      claims[tid].push_back({binding.from_ns, binding.to_ns, binding.from_ns,
                             HiddenIds(truth, {binding.node}),
                             ClassOf(binding.source, binding.confidence)});
      continue;
    }
    const auto found = owners.find(binding.node);
    if (found == owners.end()) continue;
    for (const GraphOwner* owner : found->second) {
      const uint64_t from_ns = std::max(binding.from_ns, owner->from_ns);
      const uint64_t to_ns = std::min(binding.to_ns, owner->to_ns);
      if (from_ns >= to_ns) continue;
      // No surer than the less sure of the two.
      const std::string& bound = ClassOf(binding.source, binding.confidence);
      const std::string& owned = ClassOf(owner->source, owner->confidence);
      claims[tid].push_back({from_ns, to_ns, binding.from_ns, HiddenIds(truth, owner->requests),
                             bound == "observed" ? owned : bound});
    }
  }
  for (const auto& [node, list] : owners) {
    const uint32_t tid = truth.graph.TidOf(node);
    if (tid == 0) continue;
    for (const GraphOwner* owner : list) {
      claims[tid].push_back({owner->from_ns, owner->to_ns, 0, HiddenIds(truth, owner->requests),
                             ClassOf(owner->source, owner->confidence)});
    }
  }
  return claims;
}

// Cuts a window of a thread's time into stretches without gaps. work: in order of time.
void Cut(const Window& window, const std::vector<const OracleRecord*>& work,
         std::vector<Stretch>* out) {
  uint64_t now_ns = window.from_ns;
  const auto add = [&](uint64_t to_ns, uint64_t owner, bool is_sure) {
    to_ns = std::min(to_ns, window.to_ns);
    if (to_ns <= now_ns) return;
    out->push_back({now_ns, to_ns, owner, is_sure});
    now_ns = to_ns;
  };
  for (const OracleRecord* record : work) {
    add(record->before_ns, 0, true);
    add(record->inner_from_ns, record->owner, false);
    add(record->inner_to_ns, record->owner, true);
    add(record->after_ns, record->owner, false);
  }
  add(window.to_ns, 0, true);
}

// The whole of each watched thread's time. A tid may be that of several threads, one after another.
std::map<uint32_t, std::vector<Stretch>> StretchesByTid(const OwnerTruth& truth) {
  std::map<uint32_t, std::vector<const OracleRecord*>> work, watched;
  for (const OracleRecord& record : truth.records) {
    if (record.truth == Truth::kWork) work[record.tid].push_back(&record);
    if (record.truth == Truth::kWatched) watched[record.tid].push_back(&record);
  }
  const auto by_time = [](const OracleRecord* left, const OracleRecord* right) {
    return left->before_ns < right->before_ns;
  };
  std::map<uint32_t, std::vector<Stretch>> stretches;
  for (auto& [tid, windows] : watched) {
    std::vector<const OracleRecord*>& list = work[tid];
    std::sort(list.begin(), list.end(), by_time);
    std::sort(windows.begin(), windows.end(), by_time);
    uint64_t until_ns = truth.window.from_ns;
    for (const OracleRecord* window : windows) {
      const Window inside{std::max(window->before_ns, until_ns),
                          std::min(window->after_ns, truth.window.to_ns)};
      if (inside.from_ns >= inside.to_ns) continue;
      Cut(inside, list, &stretches[tid]);
      until_ns = inside.to_ns;
    }
  }
  return stretches;
}

// where: a wrong owner with the thread or node and the time of it filled in.
void Judge(const Claim* claim, uint64_t owner, Scored::WrongOwner where, const OwnerTruth& truth,
           OwnerScore* score) {
  const uint64_t span_ns = where.to_ns - where.from_ns;
  if (claim == nullptr || claim->requests.empty()) {
    if (owner != 0) score->unknown_ns += span_ns;
    return;
  }
  score->attributed_ns += span_ns;
  score->attributed_by[claim->confidence] += span_ns;
  const bool is_right = owner != 0 && claim->requests.size() == 1 && claim->requests[0] == owner;
  if (is_right) {
    score->right_ns += span_ns;
    return;
  }
  score->wrong_ns += span_ns;
  score->wrong_by[claim->confidence] += span_ns;
  if (truth.wrong == nullptr) return;
  where.owner = owner;
  where.claimed = claim->requests;
  truth.wrong->push_back(std::move(where));
}

const Claim* Innermost(const std::vector<const Claim*>& active) {
  const Claim* best = nullptr;
  for (const Claim* claim : active) {
    if (best == nullptr || claim->opened_ns >= best->opened_ns) best = claim;
  }
  return best;
}

// Walks claims and stretches of one thread together; both in order of time.
void Sweep(uint32_t tid, std::vector<Claim>& claims, const std::vector<Stretch>& stretches,
           const OwnerTruth& truth, OwnerScore* score) {
  std::stable_sort(claims.begin(), claims.end(), [](const Claim& left, const Claim& right) {
    return left.from_ns < right.from_ns;
  });
  std::vector<const Claim*> active;
  size_t next = 0;
  for (const Stretch& stretch : stretches) {
    uint64_t now_ns = stretch.from_ns;
    while (now_ns < stretch.to_ns) {
      while (next < claims.size() && claims[next].from_ns <= now_ns)
        active.push_back(&claims[next++]);
      std::erase_if(active, [now_ns](const Claim* claim) { return claim->to_ns <= now_ns; });
      uint64_t until_ns = stretch.to_ns;
      if (next < claims.size()) until_ns = std::min(until_ns, claims[next].from_ns);
      for (const Claim* claim : active) until_ns = std::min(until_ns, claim->to_ns);
      score->watched_ns += until_ns - now_ns;
      if (stretch.is_sure) {
        Judge(Innermost(active), stretch.owner, {tid, 0, now_ns, until_ns, 0, {}}, truth, score);
      } else {
        score->undecided_ns += until_ns - now_ns;
      }
      now_ns = until_ns;
    }
  }
}

}  // namespace

OwnerScore ScoreThreads(const OwnerTruth& truth) {
  OwnerScore score;
  auto claims = ClaimsByTid(truth);
  for (const auto& [tid, stretches] : StretchesByTid(truth)) {
    Sweep(tid, claims[tid], stretches, truth, &score);
  }
  return score;
}

OwnerScore ScoreOperations(const OwnerTruth& truth,
                           const std::unordered_map<uint64_t, uint32_t>& operation_of_node) {
  OwnerScore score;
  const OwnersByNode owners = GroupOwners(truth.graph);
  for (const auto& [node_id, record] : operation_of_node) {
    const GraphNode* node = truth.graph.Find(node_id);
    if (node == nullptr || node->died_ns == 0) continue;
    uint64_t covered_ns = 0;
    const auto found = owners.find(node_id);
    if (found != owners.end()) {
      for (const GraphOwner* owner : found->second) {
        const uint64_t from_ns = std::max(owner->from_ns, node->born_ns);
        const uint64_t to_ns = std::min(owner->to_ns, node->died_ns);
        if (from_ns >= to_ns) continue;
        covered_ns += to_ns - from_ns;
        if (record == kNoRecord) {
          score.undecided_ns += to_ns - from_ns;
          continue;
        }
        const Claim claim{from_ns, to_ns, 0, HiddenIds(truth, owner->requests),
                          ClassOf(owner->source, owner->confidence)};
        Judge(&claim, truth.records[record].owner, {0, node_id, from_ns, to_ns, 0, {}}, truth,
              &score);
      }
    }
    const uint64_t life_ns = node->died_ns - node->born_ns;
    score.watched_ns += life_ns;
    if (record == kNoRecord || truth.records[record].owner == 0) continue;
    // When one that ends in silence ended, nobody knows.
    if (truth.records[record].kind == kExpectCompletion && covered_ns < life_ns) {
      score.unknown_ns += life_ns - covered_ns;
    }
  }
  return score;
}

}  // namespace cprof::causality
