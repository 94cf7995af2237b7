// Folding of waits by cause, and the sentence for one.
#include "report/wait_causes.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cprof {
namespace {

bool IsWaiting(WallState state) {
  return state != WallState::kRunning && state != WallState::kInChild;
}

// "resource" for a lock, too: the application said which.
bool IsHeld(WallState state) { return state == WallState::kLock || state == WallState::kResource; }

void AppendDoing(WallState state, const Label& peer, const StringTable& strings, std::string* out) {
  switch (state) {
    case WallState::kRunning: *out += "was running"; return;
    case WallState::kRunnable: *out += "waited for a CPU"; return;
    case WallState::kUnknown: *out += "did something unknown"; return;
    case WallState::kIo:
      *out += "waited for ";
      if (peer.known) {
        AppendLabel(peer, strings, out);
      } else {
        *out += "io";
      }
      return;
    default:
      *out += "was in ";
      *out += WallStateName(state);
      if (peer.known) {
        *out += " (";
        AppendLabel(peer, strings, out);
        *out += ')';
      }
  }
}

// Queues behind one resource are followed this far.
constexpr int kMaxQueue = 256;

struct WaitWalk {
  const RequestLedger& ledger;
  const VisitWaitPiece& visit;
  const WaitCause cause;  // of the wait that is explained, its holder still open
  const NodeId peer;

  // Explains [from_ns, to_ns) of `span`, a wait of `waiter` for the same peer.
  void Explain(const RequestRecord& waiter, const ExplainedSpan& span, uint64_t from_ns,
               uint64_t to_ns, int depth) const {
    WaitCause piece = cause;
    piece.holder = ledger.LabelAt(span.cause_name);
    const RequestRecord* holder = span.cause == 0 ? nullptr : ledger.FindTold(span.cause);
    if (holder != nullptr && holder->node != waiter.node) {
      auto other = std::upper_bound(
          holder->spans.begin(), holder->spans.end(), from_ns,
          [](uint64_t time_ns, const ExplainedSpan& s) { return time_ns < s.to_ns; });
      for (; other != holder->spans.end() && other->from_ns < to_ns; ++other) {
        if (other->from_ns > from_ns) visit(piece, from_ns, other->from_ns);
        from_ns = std::max(from_ns, other->from_ns);
        const uint64_t end_ns = std::min(other->to_ns, to_ns);
        if (IsHeld(other->state) && peer != 0 && other->peer == peer && depth < kMaxQueue) {
          Explain(*holder, *other, from_ns, end_ns, depth + 1);
        } else {
          WaitCause known = piece;
          known.holder_known = true;
          known.holder_state = other->state;
          known.holder_peer = IsWaiting(other->state) ? ledger.LabelAt(other->peer_name) : Label{};
          visit(known, from_ns, end_ns);
        }
        from_ns = end_ns;
      }
    }
    if (from_ns < to_ns) visit(piece, from_ns, to_ns);
  }
};

}  // namespace

void ForEachWaitPiece(const RequestRecord& request, const ExplainedSpan& span,
                      const RequestLedger& ledger, const VisitWaitPiece& visit) {
  WaitCause cause;
  cause.waiter = request.label;
  cause.state = span.state;
  // Why a thread was not on a CPU, or what is not known, has nobody to blame.
  const bool has_peer = span.state != WallState::kRunnable && span.state != WallState::kUnknown;
  if (has_peer) cause.peer = ledger.LabelAt(span.peer_name);
  if (!IsHeld(span.state)) {
    if (has_peer) cause.holder = ledger.LabelAt(span.cause_name);
    visit(cause, span.from_ns, span.to_ns);
    return;
  }
  WaitWalk{ledger, visit, cause, span.peer}.Explain(request, span, span.from_ns, span.to_ns, 0);
}

