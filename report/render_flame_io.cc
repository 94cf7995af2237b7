// `cprof flame --by io_request`: io_uring requests by operation and by whose they are.
#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include "report/flame_folder.h"
#include "report/number.h"

namespace cprof {
namespace {

// An owner may be told once its request ends; one that comes later than this is not known.
constexpr uint64_t kOwnerDelayNs = 1'000'000'000;
constexpr size_t kMaxWaiting = 1 << 20;  // ended ones whose owner may still come

class IoFolder : public FlameFolder {
 public:
  IoFolder(FlameWeight weight, const StringTable& strings)
      : count_(weight == FlameWeight::kCount), strings_(strings) {}

  void OnNode(const Node& node) override {
    if (node.kind == NodeKind::kRequest) requests_[node.id] = {LabelOf(node), 0};
    if (node.kind == NodeKind::kIoRequest) ios_[node.id] = {};
  }
  void OnNodeEnd(const Node& node) override;
  void OnOwner(const Owner& owner) override;
  void OnFinal(uint64_t final_ns) override {
    Settle(final_ns > kOwnerDelayNs ? final_ns - kOwnerDelayNs : 0);
  }
  FoldTree Fold() override {
    while (!ended_.empty()) SettleFirst();
    return std::move(tree_);
  }
  std::string Title() const override {
    return count_ ? "io_uring requests by operation" : "Time of io_uring requests by operation";
  }
  std::string Subtitle() const override {
    std::string text;
    if (!count_) {
      AppendDuration(total_, &text);
      text += " from submit to completion of ";
    }
    AppendGrouped(told_, &text);
    return text + (told_ == 1 ? " request" : " requests");
  }
  FlameUnit unit() const override { return count_ ? FlameUnit::kCount : FlameUnit::kNanoseconds; }
  std::string counted() const override { return "requests"; }

 private:
  struct Io {
    Label label;
    Label owner;
    bool shared = false;
    Confidence confidence = Confidence::kObserved;
    uint64_t duration_ns = 0;
    bool whole = false;             // submit and completion were both seen
    const char* outcome = nullptr;  // where it is not the usual one
  };
  struct Request {
    Label label;
    uint64_t died_ns = 0;  // 0: it lives
  };

  void Settle(uint64_t time_ns);
  void SettleFirst();
  void Put(const Io& io);

  const bool count_;
  const StringTable& strings_;
  FoldTree tree_;
  std::unordered_map<NodeId, Request> requests_;
  std::unordered_map<NodeId, Io> ios_;
  std::deque<std::pair<uint64_t, NodeId>> ended_;  // of both
  uint64_t told_ = 0;
  uint64_t total_ = 0;
};

void IoFolder::OnNodeEnd(const Node& node) {
  if (node.kind == NodeKind::kRequest) {
    ended_.emplace_back(node.died_ns, node.id);
    return;
  }
  const auto found = ios_.find(node.id);
  if (found == ios_.end()) return;
  Io& io = found->second;
  io.label = LabelOf(node);
  io.whole = node.end == NodeEnd::kObserved && node.birth_seen;
  io.duration_ns = io.whole ? node.died_ns - node.born_ns : 0;
  if (node.attributes.has_result && node.attributes.result < 0) {
    io.outcome = "failed";
  } else if (node.end == NodeEnd::kOpen) {
    io.outcome = "open at the end";
  } else if (node.end != NodeEnd::kObserved) {
    io.outcome = "without a completion";
  }
  ended_.emplace_back(node.died_ns, node.id);
}

void IoFolder::OnOwner(const Owner& owner) {
  const auto found = ios_.find(owner.node);
  if (found == ios_.end() || owner.requests.empty() || found->second.owner.known) return;
  const auto request = requests_.find(owner.requests.front());
  if (request == requests_.end()) return;
  found->second.owner = request->second.label;
  found->second.shared = owner.requests.size() > 1;
  found->second.confidence = owner.confidence;
}

void IoFolder::Settle(uint64_t time_ns) {
  while (!ended_.empty() && (ended_.front().first < time_ns || ended_.size() > kMaxWaiting)) {
    SettleFirst();
  }
}

void IoFolder::SettleFirst() {
  const NodeId node = ended_.front().second;
  ended_.pop_front();
  const auto io = ios_.find(node);
  if (io == ios_.end()) {
    requests_.erase(node);
    return;
  }
  Put(io->second);
  ios_.erase(io);
}

void IoFolder::Put(const Io& io) {
  if (!count_ && !io.whole) return;
  ++told_;
  FoldTree::NodeIndex node = LabelFrame(&tree_, FoldTree::kRoot, io.label, strings_);
  if (io.shared) {
    node = tree_.Child(node, FrameKind::kRequest, "[several requests]");
  } else if (io.owner.known) {
    node = LabelFrame(&tree_, node, io.owner, strings_);
  } else {
    node = tree_.Child(node, FrameKind::kUnknown, "[owner not known]");
  }
  if (io.outcome != nullptr) node = tree_.Child(node, FrameKind::kWaiting, io.outcome);
  const uint64_t amount = count_ ? 1 : io.duration_ns;
  total_ += amount;
  tree_.Add(node, amount, io.owner.known ? io.confidence : Confidence::kUnknown);
}

}  // namespace

std::unique_ptr<FlameFolder> MakeIoFolder(FlameWeight weight, const StringTable& strings) {
  return std::make_unique<IoFolder>(weight, strings);
}

}  // namespace cprof
