// `cprof flame --by request --weight wall`, and count: where the wall time of requests went, by the
// states that the walk back from each end found.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/flame_folder.h"
#include "report/number.h"
#include "report/request_ledger.h"
#include "report/wait_causes.h"

namespace cprof {
namespace {

constexpr size_t kMaxSteps = 1 << 20;  // of all requests that have not been told; 16 MB

class RequestWallFolder : public RequestSampleFolder {
 public:
  RequestWallFolder(FlameWeight weight, const StringTable& strings)
      : RequestSampleFolder(true, strings),
        count_(weight == FlameWeight::kCount),
        ledger_([this](const RequestRecord& record) { Take(record); }) {}

  void OnNode(const Node& node) override {
    RequestSampleFolder::OnNode(node);
    ledger_.OnNode(node);
    if (node.kind == NodeKind::kRequest) begins_ns_[node.id] = node.born_ns;
  }
  void OnNodeEnd(const Node& node) override {
    RequestSampleFolder::OnNodeEnd(node);
    ledger_.OnNodeEnd(node);
  }
  void OnThreadName(NodeId thread, const std::array<char, 16>& comm) override {
    RequestSampleFolder::OnThreadName(thread, comm);
    ledger_.OnThreadName(thread, comm);
  }
  void OnEdge(const Edge& edge) override {
    RequestSampleFolder::OnEdge(edge);
    ledger_.OnEdge(edge);
  }
  void OnState(const StateSpan& span) override;
  void OnCost(const Cost& cost) override { ledger_.OnCost(cost); }
  void OnRequestEnd(const RequestEnd& end) override {
    RequestSampleFolder::OnRequestEnd(end);
    begins_ns_.erase(end.request);
    ledger_.OnRequestEnd(end);
  }
  void OnFinal(uint64_t final_ns) override {
    ledger_.OnFinal(final_ns);
    // Ids count in order of first mention, so the first is the oldest but for requests told late.
    paths_.Forget(begins_ns_.empty() ? final_ns : std::min(final_ns, begins_ns_.begin()->second));
  }
  FoldTree Fold() override;
  std::string Title() const override {
    return count_ ? "Requests by what took most of their wall time" : "Wall time by request";
  }
  std::string Subtitle() const override;
  FlameUnit unit() const override { return count_ ? FlameUnit::kCount : FlameUnit::kNanoseconds; }
  std::string counted() const override { return "requests"; }

 private:
  // At what frames a request was, from from_ns on.
  struct Step {
    uint64_t from_ns = 0;
    FramesIndex frames = 0;
  };
  struct Leaf {
    FoldTree::NodeIndex node = 0;
    Confidence confidence = Confidence::kObserved;
    uint64_t amount_ns = 0;
  };
  // Running time that samples will divide: by group and frames with the thread.
  using RunningKey = std::pair<uint32_t, FramesIndex>;
  struct Running {
    uint64_t amount_ns = 0;
    uint64_t reconstructed_ns = 0;
  };

  void Take(const RequestRecord& record);
  void TakeSpan(const RequestRecord& record, const ExplainedSpan& span, FramesIndex frames);
  void Put(FoldTree::NodeIndex node, uint64_t amount_ns, Confidence confidence);
  FoldTree::NodeIndex CauseFrame(FoldTree::NodeIndex node, const WaitCause& cause,
                                 FramesIndex frames);
  FoldTree::NodeIndex RunningFrame(const RunningKey& key);
  void DivideRunning();

