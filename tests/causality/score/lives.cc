// Lives of requests and tasks: see lives.h.
#include "tests/causality/score/lives.h"

#include <algorithm>

namespace cprof::causality {

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
