// Why requests waited: their waiting time by what they waited for, who held it, and what the
// holder did meanwhile.
#ifndef CPROF_REPORT_WAIT_CAUSES_H_
#define CPROF_REPORT_WAIT_CAUSES_H_

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "report/request_ledger.h"
#include "report/table.h"

namespace cprof {

// What one wait is put under. Equal causes fold.
struct WaitCause {
  Label waiter;
  WallState state = WallState::kUnknown;
  Label peer;                 // the resource, the io, who woke
  Label holder;               // who held it; not known for most states
  bool holder_known = false;  // what the holder did is known
  WallState holder_state = WallState::kUnknown;
  Label holder_peer;  // what the holder waited for itself
  friend bool operator==(const WaitCause&, const WaitCause&) = default;
};

// One sentence for people: "resource cache/shard-3, held by request GET-cold while it was in io
// READ". Names raw.
void AppendWaitCause(const WaitCause& cause, const StringTable& strings, std::string* out);

// Calls visit(cause, from_ns, to_ns) for each piece of a wait: it is cut where what the holder did
// changes. A holder that meanwhile waited for the same resource itself did not hold it yet: then
// its own wait says who did.
using VisitWaitPiece = std::function<void(const WaitCause&, uint64_t from_ns, uint64_t to_ns)>;
void ForEachWaitPiece(const RequestRecord& request, const ExplainedSpan& span,
                      const RequestLedger& ledger, const VisitWaitPiece& visit);

class WaitCauses {
 public:
  static constexpr size_t kMaxCauses = 4096;

  // Takes the waits of one request.
  void Add(const RequestRecord& request, const RequestLedger& ledger);
  bool empty() const { return causes_.empty(); }
  // The largest `limit` causes, largest first. `wall_ns` is what shares are of.
  Table MakeTable(const StringTable& strings, size_t limit, uint64_t wall_ns) const;

 private:
  struct Hash {
    size_t operator()(const WaitCause& cause) const noexcept;
  };
  struct Total {
    uint64_t total_ns = 0;
    uint64_t waits = 0;
    uint64_t max_ns = 0;
  };

  std::unordered_map<WaitCause, Total, Hash> causes_;
  Total other_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_WAIT_CAUSES_H_
