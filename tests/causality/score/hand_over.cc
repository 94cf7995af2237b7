// Judges hand-overs from thread to thread: see hand_over.h.
#include "tests/causality/score/hand_over.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace cprof::causality {
namespace {

constexpr size_t kKinds = static_cast<size_t>(EdgeKind::kLast) + 1;

struct End {
  uint32_t tid = 0;  // 0: no thread
  uint64_t time_ns = 0;
};

// Who is at an end: the node itself where it is a thread, else who executed it there.
End EndOf(const Graph& graph, uint64_t node, uint64_t thread, uint64_t time_ns) {
  uint32_t tid = graph.TidOf(node);
  const GraphNode* found = graph.Find(node);
  const bool is_interrupt = found != nullptr && found->kind == "interrupt";
  if (tid == 0 && !is_interrupt) tid = graph.TidOf(thread);
  return {tid, time_ns};
}

class HandOverJudge {
 public:
  HandOverJudge(const MatchInput& input, const NodeTruth& nodes, Judgement* judgement)
      : input_(input), nodes_(nodes), judgement_(*judgement) {
    for (uint32_t i = 0; i < input_.records.size(); ++i) {
      const OracleRecord& record = input_.records[i];
      if (record.truth != Truth::kEdge || record.kind >= kKinds) continue;
      given_[record.kind][record.tid].Add(record.before_ns, GivenUntil(record), i);
      if (TakerOf(record) != 0) {
        taken_[record.kind][TakerOf(record)].Add(TakenFrom(record), record.after_ns, i);
      }
      const bool is_outside =
          record.after_ns < input_.window.from_ns || record.before_ns > input_.window.to_ns;
      if (is_outside) judgement_.SetStatus(i, TrueEdge::Status::kOutside);
    }
  }

  void Run() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < input_.graph.edges.size(); ++i) {
      if (judgement_.edges()[i].fate == Fate::kUnjudged) order.push_back(i);
    }
    const std::vector<GraphEdge>& edges = input_.graph.edges;
    std::sort(order.begin(), order.end(), [&edges](uint32_t left, uint32_t right) {
      return std::tie(edges[left].src_time_ns, edges[left].dst_time_ns, left) <
             std::tie(edges[right].src_time_ns, edges[right].dst_time_ns, right);
    });
    for (const uint32_t index : order) {
      const auto kind = HandOverKind(input_.graph, edges[index]);
      if (kind) Judge(index, *kind);
    }
    FindTaken();
  }

 private:
  // Null: the edge is this record. Else why not.
  const char* Differs(const GraphEdge& edge, EdgeKind kind, const End& from, const End& to,
                      const OracleRecord& record) const;

  static EdgeKind KindOf(const OracleRecord& record) { return static_cast<EdgeKind>(record.kind); }
  static bool IsOfOneThread(EdgeKind kind) {
    return kind == EdgeKind::kAcquire || kind == EdgeKind::kRelease;
  }
  // Who must be seen at the far end; of a resource that is the thread that got it.
  static uint32_t TakerOf(const OracleRecord& record) {
    return IsOfOneThread(KindOf(record)) ? record.tid : static_cast<uint32_t>(record.value);
  }
  static uint64_t GivenUntil(const OracleRecord& record) {
    const bool is_whole =
        KindOf(record) == EdgeKind::kSpawn || KindOf(record) == EdgeKind::kRelease;
    return is_whole || record.inner_from_ns == 0 ? record.after_ns : record.inner_from_ns;
  }
  static uint64_t TakenFrom(const OracleRecord& record) {
    const bool is_whole =
        KindOf(record) == EdgeKind::kSpawn || KindOf(record) == EdgeKind::kRelease;
    return is_whole ? record.before_ns : record.inner_to_ns;
  }

  // is_thread: what is taken up is a thread itself, not what one takes up.
  std::vector<uint32_t> Candidates(EdgeKind kind, const End& from, const End& to,
                                   bool is_thread) const;
  void Judge(uint32_t index, EdgeKind kind);
  void FindTaken();

  const MatchInput& input_;
  const NodeTruth& nodes_;
  Judgement& judgement_;
  // Records by kind and thread, at each of their ends.
  std::array<std::unordered_map<uint32_t, Brackets>, kKinds> given_, taken_;
  std::unordered_map<uint64_t, uint32_t> pushes_;  // right edges that told a push, by task
};

