// What a graph owns up to: missing edges that it has something to show for, doubts, breaks.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_HONESTY_H_
#define CPROF_TESTS_CAUSALITY_SCORE_HONESTY_H_

#include <vector>

#include "tests/causality/score/hand_over.h"
#include "tests/causality/score/match.h"
#include "tests/causality/score/score.h"

namespace cprof::causality {

// Halves that were matched, by the type of their edges.
struct MatchedHalves {
  std::vector<Half> submits, completes, hand_overs;
};

// Fills in has_orphan and has_break of each missing edge. An orphan counts if it is at one end of
// the edge: the very half, or one of that type, thread and time. A break counts if it overlaps the
// time in which the edge's halves were to be seen.
void FindExcuses(const MatchInput& input, const MatchedHalves& halves, Judgement* judgement);

// Joins that need no rule and that no loss can have touched, and how many are `observed`. What was
// lost is known from `losses`, or else only from the graph's own breaks.
void CountDoubts(const Graph& graph, const Losses* losses, const Judgement& judgement,
                 Scores* scores);

// Breaks beside what was truly lost, and what the graph says of its own accounts.
void CountAccounts(const Graph& graph, const Losses* losses, Scores* scores);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_HONESTY_H_
