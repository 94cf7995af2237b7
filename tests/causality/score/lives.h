// Lives of requests and tasks, whose handles are reused: which one a node of a graph stands for.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_LIVES_H_
#define CPROF_TESTS_CAUSALITY_SCORE_LIVES_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tests/causality/oracle.h"
#include "tests/causality/score/graph_text.h"

namespace cprof::causality {

// Lives of requests or tasks: which hidden id a node of the graph stands for. Nodes are found by
// the application's handle, which is reused, and by the life it had when the node was born.
class Lives {
 public:
  Lives(const std::vector<OracleRecord>& records, Truth begin, Truth end);
  // 0 where no life, or more than one, can be meant.
  uint64_t Find(const GraphNode& node) const;

  struct Life {
    uint64_t id = 0, owner = 0;
    uint64_t begin_before_ns = 0, begin_after_ns = 0;
    uint64_t end_before_ns = 0, end_after_ns = 0;  // 0: never ended
  };
  // Null for an unknown id.
  const Life* Of(uint64_t id) const;
  size_t count() const { return by_id_.size(); }

 private:
  std::unordered_map<uint64_t, Life> by_id_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> by_handle_;  // ids in order of birth
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_LIVES_H_