// True edges that have one end where this one has it.
std::vector<uint32_t> HandOverJudge::Candidates(EdgeKind kind, const End& from, const End& to,
                                                bool is_thread) const {
  std::vector<uint32_t> found;
  const auto add = [&found](const std::unordered_map<uint32_t, Brackets>& by_tid, const End& end) {
    const auto brackets = by_tid.find(end.tid);
    if (brackets == by_tid.end()) return;
    brackets->second.Overlapping(end.time_ns, end.time_ns, [&found](uint32_t record) {
      if (std::find(found.begin(), found.end(), record) == found.end()) found.push_back(record);
    });
  };
  const auto index = static_cast<size_t>(kind);
  // A wait is ended once, while one call may wake many; a thread is born once.
  const bool by_taker = kind == EdgeKind::kWake || kind == EdgeKind::kResume ||
                        IsOfOneThread(kind) || (kind == EdgeKind::kSpawn && is_thread);
  if (to.tid != 0) add(taken_[index], to);
  if (!by_taker) add(given_[index], from);
  return found;
}

const char* HandOverJudge::Differs(const GraphEdge& edge, EdgeKind kind, const End& from,
                                   const End& to, const OracleRecord& record) const {
  const auto inside = [](uint64_t time_ns, uint64_t from_ns, uint64_t to_ns) {
    return time_ns >= from_ns && time_ns <= to_ns;
  };
  if (IsOfOneThread(kind)) {
    if (to.tid != record.tid) return "another thread did it";
    if (!inside(to.time_ns, TakenFrom(record), record.after_ns)) return "it was at another time";
    for (const uint64_t node : {edge.src, edge.dst}) {
      const auto request = nodes_.RequestBehind(node);
      if (request && *request != record.owner) return "it was another request";
    }
    return nullptr;
  }
  if (kind == EdgeKind::kResume) {
    const auto operation = nodes_.operation_of_node.find(edge.src);
    if (operation != nodes_.operation_of_node.end() && operation->second != kNoRecord &&
        input_.records[operation->second].operation != record.operation) {
      return "what was handled there is another operation";
    }
  } else if (from.tid != record.tid) {
    return "another one handed over";
  } else if (!inside(from.time_ns, record.before_ns, GivenUntil(record))) {
    return "that thread handed over at another time";
  }
  const auto task = nodes_.task_of_node.find(edge.dst);
  if (task != nodes_.task_of_node.end() && record.operation != 0) {
    if (task->second != record.operation) return "what was handed over is another life";
    // What a program tells at the push names the task; who takes it up is told by its binding.
    if (edge.dst_time_ns == edge.src_time_ns) return nullptr;
  }
  if (record.value != 0 && to.tid != record.value) return "another one took it up";
  const bool has_bracket = record.value != 0 || record.inner_to_ns != 0;
  if (has_bracket && !inside(to.time_ns, TakenFrom(record), record.after_ns)) {
    return "it was taken up at another time";
  }
  return nullptr;
}

void HandOverJudge::Judge(uint32_t index, EdgeKind kind) {
  const GraphEdge& edge = input_.graph.edges[index];
  const End from = EndOf(input_.graph, edge.src, edge.src_thread, edge.src_time_ns);
  const End to = EndOf(input_.graph, edge.dst, edge.dst_thread, edge.dst_time_ns);
  const std::vector<uint32_t> candidates =
      Candidates(kind, from, to, input_.graph.TidOf(edge.dst) != 0);
  const char* why = nullptr;
  uint32_t fits = kNoRecord, contradicts = kNoRecord;
  bool is_behind_interrupt = false;
  for (const uint32_t candidate : candidates) {
    const OracleRecord& record = input_.records[candidate];
    const char* differs = Differs(edge, kind, from, to, record);
    if (differs == nullptr) {
      const TrueEdge* truth = judgement_.TruthOf(candidate);
      if (fits == kNoRecord || truth->status != TrueEdge::Status::kFound) fits = candidate;
      if (truth->status != TrueEdge::Status::kFound) break;
      continue;
    }
    // The program sees who began it, the kernel which interrupt ended it. Both are true; the edge
    // is not found by that.
    is_behind_interrupt |= kind == EdgeKind::kWake && from.tid == 0 && record.tid != 0;
    if (contradicts == kNoRecord) {
      contradicts = candidate;
      why = differs;
    }
  }
  if (fits != kNoRecord) {
    judgement_.Right(index, fits);
  } else if (is_behind_interrupt) {
    judgement_.Set(index, Fate::kForeign);
    judgement_.TruthOf(contradicts)->has_orphan = true;
  } else if (contradicts != kNoRecord &&
             (kind != EdgeKind::kWake || input_.domains.HoldWaits(to.tid, to.time_ns))) {
    judgement_.Wrong(index, why, contradicts);
  } else if (input_.domains.Cover(from.tid, kind, from.time_ns) ||
             input_.domains.Cover(to.tid, kind, to.time_ns) ||
             (kind == EdgeKind::kWake && input_.domains.HoldWaits(to.tid, to.time_ns))) {
    judgement_.Wrong(index, "nothing of the kind happened then");
  } else if (kind != EdgeKind::kWake) {
    judgement_.Set(index, Fate::kForeign);
  }
}

