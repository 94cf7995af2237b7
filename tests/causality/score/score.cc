// Scores a graph against an oracle log: see score.h.
#include "tests/causality/score/score.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include "tests/causality/score/match.h"
#include "tests/causality/score/owner_time.h"

namespace cprof::causality {
namespace {

constexpr size_t kMaxExamples = 5;

bool IsScored(const GraphEdge& edge) {
  if (edge.source == "application") return edge.type == "submit" || edge.type == "queue";
  return edge.type == "submit" || edge.type == "complete";
}

class Scorer {
 public:
  Scorer(const std::vector<OracleRecord>& records, const Graph& graph)
      : records_(records),
        graph_(graph),
        window_(WindowOf(graph)),
        requests_(records, Truth::kRequestBegin, Truth::kRequestEnd),
        tasks_(records, Truth::kTaskBegin, Truth::kTaskEnd) {}

  Scores Run() {
    submits_ = Match(graph_, records_, "submit", Truth::kSubmit, window_);
    completes_ = Match(graph_, records_, "complete", Truth::kComplete, window_);
    hand_overs_ = Match(graph_, records_, "queue", Truth::kHandOver, window_);
    for (const auto& [id, node] : graph_.nodes) {
      if (node.kind == "request") request_of_node_[id] = requests_.Find(node);
      if (node.kind == "runtime_task") task_of_node_[id] = tasks_.Find(node);
    }
    Submits();
    Completes();
    HandOvers();
    Namings();
    Coverage();
    Accounts();
    const OwnerTruth truth{records_, graph_, window_, request_of_node_};
    scores_.threads = ScoreThreads(truth);
    scores_.operations_owner = ScoreOperations(truth, operation_of_node_);
    Walls();
    return scores_;
  }

 private:
  EdgeScore& Of(const GraphEdge& edge) { return scores_.edges[edge.confidence]; }

  void Wrong(const GraphEdge& edge, const char* why, EdgeScore* score) {
    ++score->wrong;
    if (scores_.wrong_examples.size() == kMaxExamples) return;
    scores_.wrong_examples.push_back(edge.type + " edge of node " + std::to_string(edge.src) +
                                     " to node " + std::to_string(edge.dst) + ", events " +
                                     edge.src_event + " and " + edge.dst_event + ": " + why);
  }

  // Counts an edge whose half settles it, whatever the edge says. False: still to be judged.
  bool SettledByHalf(const Half& half, const GraphEdge& edge, EdgeScore* score) {
    ++score->reported;
    switch (half.verdict) {
      case Half::Verdict::kForeign: ++score->foreign; return true;
      case Half::Verdict::kUndecided: ++score->undecided; return true;
      case Half::Verdict::kInvented:
        Wrong(edge, "nothing of the kind happened then", score);
        return true;
      case Half::Verdict::kDecided: return false;
    }
    return true;
  }

  void Right(const Half& half, EdgeScore* score) {
    ++score->right;
    found_.insert(half.record);
  }

  // A submit edge is right if its thread submitted the operation, and its request node stands for
  // no other operation. It also tells which operation the node stands for.
  void Submits() {
    for (const Half& half : submits_.halves) {
      for (const uint32_t orphan : half.orphans) Stand(half, graph_.orphans[orphan].node);
      for (const uint32_t index : half.edges) {
        const GraphEdge& edge = graph_.edges[index];
        EdgeScore& score = Of(edge);
        const bool is_first = Stand(half, edge.dst);
        if (SettledByHalf(half, edge, &score)) continue;
        if (is_first) {
          Right(half, &score);
        } else {
          Wrong(edge, "its node stands for another submit too", &score);
        }
      }
    }
  }

  // node stands for the operation of this half, or for something the truth cannot name.
  bool Stand(const Half& half, uint64_t node) {
    if (half.verdict == Half::Verdict::kForeign) return true;
    const uint32_t record = half.verdict == Half::Verdict::kDecided ? half.record : kNoRecord;
    const auto [found, is_new] = operation_of_node_.try_emplace(node, record);
    return is_new || found->second == record;
  }

