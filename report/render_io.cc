// `cprof report --by io_request`: a row per io_uring operation.
#include <algorithm>
#include <array>

#include "report/histogram.h"
#include "report/io_uring_opcode.h"
#include "report/node_table.h"
#include "report/table_report.h"

namespace cprof {
namespace {

struct Operation {
  Histogram latency_ns;  // of those whose submit and completion were both seen
  uint64_t count = 0;    // all that were seen
  uint64_t errors = 0;   // completed with a negative result
  uint64_t silent = 0;   // end without a completion of their own
  uint64_t open = 0;     // not completed when the recording ended
  uint64_t owned = 0;    // a request that owns them is known
};

uint8_t OpcodeOf(const Node& node) {
  return node.birth_seen ? node.attributes.opcode : kIoUringOpcodeUnknown;
}

class IoReport : public TableReport {
 public:
  using TableReport::TableReport;

  void OnNode(const Node& node) override {
    if (node.kind != NodeKind::kIoRequest) return;
    nodes_.Add(node);
    ++operations_[OpcodeOf(node)].count;
  }

  void OnNodeEnd(const Node& node) override {
    if (node.kind != NodeKind::kIoRequest) return;
    Operation& operation = operations_[OpcodeOf(node)];
    nodes_.End(node);
    if (node.attributes.has_result && node.attributes.result < 0) ++operation.errors;
    switch (node.end) {
      case NodeEnd::kObserved:
        if (node.birth_seen) operation.latency_ns.Add(node.died_ns - node.born_ns);
        break;
      case NodeEnd::kOpen: ++operation.open; break;
      default: ++operation.silent;
    }
  }

  void OnOwner(const Owner& owner) override {
    NodeBrief* brief = nodes_.Find(owner.node);
    if (brief == nullptr || brief->mark || owner.requests.empty()) return;
    brief->mark = true;
    ++operations_[brief->label.opcode].owned;
  }

  void OnFinal(uint64_t final_ns) override {
    TableReport::OnFinal(final_ns);
    // An owner may be told once its request ends; one that comes later than this is not counted.
    nodes_.Forget(final_ns > kOwnerDelayNs ? final_ns - kOwnerDelayNs : 0);
  }

 protected:
  std::string_view by() const override { return "io_request"; }
  std::string_view NothingText() const override { return "No io_uring requests were seen."; }

  std::vector<Table> MakeTables() override {
    Table table;
    table.key = "io_requests";
    table.title =
        "io_uring requests by operation, most time first (ms from submit to completion; owner "
        "known: a request of the program is known to own them)";
    const auto time = Column::Unit::kTime;
    table.columns = {{"operation", "operation", Column::Unit::kText},
                     {"count", "count"},
                     {"p50_ns", "p50", time},
                     {"p99_ns", "p99", time},
                     {"max_ns", "max", time},
                     {"total_ns", "total", time},
                     {"errors", "errors"},
                     {"no_completion", "no completion"},
                     {"open", "open at end"},
                     {"owner_known", "owner known", Column::Unit::kShare}};
    std::vector<size_t> sorted;
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i].count > 0) sorted.push_back(i);
    }
    std::stable_sort(sorted.begin(), sorted.end(), [this](size_t a, size_t b) {
      const Operation& x = operations_[a];
      const Operation& y = operations_[b];
      return x.latency_ns.sum() != y.latency_ns.sum() ? x.latency_ns.sum() > y.latency_ns.sum()
                                                      : x.count > y.count;
    });
    for (const size_t opcode : sorted) {
      const Operation& operation = operations_[opcode];
      std::string name;
      AppendIoUringOpcode(static_cast<uint8_t>(opcode), &name);
      const Histogram& latency = operation.latency_ns;
      table.rows.push_back({name, operation.count, latency.Quantile(50, 100),
                            latency.Quantile(99, 100), latency.max(), latency.sum(),
                            operation.errors, operation.silent, operation.open,
                            Share{operation.owned, operation.count}});
    }
    return {table};
  }

 private:
  static constexpr uint64_t kOwnerDelayNs = 1'000'000'000;

  std::array<Operation, 256> operations_;
  NodeTable nodes_;
};

}  // namespace

std::unique_ptr<ReportRenderer> MakeIoReport(const ReportOptions& options,
                                             const StringTable& strings, TextOutput& out) {
  return std::make_unique<IoReport>(options, strings, out);
}

}  // namespace cprof