size_t WaitCauses::Hash::operator()(const WaitCause& cause) const noexcept {
  uint64_t hash = static_cast<uint64_t>(cause.state) | uint64_t{cause.holder_known} << 8 |
                  static_cast<uint64_t>(cause.holder_state) << 16;
  for (const Label* label : {&cause.waiter, &cause.peer, &cause.holder, &cause.holder_peer}) {
    hash = (hash ^ LabelHash()(*label)) * 0x9e3779b97f4a7c15ULL + (hash >> 29);
  }
  return hash ^ (hash >> 32);
}

void AppendWaitCause(const WaitCause& cause, const StringTable& strings, std::string* out) {
  switch (cause.state) {
    case WallState::kRunnable: *out += "a CPU"; return;
    case WallState::kQueued:
      *out += "being taken up";
      if (cause.peer.known) {
        *out += " (";
        AppendLabel(cause.peer, strings, out);
        *out += ')';
      }
      return;
    case WallState::kRuntimeQueued: *out += "being polled by the runtime"; return;
    case WallState::kKernelWork: *out += "a kernel worker"; return;
    case WallState::kUnknown: *out += "[unknown: no edge says what ended this wait]"; return;
    default: break;
  }
  if (cause.peer.known && cause.state == WallState::kBlocked) *out += "a wake by ";
  if (cause.peer.known) {
    AppendLabel(cause.peer, strings, out);
  } else {
    *out += WallStateName(cause.state);
  }
  if (!cause.holder.known || cause.holder == cause.peer) return;
  *out += IsHeld(cause.state) ? ", held by " : ", by ";
  AppendLabel(cause.holder, strings, out);
  if (!cause.holder_known) return;
  *out += " while it ";
  AppendDoing(cause.holder_state, cause.holder_peer, strings, out);
}

void WaitCauses::Add(const RequestRecord& request, const RequestLedger& ledger) {
  for (const ExplainedSpan& span : request.spans) {
    if (!IsWaiting(span.state)) continue;
    ForEachWaitPiece(request, span, ledger,
                     [this](const WaitCause& cause, uint64_t from_ns, uint64_t to_ns) {
                       const bool full = causes_.size() >= kMaxCauses && !causes_.contains(cause);
                       Total& total = full ? other_ : causes_[cause];
                       total.total_ns += to_ns - from_ns;
                       total.max_ns = std::max(total.max_ns, to_ns - from_ns);
                       ++total.waits;
                     });
  }
}

Table WaitCauses::MakeTable(const StringTable& strings, size_t limit, uint64_t wall_ns) const {
  struct Row {
    std::string waiter;
    std::string cause;
    std::string_view state;
    Total total;
  };
  std::vector<Row> sorted;
  for (const auto& [cause, total] : causes_) {
    Row row{{}, {}, WallStateName(cause.state), total};
    AppendLabelName(cause.waiter, strings, &row.waiter);
    AppendWaitCause(cause, strings, &row.cause);
    sorted.push_back(std::move(row));
  }
  if (other_.waits > 0) sorted.push_back({"[other]", "[other]", "[other]", other_});
  std::sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) {
    if (a.total.total_ns != b.total.total_ns) return a.total.total_ns > b.total.total_ns;
    return std::tie(a.waiter, a.state, a.cause) < std::tie(b.waiter, b.state, b.cause);
  });
  Table table;
  table.key = "causes";
  table.columns = {
      {"total_ns", "total ms", Column::Unit::kTime}, {"share_ns", "of wall", Column::Unit::kShare},
      {"waits", "waits", Column::Unit::kCount},      {"max_ns", "max ms", Column::Unit::kTime},
      {"state", "state", Column::Unit::kText},       {"request", "request", Column::Unit::kText},
      {"cause", "waited for", Column::Unit::kText}};
  for (const Row& row : sorted) {
    if (table.rows.size() >= limit) break;
    table.rows.push_back({row.total.total_ns, Share{row.total.total_ns, wall_ns}, row.total.waits,
                          row.total.max_ns, std::string(row.state), row.waiter, row.cause});
  }
  return table;
}

}  // namespace cprof