  // A completion is right if its node was submitted as the very operation that completed.
  void Completes() {
    for (const Half& half : completes_.halves) {
      for (const uint32_t index : half.edges) {
        const GraphEdge& edge = graph_.edges[index];
        EdgeScore& score = Of(edge);
        if (SettledByHalf(half, edge, &score)) continue;
        const auto submitted = operation_of_node_.find(edge.src);
        if (submitted == operation_of_node_.end()) {
          // Its submit is not in the graph: nobody can say that it is wrong, unless the truth says
          // that the completion belongs to an operation whose submit is.
          const bool elsewhere = submit_seen(records_[half.record].operation);
          if (elsewhere) {
            Wrong(edge, "what completed was submitted as another node", &score);
          } else {
            ++score.undecided;
          }
        } else if (submitted->second == kNoRecord) {
          ++score.undecided;
        } else if (records_[submitted->second].operation == records_[half.record].operation) {
          Right(half, &score);
        } else {
          Wrong(edge, "its node was submitted as another operation", &score);
        }
      }
    }
  }

  bool submit_seen(uint64_t operation) {
    if (seen_submits_.empty()) {
      for (const auto& [record, half] : submits_.half_of_record) {
        seen_submits_.insert(records_[record].operation);
      }
    }
    return seen_submits_.contains(operation);
  }

  void HandOvers() {
    for (const Half& half : hand_overs_.halves) {
      for (const uint32_t index : half.edges) {
        const GraphEdge& edge = graph_.edges[index];
        EdgeScore& score = Of(edge);
        if (SettledByHalf(half, edge, &score)) continue;
        const OracleRecord& record = records_[half.record];
        const auto& sources = record.value == 0 ? request_of_node_ : task_of_node_;
        const uint64_t source = record.value == 0 ? record.owner : record.value;
        const auto from = sources.find(edge.src);
        const auto to = task_of_node_.find(edge.dst);
        const bool is_right = from != sources.end() && from->second == source &&
                              to != task_of_node_.end() && to->second == record.operation;
        if (is_right) {
          Right(half, &score);
        } else {
          Wrong(edge, "one end is another life", &score);
        }
      }
    }
  }

  // An application that names the owner of an operation makes an edge from the request to it: right
  // where the operation is one of that request's. Only how it is joined is at stake, so it is no
  // true edge to be found.
  void Namings() {
    for (const GraphEdge& edge : graph_.edges) {
      if (edge.type != "submit" || edge.source != "application") continue;
      EdgeScore& score = Of(edge);
      ++score.reported;
      const auto operation = operation_of_node_.find(edge.dst);
      const auto request = request_of_node_.find(edge.src);
      if (operation == operation_of_node_.end() || request == request_of_node_.end()) {
        ++score.foreign;
      } else if (operation->second == kNoRecord) {
        ++score.undecided;
      } else {
        if (records_[operation->second].owner == request->second) {
          ++score.right;
        } else {
          Wrong(edge, "the operation is not that request's", &score);
        }
      }
    }
  }

  // What was there to be found, and what became of it.
  void Coverage() {
    for (const Matched* matched : {&submits_, &completes_, &hand_overs_}) {
      scores_.operations += matched->truths;
      scores_.outside_recording += matched->outside;
      scores_.undecided += matched->undecided;
      scores_.missing += matched->unreported;
      for (const auto& [record, index] : matched->half_of_record) {
        if (found_.contains(record)) {
          ++scores_.found;
          continue;
        }
        ++scores_.missing;
        if (!matched->halves[index - 1].orphans.empty()) ++scores_.missing_with_orphan;
      }
    }
    scores_.missing_honestly = graph_.breaks > 0 ? scores_.missing : scores_.missing_with_orphan;
    for (const OracleRecord& record : records_) {
      if (record.truth == Truth::kSubmit && record.kind == kExpectSilence) {
        ++scores_.silent_operations;
      }
    }
  }

