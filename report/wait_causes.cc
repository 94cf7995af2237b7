// Folding of waits by cause, and the sentence for one.
#include "report/wait_causes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "report/escape.h"
#include "report/number.h"

namespace cprof {
namespace {

// "resource" for a lock, too: the application said which.
bool IsHeld(WallState state) { return state == WallState::kLock || state == WallState::kResource; }

// "someone to take up task worker/look up".
void AppendTaker(const Label& peer, const StringTable& strings, std::string* out) {
  *out += "someone to take up ";
  if (peer.known) {
    AppendLabel(peer, strings, out);
  } else {
    *out += "what it handed over";
  }
}

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
    case WallState::kQueued:
      *out += "waited for ";
      AppendTaker(peer, strings, out);
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

// Without what the holder did, and with any resource of the domain instead of the one.
WaitCause Folded(WaitCause cause) {
  cause.holder_known = false;
  cause.holder_state = WallState::kUnknown;
  cause.holder_peer = {};
  if (cause.peer.kind == NodeKind::kResource && cause.peer.domain != 0) {
    cause.peer.name = 0;
    cause.peer.id = 0;
  }
  return cause;
}

// Shown of what a holder did.
constexpr size_t kShownActivities = 3;

// Queues behind one resource are followed this far.
constexpr int kMaxQueue = 256;

// Why a thread was not on a CPU, or what is not known, has nobody to blame.
bool HasPeer(WallState state) {
  return state != WallState::kRunnable && state != WallState::kUnknown;
}

// Of a wait for what others held, without the holder.
WaitCause OpenCause(const RequestRecord& request, const ExplainedSpan& span,
                    const RequestLedger& ledger) {
  WaitCause cause;
  cause.waiter = request.label;
  cause.state = span.state;
  if (!HasPeer(span.state)) return cause;
  cause.peer = ledger.LabelAt(span.peer_name);
  if (!IsHeld(span.state)) cause.holder = ledger.LabelAt(span.cause_name);
  return cause;
}

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
  const WaitCause cause = OpenCause(request, span, ledger);
  if (!IsHeld(span.state)) {
    visit(cause, span.from_ns, span.to_ns);
    return;
  }
  WaitWalk{ledger, visit, cause, span.peer}.Explain(request, span, span.from_ns, span.to_ns, 0);
}

size_t WaitCauseHash::operator()(const WaitCause& cause) const noexcept {
  uint64_t hash = static_cast<uint64_t>(cause.state) | uint64_t{cause.holder_known} << 8 |
                  static_cast<uint64_t>(cause.holder_state) << 16;
  for (const Label* label : {&cause.waiter, &cause.peer, &cause.holder, &cause.holder_peer}) {
    hash = (hash ^ LabelHash()(*label)) * 0x9e3779b97f4a7c15ULL + (hash >> 29);
  }
  return hash ^ (hash >> 32);
}

bool IsWaiting(WallState state) {
  return state != WallState::kRunning && state != WallState::kInChild;
}

void AppendWaitedFor(const WaitCause& cause, const StringTable& strings, std::string* out) {
  switch (cause.state) {
    case WallState::kRunnable: *out += "a CPU"; return;
    case WallState::kQueued: AppendTaker(cause.peer, strings, out); return;
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
}

void AppendHolder(const WaitCause& cause, const StringTable& strings, std::string* out) {
  switch (cause.state) {
    case WallState::kRunnable:
    case WallState::kQueued:
    case WallState::kRuntimeQueued:
    case WallState::kKernelWork:
    case WallState::kUnknown: return;
    default: break;
  }
  if (!cause.holder.known || cause.holder == cause.peer) return;
  *out += IsHeld(cause.state) ? ", held by " : ", by ";
  AppendLabel(cause.holder, strings, out);
  if (!cause.holder_known) return;
  *out += " while it ";
  AppendDoing(cause.holder_state, cause.holder_peer, strings, out);
}

void AppendWaitCause(const WaitCause& cause, const StringTable& strings, std::string* out) {
  AppendWaitedFor(cause, strings, out);
  AppendHolder(cause, strings, out);
}

void WaitCauses::Total::Add(const Total& more) {
  total_ns += more.total_ns;
  waits += more.waits;
  max_ns = std::max(max_ns, more.max_ns);
}

void WaitCauses::FoldedTotal::AddActivity(const Activity& more) {
  for (Activity& activity : activities) {
    if (activity.state != more.state || activity.peer != more.peer) continue;
    activity.total_ns += more.total_ns;
    return;
  }
  if (activities.size() < kMaxActivities) activities.push_back(more);
}

void WaitCauses::FoldedTotal::Add(const FoldedTotal& more) {
  total.Add(more.total);
  for (const Activity& activity : more.activities) AddActivity(activity);
  for (const Label& resource : more.resources) {
    if (resources.size() < kMaxResources) resources.insert(resource);
  }
}

size_t WaitCauses::PlainWaitHash::operator()(const PlainWait& wait) const noexcept {
  const uint64_t names =
      wait.waiter ^ uint64_t { wait.peer } << 20 ^ uint64_t { wait.holder } << 40;
  const uint64_t hash = (names ^ static_cast<uint64_t>(wait.state) << 60) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 32);
}

// Where waits with that cause, which is all of each, are added up. What is in a map stays in place.
WaitCauses::PlainTotals WaitCauses::TotalsOf(const WaitCause& cause) {
  PlainTotals totals;
  const bool full = causes_.size() >= kMaxCauses && !causes_.contains(cause);
  totals.total = full ? &other_ : &causes_[cause];
  const WaitCause folded = Folded(cause);
  const bool folded_full = folded_.size() >= kMaxCauses && !folded_.contains(folded);
  FoldedTotal& into = folded_full ? other_folded_ : folded_[folded];
  totals.folded = &into.total;
  if (cause.peer.kind == NodeKind::kResource && into.resources.size() < kMaxResources) {
    into.resources.insert(cause.peer);
  }
  return totals;
}

void WaitCauses::AddPlain(const RequestRecord& request, const ExplainedSpan& span,
                          const RequestLedger& ledger) {
  PlainWait wait{request.name, 0, 0, span.state};
  if (HasPeer(span.state)) {
    wait.peer = span.peer_name;
    wait.holder = span.cause_name;
  }
  PlainTotals totals;
  if (wait.waiter == 0) {
    totals = TotalsOf(OpenCause(request, span, ledger));
  } else if (const auto found = plain_.find(wait); found != plain_.end()) {
    totals = found->second;
  } else {
    totals = TotalsOf(OpenCause(request, span, ledger));
    if (plain_.size() < kMaxCauses) plain_.emplace(wait, totals);
  }
  totals.total->Add(span.duration_ns());
  totals.folded->Add(span.duration_ns());
}

void WaitCauses::Add(const RequestRecord& request, const RequestLedger& ledger) {
  // One wait, by who held what it waited for.
  std::vector<std::pair<WaitCause, FoldedTotal>> wait;
  const auto add = [&](const WaitCause& cause, uint64_t from_ns, uint64_t to_ns) {
    const bool full = causes_.size() >= kMaxCauses && !causes_.contains(cause);
    (full ? other_ : causes_[cause]).Add(to_ns - from_ns);
    const WaitCause folded = Folded(cause);
    auto found = std::find_if(wait.begin(), wait.end(),
                              [&](const auto& entry) { return entry.first == folded; });
    if (found == wait.end()) found = wait.insert(found, {folded, {}});
    found->second.total.total_ns += to_ns - from_ns;
    if (cause.peer.kind == NodeKind::kResource) found->second.resources.insert(cause.peer);
    if (cause.holder_known) {
      found->second.AddActivity({cause.holder_state, cause.holder_peer, to_ns - from_ns});
    }
  };
  for (const ExplainedSpan& span : request.spans) {
    if (!IsWaiting(span.state)) continue;
    if (!IsHeld(span.state)) {
      AddPlain(request, span, ledger);
      continue;
    }
    wait.clear();
    ForEachWaitPiece(request, span, ledger, add);
    for (auto& [cause, folded] : wait) {
      folded.total.waits = 1;
      folded.total.max_ns = folded.total.total_ns;
      const bool full = folded_.size() >= kMaxCauses && !folded_.contains(cause);
      (full ? other_folded_ : folded_[cause]).Add(folded);
    }
  }
}

struct WaitCauses::Row {
  std::string waiter;
  std::string cause;
  std::string_view state;
  Total total;
};

Table WaitCauses::MakeRowTable(std::vector<Row> rows, size_t limit, uint64_t wall_ns) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
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
  for (const Row& row : rows) {
    if (table.rows.size() >= limit) break;
    table.rows.push_back({row.total.total_ns, Share{row.total.total_ns, wall_ns}, row.total.waits,
                          row.total.max_ns, std::string(row.state), row.waiter, row.cause});
  }
  return table;
}

