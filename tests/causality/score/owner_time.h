// Wrong-owner time: what a graph says each instant belonged to, against what it did belong to.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_OWNER_TIME_H_
#define CPROF_TESTS_CAUSALITY_SCORE_OWNER_TIME_H_

#include <unordered_map>
#include <vector>

#include "tests/causality/score/match.h"
#include "tests/causality/score/score.h"

namespace cprof::causality {

struct OwnerTruth {
  const std::vector<OracleRecord>& records;
  const Graph& graph;
  Window window;
  // Request nodes and the hidden id of their request; 0 where no request of the truth is meant.
  const std::unordered_map<uint64_t, uint64_t>& request_of_node;
  std::vector<Scored::WrongOwner>* wrong;  // filled with stretches that have the wrong owner
};

// Time of the threads that the truth watches. At each instant the innermost binding with an owner
// counts; that of a request is the request, that of another node what its owner lines say.
OwnerScore ScoreThreads(const OwnerTruth& truth);

// Time of operations in flight, by their owner lines. operation_of_node: index of the submit record
// that a node stands for, or kNoRecord.
OwnerScore ScoreOperations(const OwnerTruth& truth,
                           const std::unordered_map<uint64_t, uint32_t>& operation_of_node);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_OWNER_TIME_H_
