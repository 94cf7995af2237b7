// Rules that a test build can take away, one at a time, to show that the benchmark sees each of
// them. In every other build CPROF_RULE_REMOVED is the word false, and nothing of this is there.
#ifndef CPROF_REPORT_MUTATION_H_
#define CPROF_REPORT_MUTATION_H_

#ifdef CPROF_MUTATIONS
namespace cprof {

enum class RemovableRule {
  kNone,
  kGeneration,     // a request object has one life only
  kBreak,          // what was lost touches nothing
  kInterrupt,      // what happens at interrupt level is caused by the thread that was interrupted
  kBindingEnd,     // a binding ends with its thread only
  kOwnershipFlow,  // whoever submits owns, also for another, and also what it receives
};
// Which rule is gone is for the test build to say.
bool IsRuleRemoved(RemovableRule rule);

}  // namespace cprof
#define CPROF_RULE_REMOVED(rule) IsRuleRemoved(RemovableRule::rule)
#else
#define CPROF_RULE_REMOVED(rule) false
#endif

#endif  // CPROF_REPORT_MUTATION_H_
