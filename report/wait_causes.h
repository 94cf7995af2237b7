// Why requests waited: their waiting time by what they waited for, who held it, and what the
// holder did meanwhile.
#ifndef CPROF_REPORT_WAIT_CAUSES_H_
#define CPROF_REPORT_WAIT_CAUSES_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

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
struct WaitCauseHash {
  size_t operator()(const WaitCause& cause) const noexcept;
};

// One sentence for people: "resource cache/shard-3, held by request GET-cold while it waited for io
// READ". Names raw.
void AppendWaitCause(const WaitCause& cause, const StringTable& strings, std::string* out);
// Its two halves: what was waited for, and who held it: ", held by ..." or nothing.
void AppendWaitedFor(const WaitCause& cause, const StringTable& strings, std::string* out);
void AppendHolder(const WaitCause& cause, const StringTable& strings, std::string* out);

// Whether a state is a wait: anything but running and being inside of a nested request.
bool IsWaiting(WallState state);

// Calls visit(cause, from_ns, to_ns) for each piece of a wait: it is cut where what the holder did
// changes. A holder that meanwhile waited for the same resource itself did not hold it yet: then
// its own wait says who did.
using VisitWaitPiece = std::function<void(const WaitCause&, uint64_t from_ns, uint64_t to_ns)>;
void ForEachWaitPiece(const RequestRecord& request, const ExplainedSpan& span,
                      const RequestLedger& ledger, const VisitWaitPiece& visit);

class WaitCauses {
 public:
  static constexpr size_t kMaxCauses = 4096;
  static constexpr size_t kMaxResources = 256;  // told apart of one folded cause
  static constexpr size_t kMaxActivities = 64;  // told apart of one folded cause

  // Takes the waits of one request.
  void Add(const RequestRecord& request, const RequestLedger& ledger);
  bool empty() const { return causes_.empty(); }
  // The largest `limit` causes, largest first. `wall_ns` is what shares are of.
  Table MakeTable(const StringTable& strings, size_t limit, uint64_t wall_ns) const;
  // The same for people: a row for each kind of waiter, domain of resources and kind of holder,
  // with what the holders did meanwhile.
  Table MakeFoldedTable(const StringTable& strings, size_t limit, uint64_t wall_ns) const;
  // Who kept others waiting for a lock or resource the longest, as one sentence without an end:
  // "35.2 % of the wall time of requests is waiting for ..."; nothing where nobody did.
  void AppendHeadline(const StringTable& strings, uint64_t wall_ns, std::string* out) const;

 private:
  struct Total {
    uint64_t total_ns = 0;
    uint64_t waits = 0;
    uint64_t max_ns = 0;

    void Add(uint64_t wait_ns) { Add({wait_ns, 1, wait_ns}); }
    void Add(const Total& more);
  };
  // What a holder did while others waited for it, with how long they waited meanwhile.
  struct Activity {
    WallState state = WallState::kUnknown;
    Label peer;
    uint64_t total_ns = 0;
  };
  // All waits of one kind of request for resources of one domain with one kind of holder.
  struct FoldedTotal {
    Total total;
    std::vector<Activity> activities;  // of the holders
    std::set<Label> resources;         // waited for, the first kMaxResources

    void AddActivity(const Activity& more);
    void Add(const FoldedTotal& more);
  };
  // A wait that has no holder whose doings count, by the names of what it is put under; where its
  // time is added up. So most waits need not be compared word by word.
  struct PlainWait {
    NameIndex waiter = 0;
    NameIndex peer = 0;
    NameIndex holder = 0;
    WallState state = WallState::kUnknown;
    friend bool operator==(const PlainWait&, const PlainWait&) = default;
  };
  struct PlainWaitHash {
    size_t operator()(const PlainWait& wait) const noexcept;
  };
  struct PlainTotals {
    Total* total = nullptr;
    Total* folded = nullptr;
  };
  struct Row;
  using FoldedTotals = std::unordered_map<WaitCause, FoldedTotal, WaitCauseHash>;

  static void AppendFolded(const WaitCause& cause, const FoldedTotal& folded,
                           const StringTable& strings, std::string* out);
  static void AppendActivities(const FoldedTotal& folded, const StringTable& strings,
                               std::string* out);
  static Table MakeRowTable(std::vector<Row> rows, size_t limit, uint64_t wall_ns);

  void AddPlain(const RequestRecord& request, const ExplainedSpan& span,
                const RequestLedger& ledger);
  PlainTotals TotalsOf(const WaitCause& cause);

  std::unordered_map<WaitCause, Total, WaitCauseHash> causes_;
  FoldedTotals folded_;
  Total other_;
  FoldedTotal other_folded_;
  std::unordered_map<PlainWait, PlainTotals, PlainWaitHash> plain_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_WAIT_CAUSES_H_
