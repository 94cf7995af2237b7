// What became of edges: see verdict.h.
#include "tests/causality/score/verdict.h"

#include <array>

namespace cprof::causality {
namespace {

// Records that are edges; completions of no operation are events and no edge.
bool IsTrueEdge(const OracleRecord& record) {
  switch (record.truth) {
    case Truth::kSubmit:
    case Truth::kHandOver: return true;
    case Truth::kComplete: return record.operation != 0;
    case Truth::kEdge:
      return record.kind > 0 && record.kind <= static_cast<uint32_t>(EdgeKind::kLast);
    default: return false;
  }
}

TrueType TypeOf(const OracleRecord& record) {
  if (record.truth == Truth::kSubmit) return TrueType::kSubmit;
  if (record.truth == Truth::kComplete) return TrueType::kComplete;
  if (record.truth == Truth::kHandOver) return TrueType::kHandOver;
  return TypeOfEdgeKind(static_cast<EdgeKind>(record.kind));
}

}  // namespace

std::string_view TrueTypeName(TrueType type) {
  static constexpr std::array<std::string_view, kTrueTypeCount> kNames = {
      "submit", "complete",  "hand_over", "wake", "spawn",   "queue",  "resume",
      "timer",  "work_item", "block",     "send", "acquire", "release"};
  return kNames[static_cast<size_t>(type)];
}

TrueType TypeOfEdgeKind(EdgeKind kind) {
  return static_cast<TrueType>(static_cast<uint32_t>(TrueType::kWake) +
                               static_cast<uint32_t>(kind) - 1);
}

Judgement::Judgement(const std::vector<OracleRecord>& records, const Graph& graph)
    : edges_(graph.edges.size()), truth_of_record_(records.size(), kNoRecord) {
  std::unordered_map<uint64_t, uint64_t> submitted_ns;
  std::unordered_map<uint64_t, uint32_t> completions;
  for (const OracleRecord& record : records) {
    if (record.truth == Truth::kSubmit) submitted_ns[record.operation] = record.before_ns;
    if (record.truth == Truth::kComplete) ++completions[record.operation];
  }
  for (uint32_t i = 0; i < records.size(); ++i) {
    if (!IsTrueEdge(records[i])) continue;
    truth_of_record_[i] = static_cast<uint32_t>(truths_.size());
    TrueEdge& truth = truths_.emplace_back();
    truth.record = i;
    truth.type = TypeOf(records[i]);
    truth.from_ns = records[i].before_ns;
    truth.to_ns = records[i].after_ns;
    if (truth.type == TrueType::kResume) truth.needs_rule = true;
    if (truth.type != TrueType::kComplete) continue;
    // Without its submit a completion has nothing to be joined to. Of several completions of one
    // operation all but one carry nothing that names it.
    if (const auto found = submitted_ns.find(records[i].operation); found != submitted_ns.end()) {
      truth.from_ns = std::min(truth.from_ns, found->second);
    }
    truth.needs_rule = completions[records[i].operation] > 1;
  }
}

TrueEdge* Judgement::TruthOf(uint32_t record) {
  if (record == kNoRecord || truth_of_record_[record] == kNoRecord) return nullptr;
  return &truths_[truth_of_record_[record]];
}

void Judgement::Right(uint32_t edge, uint32_t record) {
  edges_[edge].record = record;
  TrueEdge* truth = TruthOf(record);
  if (truth != nullptr && truth->status == TrueEdge::Status::kFound) {
    edges_[edge].fate = Fate::kDuplicate;
    return;
  }
  edges_[edge].fate = Fate::kRight;
  if (truth == nullptr) return;
  truth->status = TrueEdge::Status::kFound;
  truth->edge = edge;
}

void Judgement::Wrong(uint32_t edge, const char* why, uint32_t record) {
  edges_[edge] = {Fate::kWrong, record, why};
}

void Judgement::SetStatus(uint32_t record, TrueEdge::Status status) {
  if (TrueEdge* truth = TruthOf(record)) truth->status = status;
}

}  // namespace cprof::causality