Table WaitCauses::MakeTable(const StringTable& strings, size_t limit, uint64_t wall_ns) const {
  std::vector<Row> rows;
  for (const auto& [cause, total] : causes_) {
    Row row{{}, {}, WallStateName(cause.state), total};
    AppendLabelName(cause.waiter, strings, &row.waiter);
    AppendWaitCause(cause, strings, &row.cause);
    rows.push_back(std::move(row));
  }
  if (other_.waits > 0) rows.push_back({"[other]", "[other]", "[other]", other_});
  return MakeRowTable(std::move(rows), limit, wall_ns);
}

// " while it waited for io READ (79 %), was running (20 %)".
void WaitCauses::AppendActivities(const FoldedTotal& folded, const StringTable& strings,
                                  std::string* out) {
  const uint64_t whole_ns = folded.total.total_ns;
  // Activities in equal words are one.
  std::map<std::string, uint64_t> by_words;
  for (const Activity& activity : folded.activities) {
    std::string words;
    AppendDoing(activity.state, activity.peer, strings, &words);
    by_words[words] += activity.total_ns;
  }
  std::vector<std::pair<std::string, uint64_t>> sorted(by_words.begin(), by_words.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (size_t i = 0; i < sorted.size() && i < kShownActivities; ++i) {
    // Less than half a per cent is not worth the words.
    if (i > 0 && sorted[i].second < whole_ns / 200) break;
    *out += i == 0 ? " while it " : ", ";
    *out += sorted[i].first;
    if (sorted[i].second == whole_ns) continue;
    *out += " (";
    AppendShare(sorted[i].second, whole_ns, 0, out);
    *out += ')';
  }
}

void WaitCauses::AppendFolded(const WaitCause& cause, const FoldedTotal& folded,
                              const StringTable& strings, std::string* out) {
  WaitCause shown = cause;
  if (folded.resources.size() == 1) {
    shown.peer = *folded.resources.begin();
  } else if (!folded.resources.empty()) {
    *out += "one of ";
    AppendUnsigned(folded.resources.size(), out);
    *out += folded.resources.size() < kMaxResources ? " resources " : " or more resources ";
    *out += strings.Get(cause.peer.domain);
    shown.peer = {};
  }
  if (folded.resources.size() > 1) {
    if (cause.holder.known) {
      *out += ", held by ";
      AppendLabel(cause.holder, strings, out);
    }
  } else {
    AppendWaitCause(shown, strings, out);
  }
  AppendActivities(folded, strings, out);
}

Table WaitCauses::MakeFoldedTable(const StringTable& strings, size_t limit,
                                  uint64_t wall_ns) const {
  std::vector<Row> rows;
  for (const auto& [cause, folded] : folded_) {
    Row row{{}, {}, WallStateName(cause.state), folded.total};
    AppendLabelName(cause.waiter, strings, &row.waiter);
    AppendFolded(cause, folded, strings, &row.cause);
    rows.push_back(std::move(row));
  }
  if (other_folded_.total.waits > 0) {
    rows.push_back({"[other]", "[other]", "[other]", other_folded_.total});
  }
  return MakeRowTable(std::move(rows), limit, wall_ns);
}

void WaitCauses::AppendHeadline(const StringTable& strings, uint64_t wall_ns,
                                std::string* out) const {
  FoldedTotals holders;
  for (const auto& [cause, folded] : folded_) {
    if (!IsHeld(cause.state) || !cause.holder.known) continue;
    WaitCause anybody = cause;
    anybody.waiter = {};
    holders[anybody].Add(folded);
  }
  uint64_t most_ns = 0;
  uint64_t most_waits = 0, longest_ns = 0;
  std::string words;
  for (const auto& [cause, folded] : holders) {
    if (folded.total.total_ns < most_ns) continue;
    std::string own;
    AppendFolded(cause, folded, strings, &own);
    if (folded.total.total_ns == most_ns && own >= words) continue;
    most_ns = folded.total.total_ns;
    most_waits = folded.total.waits;
    longest_ns = folded.total.max_ns;
    words = std::move(own);
  }
  if (most_ns == 0) return;
  AppendShare(most_ns, wall_ns, 1, out);
  *out += " of the wall time of requests is waiting for ";
  AppendPrintable(words, out);
  *out += "; ";
  AppendGrouped(most_waits, out);
  *out += most_waits == 1 ? " wait, " : " waits, the longest ";
  AppendDuration(longest_ns, out);
}

}  // namespace cprof
