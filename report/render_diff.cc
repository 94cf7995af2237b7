// `cprof diff` for people.
#include "report/render_diff.h"

#include <algorithm>
#include <cmath>

#include "report/escape.h"
#include "report/number.h"
#include "report/table.h"

namespace cprof {
namespace {

// Of a kind's states those are shown as text that have changed for certain, or by at least this
// part of its mean wall time.
constexpr double kShownState = 0.01;
constexpr uint64_t kShownNs = 500;  // rounds to a microsecond
// A resource is named beside its domain where it makes up this much of the change.
constexpr double kNamedResource = 0.5;
constexpr size_t kShownFrames = 4;    // of a path, its last
constexpr size_t kShownColumns = 40;  // of a frame
// Beyond that many requests a second no decimals are shown.
constexpr double kManyPerSecond = 100;

uint64_t Magnitude(double value_ns) {
  const double size = std::abs(value_ns);
  return size < 1e18 ? static_cast<uint64_t>(std::llround(size)) : 1'000'000'000'000'000'000;
}

std::string Milliseconds(double value_ns, bool sign) {
  std::string text;
  const uint64_t value_us = (Magnitude(value_ns) + 500) / 1000;
  if (value_us > 0 && value_ns < 0) text += '-';
  if (value_us > 0 && value_ns > 0 && sign) text += '+';
  AppendMilliseconds(value_us, &text);
  return text;
}

// Whether there is a change to see in the digits of the text.
bool IsShown(const Change& change) { return Magnitude(change.difference.value) >= kShownNs; }

// By how many per cent of A.
std::string Percent(const Change& change) {
  if (change.verdict == DiffVerdict::kOnlyOne) return "-";
  if (change.a.value <= 0) return change.b.value > 0 ? "new" : "-";
  const double tenths = std::round(1000 * change.difference.value / change.a.value);
  if (std::abs(tenths) > 99'990) return tenths > 0 ? ">+9,999 %" : "-";
  const auto size = static_cast<uint64_t>(std::abs(tenths));
  std::string text = size == 0 ? "" : tenths < 0 ? "-" : "+";
  AppendGrouped(size / 10, &text);
  text += '.';
  text += static_cast<char>('0' + size % 10);
  return text + " %";
}

std::string Bounds(const Change& change) {
  if (change.verdict == DiffVerdict::kOnlyOne) return "-";
  const auto bound = [](double value) {
    return std::isfinite(value) ? Milliseconds(value, true) : std::string("?");
  };
  return bound(change.difference.low) + " .. " + bound(change.difference.high);
}

constexpr Column::Unit kFigure = Column::Unit::kCount;  // ready-made text, to the right

std::vector<Column> ChangeColumns() {
  return {{"", "change", kFigure}, {"", "of A", kFigure},   {"", "A", kFigure},
          {"", "B", kFigure},      {"", "bounds", kFigure}, {"", "sure", Column::Unit::kText}};
}

std::vector<Cell> ChangeCells(const Change& change) {
  const bool only = change.verdict == DiffVerdict::kOnlyOne;
  const auto side = [&](double value) {
    return only && value <= 0 ? std::string("-") : Milliseconds(value, false);
  };
  return {only ? std::string("-") : Milliseconds(change.difference.value, true),
          Percent(change),
          side(change.a.value),
          side(change.b.value),
          Bounds(change),
          std::string(DiffVerdictName(change.verdict))};
}

std::string PerSecond(uint64_t count, uint64_t duration_ns) {
  std::string text;
  if (duration_ns == 0) return "-";
  const double rate = 1e9 * static_cast<double>(count) / static_cast<double>(duration_ns);
  AppendGrouped(static_cast<uint64_t>(rate + (rate < kManyPerSecond ? 0.05 : 0.5)), &text);
  if (rate >= kManyPerSecond) return text;
  text += '.';
  return text + static_cast<char>('0' + static_cast<uint64_t>(std::llround(rate * 10)) % 10);
}

// The row of a kind that says how many there were; the rate is not judged.
std::vector<Cell> CountRow(const DiffView& view, const KindChange& kind) {
  const auto side = [](uint64_t count, const DiffProfile& profile) {
    std::string text;
    AppendGrouped(count, &text);
    return text + " (" + PerSecond(count, profile.coverage.DurationNs()) + "/s)";
  };
  return {
      std::string(""), std::string(""), side(kind.count_a, *view.a), side(kind.count_b, *view.b),
      std::string(""), std::string(""), std::string("requests"),     kind.kind};
}

Table MakeKindTable(const DiffView& view) {
  Table table;
  table.title =
      "Requests by kind, largest change of all requests' mean first (ms per request; the changes "
      "of "
      "the states add up to that of mean)";
  table.columns = ChangeColumns();
  table.columns.push_back({"", "what", Column::Unit::kText});
  table.columns.push_back({"", "request", Column::Unit::kText});
  for (const KindChange& kind : view.comparison.kinds) {
    const auto add = [&](const Change& change, std::string_view what) {
      std::vector<Cell> row = ChangeCells(change);
      row.emplace_back(std::string(what));
      row.emplace_back(kind.kind);
      table.rows.push_back(std::move(row));
    };
    table.rows.push_back(CountRow(view, kind));
    add(kind.mean, "mean");
    add(kind.p50, "p50");
    add(kind.p99, "p99");
    add(kind.cpu, "cpu");
    std::vector<size_t> states;
    const double wall_ns = std::max(kind.mean.a.value, kind.mean.b.value);
    for (size_t i = 0; i < kind.states.size(); ++i) {
      const Change& change = kind.states[i];
      if (change.certain() || std::abs(change.difference.value) >= kShownState * wall_ns) {
        states.push_back(i);
      }
    }
    std::stable_sort(states.begin(), states.end(), [&](size_t x, size_t y) {
      return std::abs(kind.states[x].difference.value) > std::abs(kind.states[y].difference.value);
    });
    for (const size_t i : states) {
      std::string what = "  ";
      what += WallStateName(static_cast<WallState>(i));
      add(kind.states[i], what);
    }
  }
  return table;
}

Table MakeCauseTable(const DiffView& view) {
  Table table;
  table.title =
      "Waits by cause, certain ones first, largest change of all requests' mean first (ms per "
      "request of the kind)";
  table.columns = ChangeColumns();
  table.columns.push_back({"", "request", Column::Unit::kText});
  table.columns.push_back({"", "waited for", Column::Unit::kText});
  for (const CauseChange& cause : view.comparison.causes) {
    if (table.rows.size() >= view.limit) break;
    if (!IsShown(cause.change)) continue;
    std::vector<Cell> row = ChangeCells(cause.change);
    row.emplace_back(cause.kind);
    std::string words;
    AppendCauseChangeWords(cause, &words);
    row.emplace_back(std::move(words));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The end of a path, which says most; the whole of it is in JSON.
std::string PathEnd(const PathChange& path) {
  std::string text;
  const size_t size = path.frames.size();
  const size_t first = size > kShownFrames ? size - kShownFrames : 0;
  if (first > 0) text = "...";
  for (size_t i = first; i < size; ++i) {
    if (!text.empty()) text += ';';
    text += CutPrintable(path.frames[i], kShownColumns);
  }
  return text;
}

Table MakePathTable(const DiffView& view) {
  Table table;
  table.title =
      "CPU time by folded path, certain ones first, largest change of all requests' mean first (ms "
      "per request of the kind, of all for [no request])";
  table.columns = ChangeColumns();
  table.columns.push_back({"", "request", Column::Unit::kText});
  table.columns.push_back({"", "path", Column::Unit::kText});
  for (const PathChange& path : view.comparison.paths) {
    if (table.rows.size() >= view.limit) break;
    if (!IsShown(path.change)) continue;
    std::vector<Cell> row = ChangeCells(path.change);
    row.emplace_back(path.kind);
    row.emplace_back(PathEnd(path));
    table.rows.push_back(std::move(row));
  }
  return table;
}

template <typename Rows>
void AppendMore(const Rows& rows, size_t limit, std::string_view what, std::string* out) {
  const auto shown = static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return IsShown(row.change); }));
  if (shown <= limit) return;
  *out += "# ";
  AppendGrouped(shown - limit, out);
  *out += " more ";
  *out += what;
  *out += "; --limit shows them, --format json has all\n";
}

void AppendSide(const std::string& name, const DiffProfile& profile, std::string* out) {
  AppendPrintable(name, out);
  *out += ": ";
  AppendDuration(profile.coverage.DurationNs(), out);
  *out += ", ";
  AppendGrouped(profile.requests, out);
  *out += profile.requests == 1 ? " request" : " requests";
  if (profile.not_whole > 0) {
    *out += " and ";
    AppendGrouped(profile.not_whole, out);
    *out += " seen only in part";
  }
  const GraphSummary& summary = profile.coverage.summary();
  *out += "; half-edges ";
  AppendShare(summary.joined, summary.half_edges, 2, out);
  *out += " joined; unknown ";
  AppendShare(profile.unknown_ns, profile.wall_ns, 2, out);
  *out += " of the wall time; lost ";
  const Coverage::Lost lost = profile.coverage.LostInAll();
  if (lost.breaks == 0) {
    *out += "nothing";
    return;
  }
  AppendGrouped(lost.events, out);
  *out += lost.countable ? " events" : " events or more";
}

// The change of a state or cause that moves the mean request of all most.
struct Reason {
  const KindChange* kind = nullptr;
  const CauseChange* cause = nullptr;  // null: the kind ran for longer or shorter
  const Change* change = nullptr;
};

const KindChange* FindKind(const DiffView& view, const std::string& name) {
  for (const KindChange& kind : view.comparison.kinds) {
    if (kind.kind == name) return &kind;
  }
  return nullptr;
}

// held: only waits for what somebody held.
Reason FindReason(const DiffView& view, bool held) {
  Reason best;
  const auto offer = [&best](const Reason& reason) {
    if (!reason.change->certain()) return;
    if (best.change != nullptr &&
        std::abs(reason.change->impact_ns) <= std::abs(best.change->impact_ns)) {
      return;
    }
    best = reason;
  };
  for (const CauseChange& cause : view.comparison.causes) {
    // What nobody knows the cause of is no cause.
    if (cause.words.state == WallState::kUnknown) continue;
    if (held && (cause.words.holder.empty() || cause.resource_count == 0)) continue;
    offer({FindKind(view, cause.kind), &cause, &cause.change});
  }
  if (held) return best;
  for (const KindChange& kind : view.comparison.kinds) {
    offer({&kind, nullptr, &kind.states[static_cast<size_t>(WallState::kRunning)]});
  }
  return best;
}

void AppendReason(const Reason& reason, std::string* out) {
  const Change& change = *reason.change;
  *out += "request ";
  AppendPrintable(reason.kind->kind, out);
  *out += reason.cause == nullptr ? " runs " : " waits ";
  *out += Milliseconds(std::abs(change.difference.value), false);
  *out += change.difference.value < 0 ? " ms less (" : " ms more (";
  *out += Milliseconds(change.a.value, false);
  *out += " to ";
  *out += Milliseconds(change.b.value, false);
  *out += ')';
  if (reason.cause != nullptr) {
    std::string words;
    AppendCauseChangeWords(*reason.cause, &words);
    *out += " for ";
    AppendPrintable(words, out);
  }
  *out += "; its mean went from ";
  *out += Milliseconds(reason.kind->mean.a.value, false);
  *out += " to ";
  *out += Milliseconds(reason.kind->mean.b.value, false);
  *out += " ms";
  if (!reason.kind->mean.certain()) *out += ", which may be noise";
}

}  // namespace

void AppendCauseChangeWords(const CauseChange& cause, std::string* out) {
  const bool named = cause.resource_share >= kNamedResource && !cause.resource.empty();
  if (cause.resource_count > 1) {
    *out += "one of ";
    AppendUnsigned(cause.resource_count, out);
    *out += cause.more_resources ? " or more resources" : " resources";
    // Behind the word "resource" stands the domain, where there is one.
    constexpr std::string_view kWord = "resource";
    if (cause.words.peer.starts_with(kWord)) out->append(cause.words.peer, kWord.size());
    if (named) *out += " (mostly " + cause.resource + ")";
  } else if (cause.resource_count == 1) {
    *out += "resource " + cause.resource;
  } else {
    *out += cause.words.peer;
  }
  *out += cause.words.holder;
}

void AppendDiffHeadline(const DiffView& view, std::string* out) {
  const Reason reason = FindReason(view, false);
  if (reason.change == nullptr || reason.kind == nullptr) {
    *out += "nothing changed beyond what these two samples can show";
    return;
  }
  AppendReason(reason, out);
}

void AppendDiffHeldUp(const DiffView& view, std::string* out) {
  const Reason reason = FindReason(view, true);
  if (reason.change != nullptr && reason.kind != nullptr) AppendReason(reason, out);
}

void AppendDiffText(const DiffView& view, std::string* out) {
  *out += "# cause      : ";
  std::string cause, held_up;
  AppendDiffHeadline(view, &cause);
  AppendDiffHeldUp(view, &held_up);
  *out += cause;
  if (!held_up.empty() && held_up != cause) *out += "\n# held up    : " + held_up;
  *out += "\n# A          : ";
  AppendSide(view.name_a, *view.a, out);
  *out += "\n# B          : ";
  AppendSide(view.name_b, *view.b, out);
  *out += '\n';
  for (const DiffConcern& concern : view.concerns) {
    *out += concern.grave ? "# unfair     : " : "# careful    : ";
    *out += concern.text + '\n';
  }
  const auto append = [out](const Table& table) {
    if (table.rows.empty()) return;
    *out += "#\n";
    AppendTableText(table, out);
  };
  append(MakeKindTable(view));
  append(MakeCauseTable(view));
  AppendMore(view.comparison.causes, view.limit, "causes", out);
  append(MakePathTable(view));
  AppendMore(view.comparison.paths, view.limit, "paths", out);
}

}  // namespace cprof
