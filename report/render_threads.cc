// `cprof report --by thread`: what each thread did, and what it waited on.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "report/node_table.h"
#include "report/table_report.h"
#include "report/thread_clock.h"

namespace cprof {
namespace {

constexpr size_t kMaxThreads = 4096;  // rows; later threads go under "[other]"
constexpr size_t kStates = 4;
constexpr size_t kWaits = 5;

struct ThreadRow {
  std::string name;  // comm/tid
  uint64_t threads = 0;
  std::array<uint64_t, kStates> state_ns{};
  std::array<uint64_t, kWaits> wait_ns{};  // of the blocked time
  bool has_cpu = false;
  uint64_t cpu_ns = 0;
};

struct Thread {
  size_t row = 0;
  ThreadClock clock;
};

class ThreadReport : public TableReport {
 public:
  using TableReport::TableReport;

  void OnNode(const Node& node) override {
    if (node.kind != NodeKind::kThread) return;
    const bool overflow = rows_.size() >= kMaxThreads;
    if (overflow && other_row_ == kNoRow) {
      other_row_ = rows_.size();
      rows_.emplace_back().name = "[other]";
    }
    const size_t row = overflow ? other_row_ : rows_.size();
    if (!overflow) rows_.emplace_back();
    ++rows_[row].threads;
    if (!overflow) SetName(node, row);
    threads_[node.id] = {row, ThreadClock::Begin(node.birth_seen)};
  }

  void OnNodeEnd(const Node& node) override {
    if (node.kind != NodeKind::kThread) return;
    const auto found = threads_.find(node.id);
    if (found != threads_.end() && found->second.row != other_row_)
      SetName(node, found->second.row);
  }

  void OnThreadSlice(const ThreadSlice& slice) override {
    const auto found = threads_.find(slice.thread);
    if (found == threads_.end() || slice.to_ns <= slice.from_ns) return;
    ThreadRow& row = rows_[found->second.row];
    const uint64_t duration_ns = slice.to_ns - slice.from_ns;
    row.state_ns[static_cast<size_t>(slice.state)] += duration_ns;
    if (slice.state == ThreadState::kBlocked) {
      row.wait_ns[static_cast<size_t>(slice.wait)] += duration_ns;
    }
  }

  void OnThreadRuntime(NodeId thread, uint64_t, uint64_t runtime_ns) override {
    const auto found = threads_.find(thread);
    if (found == threads_.end()) return;
    Thread& record = found->second;
    ThreadRow& row = rows_[record.row];
    row.has_cpu = row.has_cpu || record.clock.known;
    row.cpu_ns += record.clock.Advance(runtime_ns);
  }

 protected:
  std::string_view by() const override { return "thread"; }
  std::string_view NothingText() const override { return "No threads were seen."; }

  std::vector<Table> MakeTables() override {
    Table table;
    table.key = "threads";
    const auto time = Column::Unit::kTime;
    table.columns = {{"thread", "thread", Column::Unit::kText},
                     {"cpu_ns", "cpu", time},
                     {"wall_ns", "wall", time},
                     {"running_ns", "running", time, 2},
                     {"runnable_ns", "runnable", time, 2},
                     {"blocked_ns", "blocked", time, 2},
                     {"unknown_ns", "unknown", time, 2},
                     {"blocked_futex_ns", "futex", time, 5},
                     {"blocked_eventfd_ns", "eventfd", time, 5},
                     {"blocked_epoll_ns", "epoll", time, 5},
                     {"blocked_io_uring_ns", "io_uring", time, 5},
                     {"blocked_other_ns", "other", time, 5}};
    table.title =
        "Threads, most CPU time first (ms; cpu is the scheduler's own account; running to unknown "
        "add up to wall, futex to other add up to blocked)";
    std::vector<const ThreadRow*> sorted;
    for (const ThreadRow& row : rows_) sorted.push_back(&row);
    std::sort(sorted.begin(), sorted.end(), [](const ThreadRow* a, const ThreadRow* b) {
      if (a->cpu_ns != b->cpu_ns) return a->cpu_ns > b->cpu_ns;
      if (a->state_ns != b->state_ns) return a->state_ns > b->state_ns;
      return a->name < b->name;
    });
    for (const ThreadRow* row : sorted) table.rows.push_back(MakeRow(*row));
    return {table};
  }

 private:
  static constexpr size_t kNoRow = ~size_t{0};

  void SetName(const Node& node, size_t row) {
    rows_[row].name =
        std::string(CommText(node.attributes)) + "/" + std::to_string(node.attributes.thread.tid);
  }

  static std::vector<Cell> MakeRow(const ThreadRow& row) {
    const auto state = [&](ThreadState s) { return row.state_ns[static_cast<size_t>(s)]; };
    const auto wait = [&](ThreadSlice::Wait w) { return row.wait_ns[static_cast<size_t>(w)]; };
    const uint64_t wall_ns = state(ThreadState::kRunning) + state(ThreadState::kRunnable) +
                             state(ThreadState::kBlocked) + state(ThreadState::kUnknown);
    return {row.name,
            row.has_cpu ? Cell(row.cpu_ns) : Cell(),
            wall_ns,
            state(ThreadState::kRunning),
            state(ThreadState::kRunnable),
            state(ThreadState::kBlocked),
            state(ThreadState::kUnknown),
            wait(ThreadSlice::Wait::kFutex),
            wait(ThreadSlice::Wait::kEventfd),
            wait(ThreadSlice::Wait::kEpoll),
            wait(ThreadSlice::Wait::kIoUring),
            wait(ThreadSlice::Wait::kNone)};
  }

  std::vector<ThreadRow> rows_;
  size_t other_row_ = kNoRow;
  std::unordered_map<NodeId, Thread> threads_;
};

}  // namespace

std::unique_ptr<ReportRenderer> MakeThreadReport(const ReportOptions& options,
                                                 const StringTable& strings, TextOutput& out) {
  return std::make_unique<ThreadReport>(options, strings, out);
}

}  // namespace cprof
