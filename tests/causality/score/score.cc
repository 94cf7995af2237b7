// Scores a graph against an oracle log: see score.h.
#include "tests/causality/score/score.h"

#include <algorithm>
#include <unordered_set>

#include "tests/causality/score/hand_over.h"
#include "tests/causality/score/honesty.h"
#include "tests/causality/score/lives.h"
#include "tests/causality/score/match.h"
#include "tests/causality/score/owner_time.h"
#include "tests/causality/score/wall_error.h"

namespace cprof::causality {
namespace {

class Scorer {
 public:
  Scorer(const std::vector<OracleRecord>& records, const Graph& graph, const ScoreOptions& options)
      : records_(records),
        graph_(graph),
        options_(options),
        domains_(records),
        input_{graph, records, options.is_whole ? Window{0, UINT64_MAX} : WindowOf(graph), domains_,
               nullptr},
        requests_(records, Truth::kRequestBegin, Truth::kRequestEnd),
        tasks_(records, Truth::kTaskBegin, Truth::kTaskEnd),
        judgement_(records, graph) {}

  // Judges with halves matched as they are in `whole`, the same recording without loss.
  Scored Run(const Scorer* whole) {
    if (whole != nullptr) Inherit(*whole);
    Judge();
    FindExcuses(input_, halves_, &judgement_);
    Scores& scores = scored_.scores;
    Edges();
    Truths();
    CountDoubts(graph_, options_.losses, judgement_, &scores);
    CountAccounts(graph_, options_.losses, &scores);
    const OwnerTruth truth{records_, graph_, input_.window, nodes_.request_of_node,
                           &scored_.wrong_owners};
    scores.threads = ScoreThreads(truth);
    scores.operations_owner = ScoreOperations(truth, nodes_.operation_of_node);
    ScoreRequests({records_, graph_, requests_, nodes_.request_of_node, input_.window}, &scores);
    SortWrongOwners();
    scored_.edges = judgement_.edges();
    scored_.truths = judgement_.truths();
    return std::move(scored_);
  }

  void Judge() {
    for (const auto& [id, node] : graph_.nodes) {
      if (node.kind == "request") nodes_.request_of_node[id] = requests_.Find(node);
      if (node.kind == "runtime_task") nodes_.task_of_node[id] = tasks_.Find(node);
    }
    for (const OracleRecord& record : records_) {
      if (record.truth == Truth::kTaskBegin) nodes_.owner_of_task[record.operation] = record.owner;
    }
    halves_.submits = Match(input_, TrueType::kSubmit, &judgement_);
    halves_.completes = Match(input_, TrueType::kComplete, &judgement_);
    const bool tells = std::any_of(records_.begin(), records_.end(), [](const auto& record) {
      return record.truth == Truth::kHandOver;
    });
    // Where the workload names no hand-over, what the graph says of queues is compared by threads.
    if (tells) halves_.hand_overs = Match(input_, TrueType::kHandOver, &judgement_);
    Submits();
    Completes();
    HandOvers();
    Namings();
    JudgeHandOvers(input_, nodes_, &judgement_);
  }

 private:
  void Inherit(const Scorer& whole) {
    memory_.Remember(TrueType::kSubmit, whole.halves_.submits);
    memory_.Remember(TrueType::kComplete, whole.halves_.completes);
    memory_.Remember(TrueType::kHandOver, whole.halves_.hand_overs);
    input_.memory = &memory_;
    input_.window = whole.input_.window;
    for (size_t i = 0; i < judgement_.truths().size(); ++i) {
      TrueEdge& truth = judgement_.truths()[i];
      const TrueEdge& before = whole.judgement_.truths()[i];
      const bool is_open = before.status == TrueEdge::Status::kFound;
      truth.status = is_open ? TrueEdge::Status::kMissing : before.status;
      if (options_.losses == nullptr) continue;
      // What was not found even without loss has no halves that could have been kept.
      truth.is_kept = false;
      if (!is_open) continue;
      const GraphEdge& edge = whole.graph_.edges[before.edge];
      truth.is_kept = !options_.losses->events.contains(edge.src_event) &&
                      !options_.losses->events.contains(edge.dst_event);
    }
  }

