// `cprof report --by request`: a row per kind of request, its wall time split into states, and why
// requests waited.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "report/histogram.h"
#include "report/request_ledger.h"
#include "report/table_report.h"
#include "report/wait_causes.h"

namespace cprof {
namespace {

constexpr size_t kMaxKinds = 1024;       // rows; requests of further kinds go under "[other]"
constexpr size_t kMaxOpenRequests = 16;  // the longest of those that are not whole
constexpr size_t kMaxOpenKinds = 8;      // rows of the text about those
constexpr size_t kAllCauses = ~size_t{0};

struct OpenRequest {
  Label label;
  Key key;
  uint64_t begin_ns = 0;
  uint64_t open_ns = 0;
  bool ended = false;
};

struct Kind {
  Histogram wall_ns;
  std::array<uint64_t, kWallStateCount> state_ns{};
  uint64_t cpu_ns = 0;
  // In no other figure:
  uint64_t never_ended = 0;
  uint64_t begun_before = 0;  // the recording
  OpenRequest longest_open;

  uint64_t open() const { return never_ended + begun_before; }
};

class RequestReport : public TableReport {
 public:
  RequestReport(const ReportOptions& options, const StringTable& strings, TextOutput& out)
      : TableReport(options, strings, out),
        ledger_([this](const RequestRecord& record) { Take(record); }) {}

  void OnNode(const Node& node) override { ledger_.OnNode(node); }
  void OnNodeEnd(const Node& node) override { ledger_.OnNodeEnd(node); }
  void OnThreadName(NodeId thread, const std::array<char, 16>& comm) override {
    ledger_.OnThreadName(thread, comm);
  }
  void OnEdge(const Edge& edge) override { ledger_.OnEdge(edge); }
  void OnState(const StateSpan& span) override { ledger_.OnState(span); }
  void OnCost(const Cost& cost) override { ledger_.OnCost(cost); }
  void OnRequestEnd(const RequestEnd& end) override { ledger_.OnRequestEnd(end); }
  void OnFinal(uint64_t final_ns) override {
    TableReport::OnFinal(final_ns);
    ledger_.OnFinal(final_ns);
  }
  bool Finish(const ReadSummary& read) override {
    ledger_.Finish();
    uint64_t unknown_ns = 0;
    for (const auto& [label, kind] : kinds_) {
      (void)label;
      exclusive_ns_ += kind.wall_ns.sum() - StateNs(kind, WallState::kInChild);
      unknown_ns += StateNs(kind, WallState::kUnknown);
    }
    exclusive_ns_ += other_.wall_ns.sum() - StateNs(other_, WallState::kInChild);
    unknown_ns += StateNs(other_, WallState::kUnknown);
    coverage_.SetWall(exclusive_ns_, unknown_ns);
    return TableReport::Finish(read);
  }

 protected:
  std::string_view by() const override { return "request"; }
  std::string_view NothingText() const override {
    if (!open_.empty()) return "No request was seen from its begin to its end.";
    return "No requests: the program named none (see cprof/cprof.h). Try --by thread.";
  }

  std::vector<Table> MakeTables() override {
    std::vector<Table> tables;
    tables.push_back(MakeKindTable());
    const bool text = options_.format == ReportFormat::kText;
    tables.push_back(text ? causes_.MakeFoldedTable(strings_, options_.cause_limit, exclusive_ns_)
                          : causes_.MakeTable(strings_, kAllCauses, exclusive_ns_));
    tables.back().title =
        "What requests waited for, longest first (ms; shares of the wall time of all requests)";
    tables.push_back(text ? MakeOpenKindTable() : MakeOpenTable());
    return tables;
  }

  void AppendHeadline(std::string* out) const override {
    std::string headline;
    causes_.AppendHeadline(strings_, exclusive_ns_, &headline);
    if (!headline.empty()) *out += "# held up    : " + headline + '\n';
  }