// A program tells at the push which task it queued, and who takes it up enters it: together they
// are the whole way through the queue, in two lines of the graph.
void HandOverJudge::FindTaken() {
  std::unordered_map<uint64_t, std::vector<const GraphBinding*>>
      bindings;  // by hidden id of a task
  for (const GraphBinding& binding : input_.graph.bindings) {
    const auto task = nodes_.task_of_node.find(binding.node);
    if (task != nodes_.task_of_node.end()) bindings[task->second].push_back(&binding);
  }
  for (uint32_t i = 0; i < judgement_.edges().size(); ++i) {
    const EdgeVerdict& verdict = judgement_.edges()[i];
    if (verdict.fate != Fate::kRight || verdict.record == kNoRecord) continue;
    const OracleRecord& told = input_.records[verdict.record];
    if (told.truth == Truth::kHandOver) pushes_[told.operation] = i;
  }
  for (TrueEdge& truth : judgement_.truths()) {
    if (truth.type != TrueType::kQueue || truth.status != TrueEdge::Status::kMissing) continue;
    const OracleRecord& record = input_.records[truth.record];
    const auto push = pushes_.find(record.operation);
    const auto taken = bindings.find(record.operation);
    if (record.operation == 0 || push == pushes_.end() || taken == bindings.end()) continue;
    // Taken first, entered then: who enters it first from then on took it.
    const GraphBinding* first = nullptr;
    for (const GraphBinding* binding : taken->second) {
      if (binding->from_ns < TakenFrom(record)) continue;
      if (first == nullptr || binding->from_ns < first->from_ns) first = binding;
    }
    if (first == nullptr || input_.graph.TidOf(first->thread) != record.value) continue;
    truth.status = TrueEdge::Status::kFound;
    truth.edge = push->second;
  }
}

}  // namespace

std::optional<uint64_t> NodeTruth::RequestBehind(uint64_t node) const {
  if (const auto found = request_of_node.find(node); found != request_of_node.end()) {
    return found->second;
  }
  const auto task = task_of_node.find(node);
  if (task == task_of_node.end()) return std::nullopt;
  const auto owner = owner_of_task.find(task->second);
  return owner == owner_of_task.end() ? 0 : owner->second;
}

std::optional<EdgeKind> HandOverKind(const Graph& graph, const GraphEdge& edge) {
  const bool is_half = edge.src_time_ns == edge.dst_time_ns && edge.src_event == edge.dst_event;
  for (const uint64_t id : {edge.src, edge.dst}) {
    const GraphNode* node = graph.Find(id);
    if (node == nullptr) continue;
    EdgeKind kind = EdgeKind::kNone;
    if (node->kind == "timer") kind = EdgeKind::kTimer;
    if (node->kind == "work_item") kind = EdgeKind::kWorkItem;
    if (node->kind == "block_request") kind = EdgeKind::kBlock;
    if (node->kind == "message") kind = EdgeKind::kSend;
    // The edge into such a node says only that it was handed out.
    if (kind != EdgeKind::kNone) return is_half ? std::nullopt : std::optional(kind);
  }
  if (edge.type == "wake") return EdgeKind::kWake;
  if (edge.type == "spawn") return EdgeKind::kSpawn;
  if (edge.type == "queue") return EdgeKind::kQueue;
  if (edge.type == "resume") return EdgeKind::kResume;
  if (edge.type == "send" || edge.type == "receive") return EdgeKind::kSend;
  if (edge.type == "acquire") return EdgeKind::kAcquire;
  if (edge.type == "release") return EdgeKind::kRelease;
  return std::nullopt;
}

void JudgeHandOvers(const MatchInput& input, const NodeTruth& nodes, Judgement* judgement) {
  HandOverJudge(input, nodes, judgement).Run();
}

}  // namespace cprof::causality