  // What the graph says of itself.
  void Accounts() {
    for (const GraphEdge& edge : graph_.edges) {
      if (!IsScored(edge)) ++scores_.outside_domain[edge.type];
    }
    scores_.orphans = graph_.orphans.size();
    for (const GraphOrphan& orphan : graph_.orphans) ++scores_.orphans_by_reason[orphan.reason];
    if (const auto found = scores_.orphans_by_reason.find("unexplained");
        found != scores_.orphans_by_reason.end()) {
      scores_.unexplained = found->second;
    }
    scores_.breaks = graph_.breaks;
    const auto number = [this](const char* name) {
      const auto found = graph_.summary.find(name);
      return found == graph_.summary.end() ? uint64_t{0} : found->second;
    };
    scores_.half_edges = number("half_edges");
    scores_.adds_up = graph_.has_summary && number("orphans") == scores_.orphans &&
                      number("half_edges") == number("joined") + number("orphans");
  }

  void Walls() {
    std::unordered_map<uint64_t, std::map<std::string, uint64_t>> states;
    for (const GraphState& state : graph_.states) {
      states[state.request][state.state] += state.to_ns - state.from_ns;
    }
    for (const OracleRecord& record : records_) {
      if (record.truth == Truth::kRequestEnd) ++scores_.requests;
    }
    for (const auto& [node_id, request] : request_of_node_) {
      const Lives::Life* life = requests_.Of(request);
      const GraphNode& node = *graph_.Find(node_id);
      if (life == nullptr || life->end_after_ns == 0 || !node.end_seen) continue;
      ++scores_.requests_matched;
      const uint64_t wall_ns = node.died_ns - node.born_ns;
      const uint64_t longest_ns = life->end_after_ns - life->begin_before_ns;
      const uint64_t shortest_ns = life->end_before_ns - life->begin_after_ns;
      const bool is_off =
          wall_ns > longest_ns + longest_ns / 100 || wall_ns + shortest_ns / 100 < shortest_ns;
      if (is_off) ++scores_.requests_off;
      scores_.wall_ns += wall_ns;
      uint64_t sum_ns = 0;
      for (const auto& [state, time_ns] : states[node_id]) {
        sum_ns += time_ns;
        scores_.state_ns[state] += time_ns;
      }
      if (sum_ns != wall_ns) ++scores_.states_not_adding;
    }
  }

  const std::vector<OracleRecord>& records_;
  const Graph& graph_;
  Window window_;
  Lives requests_, tasks_;
  Matched submits_, completes_, hand_overs_;
  std::unordered_map<uint64_t, uint32_t> operation_of_node_;
  std::unordered_map<uint64_t, uint64_t> request_of_node_, task_of_node_;
  std::unordered_set<uint32_t> found_;
  std::unordered_set<uint64_t> seen_submits_;
  Scores scores_;
};

}  // namespace

uint64_t Scores::WrongJoins() const {
  uint64_t wrong = 0;
  for (const auto& [confidence, score] : edges) wrong += score.wrong;
  return wrong;
}

double Scores::Precision(const std::string& confidence) const {
  const auto score = edges.find(confidence);
  if (score == edges.end()) return 1;
  const uint64_t judged = score->second.right + score->second.wrong;
  if (judged == 0) return 1;
  return static_cast<double>(score->second.right) / static_cast<double>(judged);
}

double Scores::Recall() const {
  const uint64_t judged = found + missing;
  return judged == 0 ? 0 : static_cast<double>(found) / static_cast<double>(judged);
}

Scores Score(const std::vector<OracleRecord>& records, const Graph& graph) {
  return Scorer(records, graph).Run();
}

}  // namespace cprof::causality
