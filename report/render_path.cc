// `cprof report --request`: the causal path of one request, strand by strand, with times.
#include <algorithm>
#include <map>
#include <optional>

#include "report/path_fold.h"
#include "report/request_ledger.h"
#include "report/table_report.h"
#include "report/wait_causes.h"

namespace cprof {
namespace {

constexpr size_t kMaxMatches = 64;    // generations shown of one id
constexpr size_t kMaxDepth = 12;      // of indentation
constexpr size_t kMaxTextSteps = 60;  // about; JSON and CSV have all
constexpr std::string_view kSlowest = "slowest";

// What --request asks for.
struct Question {
  bool slowest = false;
  std::string name;  // of a kind, where slowest
  std::optional<Key> id;
};

std::optional<uint64_t> ParseDigits(std::string_view digits, unsigned base) {
  if (digits.empty()) return std::nullopt;
  uint64_t value = 0;
  for (const char c : digits) {
    unsigned digit = 16;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') digit = static_cast<unsigned>(c - 'A') + 10;
    if (digit >= base || value > (~uint64_t{0} - digit) / base) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

Question ParseQuestion(const std::string& text) {
  Question question;
  if (text == kSlowest) {
    question.slowest = true;
    return question;
  }
  const size_t colon = text.rfind(':');
  if (colon != std::string::npos && text.substr(colon + 1) == kSlowest) {
    question.slowest = true;
    question.name = text.substr(0, colon);
    return question;
  }
  question.id = ParseRequestId(text);
  return question;
}

// One step of the path: spans of one strand in one state for one reason.
struct Step {
  ExplainedSpan span;
  size_t depth = 0;
  std::string why;
};

struct Match {
  RequestRecord record;
  std::vector<Step> steps;
};

class PathReport : public ReportRenderer {
 public:
  PathReport(const ReportOptions& options, const StringTable& strings, TextOutput& out)
      : options_(options),
        strings_(strings),
        out_(out),
        question_(ParseQuestion(options.request)),
        ledger_([this](const RequestRecord& record) { Take(record); }) {}

  void OnHeader(const SessionHeader& header) override { coverage_.SetHeader(header); }
  void OnStream(const StreamInfo& stream) override { coverage_.AddStream(stream); }
  void OnFooter(const Footer& footer) override { coverage_.SetFooter(footer); }
  void OnBreak(BreakId, const Break& lost) override { coverage_.AddBreak(lost); }
  void OnSummary(const GraphSummary& summary) override { coverage_.SetSummary(summary); }
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
    coverage_.SetFinal(final_ns);
    ledger_.OnFinal(final_ns);
  }

  bool Finish(const ReadSummary& read) override;

 private:
  struct StepText {
    std::string strand, thread, edge;
  };

  void Take(const RequestRecord& record);
  bool Matches(const RequestRecord& record) const;
  std::vector<Step> MakeSteps(const RequestRecord& record) const;
  void AppendWait(const RequestRecord& record, const Step& whole, std::vector<Step>* steps) const;
  std::string NameOf(const RequestRecord& record) const;
  void AppendText(const Match& match, std::string* out) const;
  StepText TextOf(const Step& step) const;
  Table StepTable(const Match& match) const;
  Table FoldedTable(const Match& match) const;
  void WriteJson(JsonWriter* json) const;
  void WriteCsv(std::string* out) const;

  const ReportOptions options_;
  const StringTable& strings_;
  TextOutput& out_;
  const Question question_;
  Coverage coverage_;
  std::vector<Match> matches_;
  uint64_t more_matches_ = 0;
  uint64_t requests_ = 0;
  RequestLedger ledger_;
};

std::string PathReport::NameOf(const RequestRecord& record) const {
  std::string name;
  AppendLabelName(record.label, strings_, &name);
  return name;
}

bool PathReport::Matches(const RequestRecord& record) const {
  if (question_.id) return record.key == *question_.id;
  if (!question_.slowest || !record.whole()) return false;
  return question_.name.empty() || question_.name == NameOf(record) ||
         question_.name == strings_.Get(record.label.name);
}

void PathReport::Take(const RequestRecord& record) {
  ++requests_;
  if (!Matches(record)) return;
  if (question_.slowest) {
    if (!matches_.empty()) {
      const RequestRecord& best = matches_.front().record;
      const bool slower = record.wall_ns() > best.wall_ns() ||
                          (record.wall_ns() == best.wall_ns() && record.node < best.node);
      if (!slower) return;
      matches_.clear();
    }
  } else if (matches_.size() >= kMaxMatches) {
    ++more_matches_;
    return;
  }
  matches_.push_back({record, MakeSteps(record)});
}

// A strand that comes up for the first time lies one deeper than the one before it; going back to a
// strand goes back to its depth.
std::vector<Step> PathReport::MakeSteps(const RequestRecord& record) const {
  std::vector<Step> steps;
  std::vector<NodeId> strands{0};
  for (const ExplainedSpan& span : record.spans) {
    // A wait that names no strand is one of the strand before it.
    if (span.node != 0) {
      const auto found = std::find(strands.begin(), strands.end(), span.node);
      if (found == strands.end()) {
        strands.push_back(span.node);
      } else {
        strands.erase(found + 1, strands.end());
      }
    }
    Step step{span, std::min(std::max<size_t>(strands.size(), 2) - 2, kMaxDepth), {}};
    const bool waits = span.state != WallState::kRunning && span.state != WallState::kInChild;
    if (waits) {
      AppendWait(record, step, &steps);
    } else {
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

// A wait is one step for each holder after the other, with what that holder did most of the time.
void PathReport::AppendWait(const RequestRecord& record, const Step& whole,
                            std::vector<Step>* steps) const {
  struct Piece {
    WaitCause cause;
    uint64_t total_ns = 0;
  };
  std::vector<Piece> pieces;  // of the step that is being put together
  Step step = whole;
  const auto finish = [&] {
    if (pieces.empty()) return;
    const auto most =
        std::max_element(pieces.begin(), pieces.end(),
                         [](const Piece& a, const Piece& b) { return a.total_ns < b.total_ns; });
    AppendWaitCause(most->cause, strings_, &step.why);
    if (pieces.size() > 1) {
      step.why += " (";
      AppendShare(most->total_ns, step.span.duration_ns(), 0, &step.why);
      step.why += ')';
    }
    steps->push_back(step);
    step.why.clear();
    pieces.clear();
  };
  ForEachWaitPiece(record, whole.span, ledger_,
                   [&](const WaitCause& cause, uint64_t from_ns, uint64_t to_ns) {
                     if (!pieces.empty() && pieces.front().cause.holder != cause.holder) finish();
                     if (pieces.empty()) step.span.from_ns = from_ns;
                     step.span.to_ns = to_ns;
                     for (Piece& piece : pieces) {
                       if (!(piece.cause == cause)) continue;
                       piece.total_ns += to_ns - from_ns;
                       return;
                     }
                     pieces.push_back({cause, to_ns - from_ns});
                   });
  finish();
}

PathReport::StepText PathReport::TextOf(const Step& step) const {
  const ExplainedSpan& span = step.span;
  const Label& on = ledger_.LabelAt(span.node_name);
  const bool on_thread = on.known && on.kind == NodeKind::kThread;
  const NodeName& executor = ledger_.NameAt(on_thread ? span.node_name : span.thread_name);
  StepText text;
  if (span.node != 0) AppendLabel(on, strings_, &text.strand);
  if (executor.label.known && executor.label.kind == NodeKind::kThread) {
    AppendLabelName(executor.label, strings_, &text.thread);
    text.thread += '/';
    AppendUnsigned(executor.tid, &text.thread);
  }
  if (span.has_edge) {
    text.edge = EdgeTypeName(span.edge_type);
  } else if (span.edge != 0) {
    text.edge = "edge";
  }
  return text;
}

namespace {

Cell TextCell(std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); }

std::string WithNumber(std::string edge, EdgeId id) {
  if (id == 0) return edge;
  edge += ' ';
  AppendUnsigned(id, &edge);
  return edge;
}

const std::vector<Column>& StepColumns() {
  static const std::vector<Column> columns = {{"at_ns", "at ms", Column::Unit::kTime},
                                              {"took_ns", "took ms", Column::Unit::kTime},
                                              {"state", "state", Column::Unit::kText},
                                              {"strand", "on", Column::Unit::kText},
                                              {"thread", "thread", Column::Unit::kText},
                                              {"edge", "ended by", Column::Unit::kText},
                                              {"confidence", "confidence", Column::Unit::kText},
                                              {"waited_for", "waited for", Column::Unit::kText}};
  return columns;
}

}  // namespace

Table PathReport::StepTable(const Match& match) const {
  Table table;
  table.key = "path";
  table.columns = StepColumns();
  for (const Step& step : match.steps) {
    const ExplainedSpan& span = step.span;
    const StepText text = TextOf(step);
    table.rows.push_back({span.from_ns - match.record.begin_ns, span.duration_ns(),
                          std::string(WallStateName(span.state)), TextCell(text.strand),
                          TextCell(text.thread), TextCell(WithNumber(text.edge, span.edge)),
                          std::string(ConfidenceName(span.confidence)), TextCell(step.why)});
  }
  return table;
}

// The same for people: strands indented, repetitions and short steps folded.
Table PathReport::FoldedTable(const Match& match) const {
  std::map<std::string, uint32_t> forms;
  std::vector<FoldStep> steps;
  std::vector<StepText> texts;
  for (const Step& step : match.steps) {
    const StepText text = TextOf(step);
    std::string form;
    for (const uint64_t part : {static_cast<uint64_t>(step.span.state), uint64_t{step.depth},
                                static_cast<uint64_t>(step.span.confidence)}) {
      AppendUnsigned(part, &form);
      form += ' ';
    }
    for (const std::string& part : {text.strand, text.thread, text.edge, step.why}) {
      form += part;
      form += '\0';
    }
    const auto next = static_cast<uint32_t>(forms.size());
    steps.push_back(
        {forms.try_emplace(std::move(form), next).first->second, step.span.duration_ns()});
    texts.push_back(text);
  }
  const std::vector<FoldedStep> rows = FoldPath(steps, kMaxTextSteps);
  const bool any_cycle =
      std::any_of(rows.begin(), rows.end(), [](const FoldedStep& row) { return row.times > 1; });
  Table table;
  table.columns = StepColumns();
  const Column times{"times", "times", Column::Unit::kText};
  if (any_cycle) table.columns.insert(table.columns.begin() + 2, times);
  for (const FoldedStep& row : rows) {
    const Step& step = match.steps[row.first];
    const StepText& text = texts[row.first];
    std::vector<Cell> cells{step.span.from_ns - match.record.begin_ns, row.took_ns};
    if (row.place > 0) cells[0] = Cell();  // the repetitions take turns
    if (any_cycle) {
      std::string count = row.place == 0 ? std::to_string(row.times) + " x" : "  |";
      cells.push_back(TextCell(row.times > 1 ? std::move(count) : std::string(" ")));
    }
    std::string strand(2 * step.depth, ' ');
    if (row.summed > 1) {
      strand += "... " + std::to_string(row.summed) + " shorter steps";
      cells.insert(cells.end(), {Cell("..."), Cell(strand), Cell(), Cell(), Cell(), Cell()});
    } else {
      strand += text.strand;
      const std::string edge = row.times > 1 ? text.edge : WithNumber(text.edge, step.span.edge);
      cells.insert(
          cells.end(),
          {std::string(WallStateName(step.span.state)), TextCell(strand), TextCell(text.thread),
           TextCell(edge), std::string(ConfidenceName(step.span.confidence)), TextCell(step.why)});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void PathReport::AppendText(const Match& match, std::string* out) const {
  const RequestRecord& record = match.record;
  *out += "#\n# request ";
  AppendPrintable(NameOf(record), out);
  *out += " id ";
  AppendKey(record.key, out);
  if (record.key.hi == 0) {
    *out += " (";
    AppendUnsigned(record.key.lo, out);
    *out += ')';
  }
  *out += ", generation ";
  AppendUnsigned(record.generation, out);
  if (record.tgid != 0) {
    *out += ", process ";
    AppendUnsigned(record.tgid, out);
  }
  *out += "\n# ";
  AppendDuration(record.wall_ns(), out);
  *out +=
      record.ended ? (record.begun ? "" : " since the recording began") : " so far: it never ended";
  *out += ", begun ";
  AppendSeconds(RelativeTo(coverage_.header().t0_ns, record.begin_ns), out);
  *out += " s into the recording";
  if (record.has_cpu) {
    *out += ", CPU ";
    AppendDuration(record.cpu_ns, out);
    if (record.cpu_low_ns != record.cpu_high_ns) {
      *out += " (between ";
      AppendDuration(record.cpu_low_ns, out);
      *out += " and ";
      AppendDuration(record.cpu_high_ns, out);
      *out += ')';
    }
  }
  *out += "\n# where it went:";
  std::vector<size_t> states;
  for (size_t i = 0; i < record.state_ns.size(); ++i) {
    if (record.state_ns[i] > 0) states.push_back(i);
  }
  std::stable_sort(states.begin(), states.end(),
                   [&](size_t a, size_t b) { return record.state_ns[a] > record.state_ns[b]; });
  for (size_t i = 0; i < states.size(); ++i) {
    *out += i == 0 ? " " : ", ";
    *out += WallStateName(static_cast<WallState>(states[i]));
    *out += ' ';
    AppendShare(record.state_ns[states[i]], record.wall_ns(), 1, out);
  }
  *out += "\n#\n";
  AppendTableText(FoldedTable(match), out);
  if (record.spans_cut) *out += "# ... and more steps than are kept of one request\n";
}

void PathReport::WriteJson(JsonWriter* json) const {
  json->BeginObject();
  json->Field("version", 1);
  coverage_.WriteJson(json);
  json->Key("requests");
  json->BeginArray();
  for (const Match& match : matches_) {
    const RequestRecord& record = match.record;
    json->BeginObject();
    json->Field("node", record.node);
    json->Field("request", NameOf(record));
    json->Key("id");
    json->HexKey(record.key);
    json->Field("generation", record.generation);
    json->Field("ended", record.ended);
    json->Field("begun", record.begun);
    json->Field("begin_ns", RelativeTo(coverage_.header().t0_ns, record.begin_ns));
    json->Field("wall_ns", record.wall_ns());
    json->Field("cpu_ns", record.cpu_ns);
    json->Key("states");
    json->BeginObject();
    for (size_t i = 0; i < record.state_ns.size(); ++i) {
      json->Field(std::string(WallStateName(static_cast<WallState>(i))) + "_ns",
                  record.state_ns[i]);
    }
    json->EndObject();
    WriteTableJson(StepTable(match), json);
    json->EndObject();
  }
  json->EndArray();
  json->Field("more", more_matches_);
  json->EndObject();
}

void PathReport::WriteCsv(std::string* out) const {
  Table all;
  for (const Match& match : matches_) {
    Table table = StepTable(match);
    all.columns = table.columns;
    for (std::vector<Cell>& row : table.rows) {
      row.insert(row.begin(), uint64_t{match.record.generation});
      all.rows.push_back(std::move(row));
    }
  }
  if (all.columns.empty()) all.columns = StepTable({}).columns;
  all.columns.insert(all.columns.begin(), Column{"generation", "generation"});
  AppendTableCsv(all, out);
}

bool PathReport::Finish(const ReadSummary& read) {
  ledger_.Finish();
  coverage_.SetRead(read);
  // Not in the order of delivery but of birth.
  std::sort(matches_.begin(), matches_.end(),
            [](const Match& a, const Match& b) { return a.record.node < b.record.node; });
  std::string& text = out_.text();
  switch (options_.format) {
    case ReportFormat::kJson: {
      JsonWriter json(&text);
      WriteJson(&json);
      text += '\n';
      break;
    }
    case ReportFormat::kCsv: WriteCsv(&text); break;
    case ReportFormat::kText:
      if (options_.session_header) coverage_.AppendSessionText(&text);
      coverage_.AppendText(&text);
      if (matches_.size() > 1) {
        text += "#\n# ";
        AppendGrouped(matches_.size() + more_matches_, &text);
        text += " requests had this id, one after the other or in other domains; all are shown";
        if (more_matches_ > 0) text += " but those after the first " + std::to_string(kMaxMatches);
        text += '\n';
      }
      for (const Match& match : matches_) AppendText(match, &text);
  }
  out_.Drain();
  return !matches_.empty();
}

}  // namespace

std::optional<Key> ParseRequestId(std::string_view text) {
  const bool prefixed = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = prefixed ? text.substr(2) : text;
  // 32 digits are an id of 128 bits, as trace ids are written.
  if (!prefixed && digits.size() != 32) {
    const std::optional<uint64_t> decimal = ParseDigits(digits, 10);
    return decimal ? std::optional<Key>({0, *decimal}) : std::nullopt;
  }
  if (digits.empty() || digits.size() > 32) return std::nullopt;
  const size_t high = digits.size() > 16 ? digits.size() - 16 : 0;
  const std::optional<uint64_t> hi = high == 0 ? 0 : ParseDigits(digits.substr(0, high), 16);
  const std::optional<uint64_t> lo = ParseDigits(digits.substr(high), 16);
  if (!hi || !lo) return std::nullopt;
  return Key{*hi, *lo};
}

bool IsRequestQuestion(const std::string& text) {
  const Question question = ParseQuestion(text);
  return question.slowest || question.id.has_value();
}

std::unique_ptr<ReportRenderer> MakePathReport(const ReportOptions& options,
                                               const StringTable& strings, TextOutput& out) {
  return std::make_unique<PathReport>(options, strings, out);
}

}  // namespace cprof