  const bool count_;
  FoldTree tree_;
  std::map<RunningKey, Running> running_;
  std::map<NodeId, uint64_t> begins_ns_;  // of requests that have not ended
  std::unordered_map<NodeId, std::vector<Step>> steps_;
  size_t step_count_ = 0;
  std::vector<Leaf> leaves_;  // of the request at hand, where requests are counted
  uint32_t group_ = 0;        // and its group
  uint64_t requests_ = 0;
  uint64_t wall_ns_ = 0;
  uint64_t partial_ = 0;
  RequestLedger ledger_;
};

void RequestWallFolder::OnState(const StateSpan& span) {
  ledger_.OnState(span);
  paths_.PlacesIn(span.node, span.request, span.from_ns, span.to_ns,
                  [&](FramesIndex frames, uint64_t from_ns, uint64_t) {
                    std::vector<Step>& steps = steps_[span.request];
                    if (!steps.empty() && steps.back().frames == frames) return;
                    if (step_count_ >= kMaxSteps) return;
                    ++step_count_;
                    steps.push_back({from_ns, frames});
                  });
}

void RequestWallFolder::Put(FoldTree::NodeIndex node, uint64_t amount_ns, Confidence confidence) {
  if (!count_) {
    tree_.Add(node, amount_ns, confidence);
    return;
  }
  for (Leaf& leaf : leaves_) {
    if (leaf.node != node || leaf.confidence != confidence) continue;
    leaf.amount_ns += amount_ns;
    return;
  }
  leaves_.push_back({node, confidence, amount_ns});
}

// What was waited for, who held it, and what the holder did meanwhile. Resources of one domain
// stand together; which of them it was comes last.
FoldTree::NodeIndex RequestWallFolder::CauseFrame(FoldTree::NodeIndex node, const WaitCause& cause,
                                                  FramesIndex frames) {
  const std::vector<Label>& way = paths_.Labels(frames);
  const auto labelled = [&](const Label& label) {
    node = LabelFrame(&tree_, node, label, strings_);
  };
  const auto worded = [&](FrameKind kind, std::string words, const Label& label) {
    AppendLabel(label, strings_, &words);
    node = tree_.Child(node, kind, words);
  };
  Label peer = cause.peer;
  if (peer.known && !way.empty() && way.back() == peer) peer = {};  // is there already
  // What waits to be taken up is where the request is by now.
  if (peer.known && cause.state == WallState::kQueued && peer.kind == NodeKind::kRuntimeTask) {
    labelled(std::exchange(peer, {}));
  }
  node = StateFrame(&tree_, node, cause.state);
  Label one_of;
  if (peer.known && peer.kind == NodeKind::kResource && peer.domain != 0) {
    one_of = peer;
    node = tree_.Child(node, FrameKind::kResource,
                       "resources " + std::string(strings_.Get(peer.domain)));
  } else if (peer.known && cause.state == WallState::kBlocked) {
    worded(FrameKind::kThread, "woken by ", peer);
  } else if (peer.known) {
    labelled(peer);
  }
  if (cause.holder.known && cause.holder != cause.peer) {
    const bool held = cause.state == WallState::kResource || cause.state == WallState::kLock;
    if (cause.state == WallState::kInChild) {
      labelled(cause.holder);
    } else {
      worded(FrameKind::kRequest, held ? "held by " : "by ", cause.holder);
    }
    if (cause.holder_known) {
      node = StateFrame(&tree_, node, cause.holder_state);
      if (cause.holder_peer.known) labelled(cause.holder_peer);
    }
  }
  if (one_of.known) labelled(one_of);
  return node;
}

FoldTree::NodeIndex RequestWallFolder::RunningFrame(const RunningKey& key) {
  FoldTree::NodeIndex node = GroupFrame(&tree_, groups_[key.first]);
  std::vector<Label> way = paths_.Labels(key.second);
  const bool has_thread = !way.empty() && way.back().kind == NodeKind::kThread;
  const Label thread = has_thread ? way.back() : Label{};
  if (has_thread) way.pop_back();
  for (const Label& label : way) node = LabelFrame(&tree_, node, label, strings_);
  node = StateFrame(&tree_, node, WallState::kRunning);
  return has_thread ? LabelFrame(&tree_, node, thread, strings_) : node;
}

void RequestWallFolder::TakeSpan(const RequestRecord& record, const ExplainedSpan& span,
                                 FramesIndex frames) {
  if (span.state == WallState::kRunning) {
    const Label& strand = ledger_.LabelAt(span.node_name);
    const RunningKey key{group_, strand.kind == NodeKind::kThread && strand.known
                                     ? paths_.With(frames, strand)
                                     : frames};
    if (count_) {
      Put(RunningFrame(key), span.duration_ns(), span.confidence);
      return;
    }
    Running& running = running_[key];
    running.amount_ns += span.duration_ns();
    if (span.confidence != Confidence::kObserved) running.reconstructed_ns += span.duration_ns();
    return;
  }
  const FoldTree::NodeIndex node = Unfold(&tree_, GroupFrame(&tree_, groups_[group_]), frames);
  ForEachWaitPiece(record, span, ledger_,
                   [&](const WaitCause& cause, uint64_t from_ns, uint64_t to_ns) {
                     const bool known = span.state != WallState::kUnknown;
                     Put(CauseFrame(node, cause, frames), to_ns - from_ns,
                         known ? span.confidence : Confidence::kUnknown);
                   });
}

void RequestWallFolder::Take(const RequestRecord& record) {
  std::vector<Step> steps;
  if (const auto found = steps_.find(record.node); found != steps_.end()) {
    steps = std::move(found->second);
    step_count_ -= steps.size();
    steps_.erase(found);
  }
  if (!record.whole()) {
    ++partial_;
    return;
  }
  ++requests_;
  wall_ns_ += record.wall_ns();
  group_ = GroupOf(record.label, true);
  leaves_.clear();
  // By state: what no span tells.
  std::array<uint64_t, kWallStateCount> rest_ns = record.state_ns;
  uint64_t explained_ns = 0;
  for (const uint64_t state_ns : record.state_ns) explained_ns += state_ns;
  if (explained_ns < record.wall_ns()) {
    rest_ns[static_cast<size_t>(WallState::kUnknown)] += record.wall_ns() - explained_ns;
  }
  size_t next = 0;
  FramesIndex frames = 0;
  for (const ExplainedSpan& span : record.spans) {
    rest_ns[static_cast<size_t>(span.state)] -= span.duration_ns();
    ExplainedSpan piece = span;
    while (piece.from_ns < span.to_ns) {
      while (next < steps.size() && steps[next].from_ns <= piece.from_ns) {
        frames = steps[next++].frames;
      }
      piece.to_ns = next < steps.size() ? std::min(span.to_ns, steps[next].from_ns) : span.to_ns;
      TakeSpan(record, piece, frames);
      piece.from_ns = piece.to_ns;
    }
  }
  const FoldTree::NodeIndex root = GroupFrame(&tree_, groups_[group_]);
  for (size_t state = 0; state < rest_ns.size(); ++state) {
    if (rest_ns[state] == 0) continue;
    const auto told = static_cast<WallState>(state);
    Put(StateFrame(&tree_, root, told), rest_ns[state],
        told == WallState::kUnknown ? Confidence::kUnknown : Confidence::kObserved);
  }
  if (!count_) return;
  // The first of those that took equally long. One that took no time at all is at its root.
  const auto most =
      std::max_element(leaves_.begin(), leaves_.end(),
                       [](const Leaf& a, const Leaf& b) { return a.amount_ns < b.amount_ns; });
  if (most == leaves_.end()) {
    tree_.Add(root, 1);
  } else {
    tree_.Add(most->node, 1, most->confidence);
  }
}

void RequestWallFolder::DivideRunning() {
  for (const auto& [key, running] : running_) {
    const FoldTree::NodeIndex node = RunningFrame(key);
    std::vector<uint64_t> weights;
    std::vector<FoldTree::NodeIndex> leaves;
    for (auto entry = gathered_.lower_bound({key.first, key.second, 0, Confidence::kObserved});
         entry != gathered_.end() && entry->first.group == key.first &&
         entry->first.frames == key.second;
         ++entry) {
      weights.push_back(entry->second);
      leaves.push_back(stacks_.Unfold(&tree_, node, entry->first.stack));
    }
    const std::vector<uint64_t> amounts = ScaleToTotal(weights, running.amount_ns);
    uint64_t divided_ns = 0;
    for (const uint64_t amount_ns : amounts) divided_ns += amount_ns;
    if (divided_ns == 0) {
      AddPart(&tree_, node, running.amount_ns, running.reconstructed_ns);
      continue;
    }
    const std::vector<uint64_t> doubts = ScaleToTotal(amounts, running.reconstructed_ns);
    for (size_t i = 0; i < leaves.size(); ++i) AddPart(&tree_, leaves[i], amounts[i], doubts[i]);
  }
}

FoldTree RequestWallFolder::Fold() {
  ledger_.Finish();
  DivideRunning();
  return std::move(tree_);
}

std::string RequestWallFolder::Subtitle() const {
  if (requests_ == 0) return "no request was seen from its begin to its end";
  std::string text;
  if (!count_) {
    AppendDuration(wall_ns_, &text);
    text += " of ";
  }
  AppendGrouped(requests_, &text);
  text += requests_ == 1 ? " request" : " requests";
  if (!count_ && samples_ > 0) text += ", running time divided by samples";
  if (partial_ > 0) {
    text += ", without ";
    AppendGrouped(partial_, &text);
    text += " seen only in part";
  }
  return text;
}

}  // namespace

std::unique_ptr<FlameFolder> MakeRequestWallFolder(FlameWeight weight, const StringTable& strings) {
  return std::make_unique<RequestWallFolder>(weight, strings);
}

}  // namespace cprof