 private:
  static uint64_t StateNs(const Kind& kind, WallState state) {
    return kind.state_ns[static_cast<size_t>(state)];
  }

  void Take(const RequestRecord& record) {
    Kind& kind = kinds_.size() >= kMaxKinds && !kinds_.contains(record.label)
                     ? other_
                     : kinds_[record.label];
    if (!record.whole()) {
      ++(record.ended ? kind.begun_before : kind.never_ended);
      open_.push_back({record.label, record.key, record.begin_ns, record.wall_ns(), record.ended});
      if (kind.open() == 1 || record.wall_ns() > kind.longest_open.open_ns) {
        kind.longest_open = open_.back();
      }
      std::stable_sort(open_.begin(), open_.end(),
                       [](const auto& a, const auto& b) { return a.open_ns > b.open_ns; });
      if (open_.size() > kMaxOpenRequests) open_.pop_back();
      return;
    }
    kind.wall_ns.Add(record.wall_ns());
    kind.cpu_ns += record.cpu_ns;
    uint64_t explained_ns = 0;
    for (size_t i = 0; i < record.state_ns.size(); ++i) {
      kind.state_ns[i] += record.state_ns[i];
      explained_ns += record.state_ns[i];
    }
    // What no span told is unknown; so the columns add up whatever came before.
    if (explained_ns < record.wall_ns()) {
      kind.state_ns[static_cast<size_t>(WallState::kUnknown)] += record.wall_ns() - explained_ns;
    }
    causes_.Add(record, ledger_);
  }

  bool Occurs(size_t state) const {
    if (options_.format != ReportFormat::kText) return true;  // a stable set of columns
    if (static_cast<WallState>(state) == WallState::kUnknown) return true;
    if (other_.state_ns[state] > 0) return true;
    return std::any_of(kinds_.begin(), kinds_.end(),
                       [&](const auto& entry) { return entry.second.state_ns[state] > 0; });
  }