  // Settles an edge where its half alone decides. False: still to be judged.
  bool SettledByHalf(const Half& half, uint32_t edge) {
    switch (half.verdict) {
      case Half::Verdict::kForeign: judgement_.Set(edge, Fate::kForeign); return true;
      case Half::Verdict::kUndecided: judgement_.Set(edge, Fate::kUndecided); return true;
      case Half::Verdict::kInvented:
        judgement_.Wrong(edge, "nothing of the kind happened then");
        return true;
      case Half::Verdict::kDecided: return false;
    }
    return true;
  }

  // A submit edge is right if its thread submitted the operation, and its request node stands for
  // no other operation. It also tells which operation the node stands for.
  void Submits() {
    for (const Half& half : halves_.submits) {
      for (const uint32_t orphan : half.orphans) Stand(half, graph_.orphans[orphan].node);
      for (const uint32_t edge : half.edges) {
        const bool is_first = Stand(half, graph_.edges[edge].dst);
        if (SettledByHalf(half, edge)) continue;
        if (is_first) {
          judgement_.Right(edge, half.record);
        } else {
          judgement_.Wrong(edge, "its node stands for another submit too", half.record);
        }
      }
      if (half.verdict == Half::Verdict::kDecided) {
        submits_seen_.insert(records_[half.record].operation);
      }
    }
  }

  // node stands for the operation of this half, or for something the truth cannot name.
  bool Stand(const Half& half, uint64_t node) {
    if (half.verdict == Half::Verdict::kForeign) return true;
    const uint32_t record = half.verdict == Half::Verdict::kDecided ? half.record : kNoRecord;
    const auto [found, is_new] = nodes_.operation_of_node.try_emplace(node, record);
    return is_new || found->second == record;
  }

  // A completion is right if its node was submitted as the very operation that completed.
  void Completes() {
    for (const Half& half : halves_.completes) {
      for (const uint32_t edge : half.edges) {
        if (SettledByHalf(half, edge)) continue;
        const uint64_t operation = records_[half.record].operation;
        const auto submitted = nodes_.operation_of_node.find(graph_.edges[edge].src);
        if (submitted == nodes_.operation_of_node.end()) {
          // Its submit is not in the graph: nobody can say that it is wrong, unless the truth says
          // that the completion belongs to an operation whose submit is.
          if (submits_seen_.contains(operation)) {
            judgement_.Wrong(edge, "what completed was submitted as another node", half.record);
          } else {
            judgement_.Set(edge, Fate::kUndecided);
          }
        } else if (submitted->second == kNoRecord) {
          judgement_.Set(edge, Fate::kUndecided);
        } else if (records_[submitted->second].operation == operation) {
          judgement_.Right(edge, half.record);
        } else {
          judgement_.Wrong(edge, "its node was submitted as another operation", half.record);
        }
      }
    }
  }

  void HandOvers() {
    for (const Half& half : halves_.hand_overs) {
      for (const uint32_t index : half.edges) {
        if (SettledByHalf(half, index)) continue;
        const GraphEdge& edge = graph_.edges[index];
        const OracleRecord& record = records_[half.record];
        const auto& sources = record.value == 0 ? nodes_.request_of_node : nodes_.task_of_node;
        const uint64_t source = record.value == 0 ? record.owner : record.value;
        const auto from = sources.find(edge.src);
        const auto to = nodes_.task_of_node.find(edge.dst);
        const bool is_right = from != sources.end() && from->second == source &&
                              to != nodes_.task_of_node.end() && to->second == record.operation;
        if (is_right) {
          judgement_.Right(index, half.record);
        } else {
          judgement_.Wrong(index, "one end is another life", half.record);
        }
      }
    }
  }

  // An application that names the owner of an operation makes an edge from the request to it, or
  // from it to the request that goes on: right where the operation is one of that request's. Only
  // how it is joined is at stake, so it is no true edge to be found.
  void Namings() {
    for (uint32_t i = 0; i < graph_.edges.size(); ++i) {
      const GraphEdge& edge = graph_.edges[i];
      const bool is_resume = edge.type == "resume";
      if (edge.source != "application" || (edge.type != "submit" && !is_resume)) continue;
      const auto operation = nodes_.operation_of_node.find(is_resume ? edge.src : edge.dst);
      const auto request = nodes_.RequestBehind(is_resume ? edge.dst : edge.src);
      if (operation == nodes_.operation_of_node.end() || !request) {
        judgement_.Set(i, Fate::kForeign);
      } else if (operation->second == kNoRecord) {
        judgement_.Set(i, Fate::kUndecided);
      } else if (records_[operation->second].owner == *request) {
        judgement_.edges()[i] = {Fate::kRight, operation->second, nullptr};
      } else {
        judgement_.Wrong(i, "the operation is not that request's", operation->second);
      }
    }
  }

