// `cprof flame --by request --weight cpu`: samples under causal frames, scaled to exact CPU time.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/flame_folder.h"
#include "report/number.h"
#include "report/thread_clock.h"

namespace cprof {
namespace {

class RequestCpuFolder : public RequestSampleFolder {
 public:
  explicit RequestCpuFolder(const StringTable& strings) : RequestSampleFolder(false, strings) {}

  void OnNode(const Node& node) override {
    RequestSampleFolder::OnNode(node);
    if (node.kind == NodeKind::kThread) clocks_[node.id] = ThreadClock::Begin(node.birth_seen);
  }
  void OnNodeEnd(const Node& node) override {
    RequestSampleFolder::OnNodeEnd(node);
    if (node.kind == NodeKind::kThread) clocks_.erase(node.id);
  }
  void OnThreadRuntime(NodeId thread, uint64_t, uint64_t runtime_ns) override {
    const auto found = clocks_.find(thread);
    if (found == clocks_.end()) return;
    thread_cpu_ns_ += found->second.Advance(runtime_ns);
    has_thread_cpu_ = true;
  }
  // Comes just before the end of its request.
  void OnCost(const Cost& cost) override {
    if (std::string_view(cost.kind) == "cpu_ns") cost_ = cost;
  }
  FoldTree Fold() override;
  std::string Title() const override { return "CPU time by request"; }
  std::string Subtitle() const override {
    if (total_ns_ == 0) return "nothing ran";
    std::string text;
    AppendDuration(total_ns_, &text);
    text += " of CPU time, " + SampleCount();
    if (has_thread_cpu_) text += ", scaled to the scheduler's account";
    return text;
  }

 private:
  void OnSettled(uint32_t index, const RequestEnd& end) override {
    if (cost_.request != end.request) return;
    Group& group = groups_[index];
    group.exact_ns += cost_.value;
    group.certain_ns += std::min(cost_.low, cost_.value);
    group.has_exact = true;
  }

  std::unordered_map<NodeId, ThreadClock> clocks_;
  Cost cost_;
  uint64_t thread_cpu_ns_ = 0;
  bool has_thread_cpu_ = false;
  uint64_t total_ns_ = 0;
};

FoldTree RequestCpuFolder::Fold() {
  FoldTree tree;
  // What the scheduler accounted to nobody is all threads less all requests.
  if (has_thread_cpu_) {
    uint64_t owned_ns = 0;
    for (const Group& group : groups_) owned_ns += group.exact_ns;
    Group& nobody = groups_[kNobody];
    nobody.exact_ns = thread_cpu_ns_ > owned_ns ? thread_cpu_ns_ - owned_ns : 0;
    nobody.certain_ns = nobody.exact_ns;
    nobody.has_exact = true;
  }
  auto entry = gathered_.begin();
  for (uint32_t index = 0; index < groups_.size(); ++index) {
    Group& group = groups_[index];
    const auto begin = entry;
    std::vector<uint64_t> weights;
    uint64_t sum_ns = 0;
    for (; entry != gathered_.end() && entry->first.group == index; ++entry) {
      weights.push_back(entry->second);
      sum_ns += entry->second;
    }
    if (!group.has_exact) group.exact_ns = group.certain_ns = sum_ns;
    total_ns_ += group.exact_ns;
    if (group.exact_ns == 0) continue;
    const FoldTree::NodeIndex root = GroupFrame(&tree, group);
    const uint64_t doubtful_ns = group.exact_ns - group.certain_ns;
    if (sum_ns == 0) {
      AddPart(&tree, tree.Child(root, FrameKind::kNotSampled, "[not sampled]"), group.exact_ns,
              doubtful_ns);
      continue;
    }
    const std::vector<uint64_t> amounts = ScaleToTotal(weights, group.exact_ns);
    const std::vector<uint64_t> doubts = ScaleToTotal(amounts, doubtful_ns);
    size_t i = 0;
    for (auto piece = begin; piece != entry; ++piece, ++i) {
      const SampleKey& key = piece->first;
      const FoldTree::NodeIndex node =
          stacks_.Unfold(&tree, Unfold(&tree, root, key.frames), key.stack);
      AddPart(&tree, node, amounts[i],
              key.confidence == Confidence::kObserved ? doubts[i] : amounts[i]);
    }
  }
  return tree;
}

}  // namespace

std::unique_ptr<FlameFolder> MakeRequestCpuFolder(const StringTable& strings) {
  return std::make_unique<RequestCpuFolder>(strings);
}

}  // namespace cprof
