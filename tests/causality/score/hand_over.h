// Judges hand-overs from thread to thread (Truth::kEdge): wakes, spawns, timers, messages, ...
//
// Both ends of an edge have a thread and a time, and so has the truth. An edge that agrees with a
// true one at both ends is right. One that has an end in the bracket of a true one and disagrees at
// the other is wrong; so is any other one where the log says that it holds all there were. Of the
// rest the truth knows nothing.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_HAND_OVER_H_
#define CPROF_TESTS_CAUSALITY_SCORE_HAND_OVER_H_

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tests/causality/oracle.h"
#include "tests/causality/score/domain.h"
#include "tests/causality/score/graph_text.h"
#include "tests/causality/score/match.h"
#include "tests/causality/score/verdict.h"

namespace cprof::causality {

// What the nodes of a graph stand for.
struct NodeTruth {
  // Hidden ids; 0 where no life of the truth is meant.
  std::unordered_map<uint64_t, uint64_t> request_of_node, task_of_node;
  // Index of the submit record; kNoRecord for something that the truth cannot name.
  std::unordered_map<uint64_t, uint32_t> operation_of_node;
  // Requests that tasks work for, by hidden id.
  std::unordered_map<uint64_t, uint64_t> owner_of_task;

  // The request that a node stands for or works for; nothing where that is not known.
  std::optional<uint64_t> RequestBehind(uint64_t node) const;
};

// What kind of hand-over an edge of the graph is, if the truth could hold one like it.
std::optional<EdgeKind> HandOverKind(const Graph& graph, const GraphEdge& edge);

void JudgeHandOvers(const MatchInput& input, const NodeTruth& nodes, Judgement* judgement);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_HAND_OVER_H_
