// What cprof-causality(7) says of breaks, applied anew to the texts that cprof prints: no code of
// report/ is in it.
#ifndef CPROF_TESTS_ACCOUNTS_LOSS_RULES_H_
#define CPROF_TESTS_ACCOUNTS_LOSS_RULES_H_

#include <cstdint>
#include <string>

namespace cprof::test {

struct LossFindings {
  uint64_t breaks = 0;
  uint64_t lost = 0;
  uint64_t uneven_streams = 0;  // attempted != events in the text + losses in breaks
  // Of edges and bindings that are called observed: looked at, and touched by a break after all.
  uint64_t completes = 0, touched_completes = 0;
  uint64_t wakes = 0, touched_wakes = 0;
  uint64_t bindings = 0, touched_bindings = 0;
  uint64_t doubted = 0;                        // edges and bindings that are not called observed
  uint64_t in_break = 0;                       // orphans for a break
  uint64_t requests = 0, uneven_requests = 0;  // states do not add up to the wall
  // Requests with a break of an in-process ring in their span, and those of them without any sign
  // of doubt.
  uint64_t touched_requests = 0, unflagged_requests = 0;
  uint64_t unexplained = 0;
  std::string first;  // the first violation, for the message
};

// What `cprof script` and `cprof graph --format ndjson` wrote of one recording.
LossFindings ApplyLossRules(const std::string& script_path, const std::string& graph_path);

}  // namespace cprof::test

#endif  // CPROF_TESTS_ACCOUNTS_LOSS_RULES_H_