  Table MakeKindTable() const {
    Table table;
    table.key = "requests";
    table.title =
        "Requests by kind, most wall time first (ms; the states to the right of wall add up to it)";
    table.percent_rows = true;
    table.columns = {
        {"request", "request", Column::Unit::kText}, {"count", "count"},
        {"p50_ns", "p50", Column::Unit::kTime},      {"p99_ns", "p99", Column::Unit::kTime},
        {"max_ns", "max", Column::Unit::kTime},      {"cpu_ns", "cpu", Column::Unit::kTime},
        {"wall_ns", "wall", Column::Unit::kTime}};
    const auto wall_column = static_cast<int>(table.columns.size()) - 1;
    std::vector<size_t> states;
    for (size_t i = 0; i < static_cast<size_t>(kWallStateCount); ++i) {
      if (!Occurs(i)) continue;
      states.push_back(i);
      const std::string name(WallStateName(static_cast<WallState>(i)));
      table.columns.push_back({name + "_ns", name, Column::Unit::kTime, wall_column});
    }
    const bool show_partial = options_.format != ReportFormat::kText;
    if (show_partial) {
      table.columns.push_back({"never_ended", "never ended"});
      table.columns.push_back({"begun_before", "begun before"});
    }

    std::vector<std::pair<std::string, const Kind*>> sorted = NamedKinds();
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      const uint64_t a_ns = a.second->wall_ns.sum();
      const uint64_t b_ns = b.second->wall_ns.sum();
      return a_ns != b_ns ? a_ns > b_ns : a.first < b.first;
    });
    for (const auto& [name, kind] : sorted) {
      const bool any = kind->wall_ns.count() > 0;
      if (!any && !show_partial) continue;
      const auto quantile = [any](uint64_t value) { return any ? Cell(value) : Cell(); };
      std::vector<Cell> row = {name,
                               kind->wall_ns.count(),
                               quantile(kind->wall_ns.Quantile(50, 100)),
                               quantile(kind->wall_ns.Quantile(99, 100)),
                               quantile(kind->wall_ns.max()),
                               kind->cpu_ns,
                               kind->wall_ns.sum()};
      for (const size_t state : states) row.emplace_back(kind->state_ns[state]);
      if (show_partial) {
        row.emplace_back(kind->never_ended);
        row.emplace_back(kind->begun_before);
      }
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  std::vector<std::pair<std::string, const Kind*>> NamedKinds() const {
    std::vector<std::pair<std::string, const Kind*>> named;
    for (const auto& [label, kind] : kinds_) {
      std::string name;
      AppendLabelName(label, strings_, &name);
      named.emplace_back(std::move(name), &kind);
    }
    if (other_.wall_ns.count() + other_.open() > 0) named.emplace_back("[other]", &other_);
    return named;
  }

  // For people: how many of each kind, and the longest of them.
  Table MakeOpenKindTable() const {
    Table table;
    table.title =
        "Requests seen only in part, in no figure above (ms; the longest one of each kind)";
    table.columns = {{"never_ended", "never ended"},
                     {"begun_before", "begun before"},
                     {"seen_ns", "seen for", Column::Unit::kTime},
                     {"begin_ns", "from", Column::Unit::kTime},
                     {"id", "id", Column::Unit::kText},
                     {"request", "request", Column::Unit::kText}};
    std::vector<std::pair<std::string, const Kind*>> sorted = NamedKinds();
    std::erase_if(sorted, [](const auto& entry) { return entry.second->open() == 0; });
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      const uint64_t a_ns = a.second->longest_open.open_ns;
      const uint64_t b_ns = b.second->longest_open.open_ns;
      return a_ns != b_ns ? a_ns > b_ns : a.first < b.first;
    });
    uint64_t more_never_ended = 0, more_begun_before = 0;
    for (const auto& [name, kind] : sorted) {
      if (table.rows.size() >= kMaxOpenKinds) {
        more_never_ended += kind->never_ended;
        more_begun_before += kind->begun_before;
        continue;
      }
      std::string id;
      AppendKey(kind->longest_open.key, &id);
      table.rows.push_back({kind->never_ended, kind->begun_before, kind->longest_open.open_ns,
                            BeginCell(kind->longest_open), id, name});
    }
    if (more_never_ended + more_begun_before > 0) {
      table.rows.push_back({more_never_ended, more_begun_before, Cell(), Cell(), Cell(),
                            std::string("[of further kinds]")});
    }
    return table;
  }

  Cell BeginCell(const OpenRequest& open) const {
    const int64_t begin_ns = RelativeTo(coverage_.header().t0_ns, open.begin_ns);
    return static_cast<uint64_t>(std::max<int64_t>(begin_ns, 0));
  }

  Table MakeOpenTable() const {
    Table table;
    table.key = "not_whole";
    table.title = "Requests seen only in part, in no figure above, longest first (ms)";
    table.columns = {{"seen_ns", "seen for", Column::Unit::kTime},
                     {"begin_ns", "from", Column::Unit::kTime},
                     {"request", "request", Column::Unit::kText},
                     {"id", "id", Column::Unit::kText},
                     {"why", "why", Column::Unit::kText}};
    for (const OpenRequest& open : open_) {
      std::string name;
      AppendLabelName(open.label, strings_, &name);
      std::string id;
      AppendKey(open.key, &id);
      table.rows.push_back(
          {open.open_ns, BeginCell(open), name, id,
           std::string(open.ended ? "begun before the recording" : "never ended")});
    }
    return table;
  }

  std::unordered_map<Label, Kind, LabelHash> kinds_;
  Kind other_;
  WaitCauses causes_;
  std::vector<OpenRequest> open_;
  uint64_t exclusive_ns_ = 0;
  RequestLedger ledger_;
};

}  // namespace

std::unique_ptr<ReportRenderer> MakeRequestReport(const ReportOptions& options,
                                                  const StringTable& strings, TextOutput& out) {
  return std::make_unique<RequestReport>(options, strings, out);
}

}  // namespace cprof