  void Edges() {
    Scores& scores = scored_.scores;
    for (uint32_t i = 0; i < graph_.edges.size(); ++i) {
      const GraphEdge& edge = graph_.edges[i];
      const EdgeVerdict& verdict = judgement_.edges()[i];
      if (verdict.fate == Fate::kUnjudged) {
        ++scores.outside_domain[edge.type];
        continue;
      }
      EdgeScore of_no_rule;
      for (EdgeScore* score :
           {&scores.edges[ClassOf(edge.source, edge.confidence)], &scores.edges_by_type[edge.type],
            edge.rule.empty() ? &of_no_rule : &scores.edges_by_rule[edge.rule]}) {
        ++score->reported;
        if (verdict.fate == Fate::kRight) ++score->right;
        if (verdict.fate == Fate::kWrong) ++score->wrong;
        if (verdict.fate == Fate::kDuplicate) ++score->duplicate;
        if (verdict.fate == Fate::kUndecided) ++score->undecided;
        if (verdict.fate == Fate::kForeign) ++score->foreign;
      }
    }
  }

  void Truths() {
    Scores& scores = scored_.scores;
    const Capability* table = options_.capability;
    if (table != nullptr) {
      scores.has_adapter = table->HasAdapter(options_.mechanism, options_.fault);
      for (TrueEdge& truth : judgement_.truths()) {
        // Completions that carry nothing that names their operation are a type of their own.
        const bool is_unnamed = truth.type == TrueType::kComplete && truth.needs_rule;
        truth.is_visible = table->Of(options_.mechanism, options_.fault,
                                     is_unnamed ? "multishot" : TrueTypeName(truth.type)) ==
                           Capability::Sight::kYes;
      }
    }
    for (const TrueEdge& truth : judgement_.truths()) {
      TruthScore& score = scores.truths[std::string(TrueTypeName(truth.type))];
      if (truth.status == TrueEdge::Status::kOutside) {
        ++score.outside;
        continue;
      }
      ++score.inside;
      if (truth.status == TrueEdge::Status::kUndecided) {
        ++score.undecided;
        continue;
      }
      const bool is_found = truth.status == TrueEdge::Status::kFound;
      if (is_found) {
        ++score.found;
      } else {
        ++score.missing;
        if (truth.has_orphan) ++score.with_orphan;
        if (truth.has_break) ++score.with_break;
        if (truth.has_orphan || truth.has_break || !truth.is_visible) ++score.shown;
      }
      if (!truth.is_visible) continue;
      ++score.visible;
      if (is_found) ++score.visible_found;
      if (!truth.is_kept) continue;
      ++score.kept;
      if (is_found) ++score.kept_found;
    }
    for (const OracleRecord& record : records_) {
      if (record.truth == Truth::kSubmit && record.kind == kExpectSilence) {
        ++scores.silent_operations;
      }
    }
  }

  void SortWrongOwners() {
    auto& list = scored_.wrong_owners;
    std::stable_sort(list.begin(), list.end(), [](const auto& left, const auto& right) {
      return left.to_ns - left.from_ns > right.to_ns - right.from_ns;
    });
  }

  const std::vector<OracleRecord>& records_;
  const Graph& graph_;
  const ScoreOptions& options_;
  const Domains domains_;
  HalfMemory memory_;
  MatchInput input_;
  const Lives requests_, tasks_;
  Judgement judgement_;
  MatchedHalves halves_;
  NodeTruth nodes_;
  std::unordered_set<uint64_t> submits_seen_;
  Scored scored_;
};

}  // namespace

Scored ScoreGraph(const std::vector<OracleRecord>& records, const Graph& graph,
                  const ScoreOptions& options) {
  Scorer scorer(records, graph, options);
  if (options.lossless == nullptr) return scorer.Run(nullptr);
  Scorer whole(records, *options.lossless, options);
  whole.Judge();
  return scorer.Run(&whole);
}

Scores Score(const std::vector<OracleRecord>& records, const Graph& graph,
             const ScoreOptions& options) {
  return ScoreGraph(records, graph, options).scores;
}

}  // namespace cprof::causality
