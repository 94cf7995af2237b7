// Says in words what a score is made of: see explain.h.
#include "tests/causality/score/explain.h"

#include <fmt/format.h>

namespace cprof::causality {
namespace {

class Explainer {
 public:
  Explainer(const std::vector<OracleRecord>& records, const Graph& graph, const Scored& scored)
      : records_(records), graph_(graph), scored_(scored) {}

  std::string Edges(Fate fate, uint64_t count) const {
    std::string text;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < scored_.edges.size(); ++i) {
      const EdgeVerdict& verdict = scored_.edges[i];
      if (verdict.fate != fate || seen++ >= count) continue;
      text += Told(graph_.edges[i]);
      text +=
          fmt::format("  {}\n", fate == Fate::kDuplicate ? "this was said before" : verdict.why);
      if (verdict.record != kNoRecord) text += "  truth: " + True(verdict.record);
    }
    return Counted(fate == Fate::kDuplicate ? "duplicate edges" : "false joins", seen, text);
  }

  std::string Missing(uint64_t count) const {
    std::string text;
    uint64_t seen = 0;
    for (const TrueEdge& truth : scored_.truths) {
      if (truth.status != TrueEdge::Status::kMissing || seen++ >= count) continue;
      text += fmt::format("{} ", TrueTypeName(truth.type)) + True(truth.record);
      text += truth.has_orphan  ? "  the graph shows an orphan for it\n"
              : truth.has_break ? "  the graph shows a break that may have taken it\n"
                                : "  the graph shows nothing for it\n";
      if (!truth.is_visible) text += "  no hook can see it, or no adapter does\n";
      if (!truth.is_kept) text += "  one of its halves was lost\n";
    }
    return Counted("missing edges", seen, text);
  }

  std::string Owners(uint64_t count) const {
    std::string text;
    uint64_t seen = 0;
    for (const Scored::WrongOwner& wrong : scored_.wrong_owners) {
      if (seen++ >= count) continue;
      text += wrong.tid != 0 ? fmt::format("thread {}", wrong.tid)
                             : fmt::format("operation of node {}", wrong.node);
      text += fmt::format(" over [{}, {}], {} ns\n  graph: {}\n  truth: {}\n", At(wrong.from_ns),
                          At(wrong.to_ns), wrong.to_ns - wrong.from_ns, Names(wrong.claimed),
                          wrong.owner == 0 ? "nobody's" : fmt::format("request {}", wrong.owner));
    }
    return Counted("stretches with a wrong owner, the longest first", seen, text);
  }

 private:
  static std::string Counted(const char* what, uint64_t count, const std::string& text) {
    return fmt::format("{} {}\n", count, what) + text;
  }

  int64_t At(uint64_t time_ns) const {
    return static_cast<int64_t>(time_ns) - static_cast<int64_t>(graph_.t0_ns);
  }

  static std::string Names(const std::vector<uint64_t>& requests) {
    std::string text;
    for (const uint64_t request : requests) {
      if (!text.empty()) text += ", ";
      text += request == 0 ? "a request that never was" : fmt::format("request {}", request);
    }
    return text;
  }

  std::string Node(uint64_t id, uint64_t thread) const {
    const GraphNode* node = graph_.Find(id);
    std::string text = node == nullptr ? "no node" : fmt::format("{} {}", node->kind, id);
    const uint32_t tid = graph_.TidOf(id) != 0 ? graph_.TidOf(id) : graph_.TidOf(thread);
    if (tid != 0) text += fmt::format(" (tid {})", tid);
    return text;
  }

  std::string Told(const GraphEdge& edge) const {
    return fmt::format("{} edge, {} {}: {} at {} (event {}) to {} at {} (event {}){}\n", edge.type,
                       edge.source, edge.confidence, Node(edge.src, edge.src_thread),
                       At(edge.src_time_ns), edge.src_event, Node(edge.dst, edge.dst_thread),
                       At(edge.dst_time_ns), edge.dst_event,
                       edge.rule.empty() ? "" : ", rule " + edge.rule);
  }

  std::string True(uint32_t index) const {
    const OracleRecord& record = records_[index];
    std::string text;
    switch (record.truth) {
      case Truth::kSubmit:
        text = fmt::format("tid {} submitted operation {} in [{}, {}], number {} of its batch",
                           record.tid, record.operation, At(record.before_ns), At(record.after_ns),
                           record.sequence);
        break;
      case Truth::kComplete:
        text = fmt::format("operation {} completed for tid {} in [{}, {}], number {} of its round",
                           record.operation, record.tid, At(record.before_ns), At(record.after_ns),
                           record.sequence);
        break;
      case Truth::kHandOver:
        text = fmt::format("tid {} handed task {} over in [{}, {}], from {} {}", record.tid,
                           record.operation, At(record.before_ns), At(record.after_ns),
                           record.value == 0 ? "request" : "task",
                           record.value == 0 ? record.owner : record.value);
        break;
      default:
        text = fmt::format("{} handed over in [{}, {}], {} took up in [{}, {}]",
                           record.tid == 0 ? "an interrupt" : fmt::format("tid {}", record.tid),
                           At(record.before_ns),
                           At(record.inner_from_ns == 0 ? record.after_ns : record.inner_from_ns),
                           record.value == 0 ? "nobody knows who" : fmt::format("{}", record.value),
                           At(record.inner_to_ns == 0 ? record.before_ns : record.inner_to_ns),
                           At(record.after_ns));
        if (record.operation != 0) text += fmt::format("; operation {}", record.operation);
        break;
    }
    if (record.owner != 0) text += fmt::format("; of request {}", record.owner);
    return text + '\n';
  }

  const std::vector<OracleRecord>& records_;
  const Graph& graph_;
  const Scored& scored_;
};

}  // namespace

std::string Explain(const std::vector<OracleRecord>& records, const Graph& graph,
                    const Scored& scored, Question question, uint64_t count) {
  const Explainer explainer(records, graph, scored);
  switch (question) {
    case Question::kFalseJoins: return explainer.Edges(Fate::kWrong, count);
    case Question::kDuplicates: return explainer.Edges(Fate::kDuplicate, count);
    case Question::kMissing: return explainer.Missing(count);
    case Question::kOwners: return explainer.Owners(count);
  }
  return "";
}

}  // namespace cprof::causality
