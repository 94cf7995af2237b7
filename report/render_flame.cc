// Folds samples under causal frames, then scales them to exact CPU time.
//
// While reading, samples gather by (group, causal frames, raw stack). A group is a kind of request,
// or none. Names are looked up once at the end, a stack at a time, and each group's weights are
// scaled so that they add up to the CPU time that the scheduler accounted to it.
#include "report/render_flame.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/escape.h"
#include "report/fold.h"
#include "report/node_table.h"
#include "report/number.h"
#include "report/symbols.h"
#include "report/thread_clock.h"

namespace cprof {
namespace {

constexpr size_t kMaxStacks = 1 << 19;   // told apart; further ones are "[other stacks]"
constexpr size_t kMaxGroups = 1 << 12;   // kinds of request; further ones share a group
constexpr size_t kMaxCausalFrames = 32;  // between a request and its thread
constexpr uint32_t kOtherStack = ~uint32_t{0};

struct RawStack {
  uint32_t tgid = 0;
  uint32_t epoch = 0;
  std::vector<uint64_t> user;  // leaf first
  std::vector<uint64_t> kernel;
  bool operator==(const RawStack&) const = default;
};

struct RawStackHash {
  size_t operator()(const RawStack& stack) const noexcept {
    uint64_t hash = stack.tgid | uint64_t{stack.epoch} << 32;
    for (const auto* frames : {&stack.user, &stack.kernel}) {
      hash = (hash ^ frames->size()) * 0x9e3779b97f4a7c15ULL;
      for (const uint64_t frame : *frames) {
        hash = (hash ^ (hash >> 29) ^ frame) * 0xbf58476d1ce4e5b9ULL;
      }
    }
    return hash;
  }
};

// Whose work a node is: the request at its root and the labels between.
struct CausalPath {
  NodeId request = 0;
  std::vector<Label> frames;  // of the node itself too, but not the request
};

// What of a thread decides where its samples go.
struct ThreadWork {
  Label label;
  ThreadClock clock;
  NodeId bound = 0;       // innermost open binding; 0: none
  uint64_t bound_ns = 0;  // since
  NodeId inherited = 0;   // the request whose work it was spawned for, until bound otherwise
};

class Flame : public FlameFolder {
 public:
  explicit Flame(const StringTable& strings) : strings_(strings) {}

  void OnHeader(const SessionHeader& header) override {
    symbolizer_.SetRecordingTime(header.wall_t0_ns);
  }
  void OnMappings(std::span<const Mapping> mappings) override { symbolizer_.AddMappings(mappings); }
  void OnKernelSymbols(std::span<const KernelSymbol> symbols) override {
    symbolizer_.AddKernelSymbols(symbols);
  }
  void OnNode(const Node& node) override;
  void OnNodeEnd(const Node& node) override;
  void OnThreadName(NodeId thread, const std::array<char, 16>& comm) override {
    const auto found = threads_.find(thread);
    if (found != threads_.end()) found->second.label.comm = comm;
  }
  void OnEdge(const Edge& edge) override;
  void OnBindingStack(NodeId thread, uint64_t time_ns, std::span<const OpenBinding> stack) override;
  void OnThreadRuntime(NodeId thread, uint64_t time_ns, uint64_t runtime_ns) override;
  void OnCost(const Cost& cost) override;
  void OnRequestEnd(const RequestEnd& end) override { kinds_.erase(end.request); }
  void OnSample(NodeId node, NodeId thread, const StackSample& sample) override;
  FoldTree Fold() override;
  std::string Title() const override { return "CPU time by request"; }
  std::string Subtitle() const override;

 private:
  struct Group {
    Label request;  // not known: no request
    uint64_t exact_ns = 0;
    bool has_exact = false;
  };
  // group, causal frames, stack -> weight; an ordered map, so that the output is one too.
  using Gathered = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t>;

  uint32_t GroupOf(const Label& request);
  uint32_t FramesOf(const std::vector<Label>& frames);
  uint32_t StackOf(const StackSample& sample);
  void Scale(FoldTree* tree);
  void AddStack(FoldTree* tree, FoldTree::NodeIndex node, uint32_t stack, uint64_t weight_ns);
  FoldTree::NodeIndex GroupNode(FoldTree* tree, const Group& group) const;

  const StringTable& strings_;
  Symbolizer symbolizer_;
  std::unordered_map<NodeId, ThreadWork> threads_;
  std::unordered_map<NodeId, CausalPath> paths_;  // of live requests and tasks
  std::unordered_map<NodeId, Label> kinds_;       // of requests whose cost is still to come
  std::vector<Group> groups_;
  std::unordered_map<Label, uint32_t, LabelHash> group_index_;
  std::vector<std::vector<Label>> frames_;
  std::map<std::vector<Label>, uint32_t> frames_index_;
  std::vector<RawStack> stacks_;
  std::unordered_map<RawStack, uint32_t, RawStackHash> stack_index_;
  Gathered gathered_;
  uint64_t samples_ = 0;
  uint64_t thread_cpu_ns_ = 0;
  bool has_thread_cpu_ = false;
  uint64_t total_ns_ = 0;
};

void Flame::OnNode(const Node& node) {
  switch (node.kind) {
    case NodeKind::kThread:
      threads_[node.id] = {LabelOf(node), ThreadClock::Begin(node.birth_seen), 0, 0, 0};
      return;
    case NodeKind::kRequest:
      paths_[node.id] = {node.id, {}};
      kinds_[node.id] = LabelOf(node);
      return;
    case NodeKind::kRuntimeTask: paths_[node.id] = {0, {LabelOf(node)}}; return;
    default: return;
  }
}

void Flame::OnNodeEnd(const Node& node) {
  if (node.kind == NodeKind::kThread) {
    threads_.erase(node.id);
  } else {
    paths_.erase(node.id);
  }
}

void Flame::OnEdge(const Edge& edge) {
  if (edge.type != EdgeType::kSpawn && edge.type != EdgeType::kSubmit &&
      edge.type != EdgeType::kQueue) {
    return;
  }
  const auto source = paths_.find(edge.src);
  // A task belongs under what spawned or queued it, as the program told. Coming back to a label
  // that is already on the way folds to it.
  if (const auto task = paths_.find(edge.dst); task != paths_.end() && source != paths_.end()) {
    if (task->second.request != 0 || task->first == source->first) return;
    const Label own = task->second.frames.empty() ? Label{} : task->second.frames.back();
    if (!own.known) return;  // a request is its own root
    CausalPath path = source->second;
    const auto again = std::find(path.frames.begin(), path.frames.end(), own);
    path.frames.erase(again, path.frames.end());
    if (path.frames.size() < kMaxCausalFrames) path.frames.push_back(own);
    task->second = std::move(path);
    return;
  }
  // A thread works for the request that its parent worked for, unless the kernel made it for
  // itself.
  const auto child = threads_.find(edge.dst);
  const auto parent = threads_.find(edge.src_thread);
  if (edge.type != EdgeType::kSpawn || edge.rule != nullptr || child == threads_.end() ||
      parent == threads_.end() || edge.confidence != Confidence::kObserved) {
    return;
  }
  const ThreadWork& work = parent->second;
  const NodeId node = work.bound != 0 && work.bound_ns <= edge.src_time_ns ? work.bound
                      : work.bound == 0                                    ? work.inherited
                                                                           : 0;
  const auto path = paths_.find(node);
  if (path != paths_.end() && child->second.bound == 0) {
    child->second.inherited = path->second.request;
  }
}

void Flame::OnBindingStack(NodeId thread, uint64_t time_ns, std::span<const OpenBinding> stack) {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return;
  ThreadWork& work = found->second;
  const bool sure = !stack.empty() && stack.back().confidence != Confidence::kUnknown;
  work.bound = sure ? stack.back().node : 0;
  work.bound_ns = time_ns;
  work.inherited = 0;
}

void Flame::OnThreadRuntime(NodeId thread, uint64_t, uint64_t runtime_ns) {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return;
  thread_cpu_ns_ += found->second.clock.Advance(runtime_ns);
  has_thread_cpu_ = true;
}

void Flame::OnCost(const Cost& cost) {
  if (std::string_view(cost.kind) != "cpu_ns") return;
  const auto found = kinds_.find(cost.request);
  if (found == kinds_.end()) return;
  Group& group = groups_[GroupOf(found->second)];
  group.exact_ns += cost.value;
  group.has_exact = true;
}

uint32_t Flame::GroupOf(const Label& request) {
  const auto found = group_index_.find(request);
  if (found != group_index_.end()) return found->second;
  if (groups_.size() >= kMaxGroups) return kMaxGroups - 1;
  const auto index = static_cast<uint32_t>(groups_.size());
  groups_.push_back({request, 0, false});
  group_index_.emplace(request, index);
  return index;
}

uint32_t Flame::FramesOf(const std::vector<Label>& frames) {
  const auto [entry, added] =
      frames_index_.try_emplace(frames, static_cast<uint32_t>(frames_.size()));
  if (added) frames_.push_back(frames);
  return entry->second;
}

uint32_t Flame::StackOf(const StackSample& sample) {
  RawStack stack{sample.event.tgid, symbolizer_.EpochOf(sample.event.tgid), sample.user_frames,
                 sample.kernel_frames};
  const auto found = stack_index_.find(stack);
  if (found != stack_index_.end()) return found->second;
  if (stacks_.size() >= kMaxStacks) return kOtherStack;
  const auto index = static_cast<uint32_t>(stacks_.size());
  stacks_.push_back(stack);
  stack_index_.emplace(std::move(stack), index);
  return index;
}

void Flame::OnSample(NodeId node, NodeId thread, const StackSample& sample) {
  ++samples_;
  NodeId request = 0;
  std::vector<Label> frames;
  const auto work = threads_.find(thread);
  // The node that the pass names, where it names more than the thread.
  NodeId working_for = node != thread ? node : 0;
  if (working_for == 0 && work != threads_.end()) {
    working_for = work->second.bound != 0 ? work->second.bound : work->second.inherited;
  }
  if (const auto path = paths_.find(working_for); path != paths_.end()) {
    // A task may outlive its request; then its time is nobody's.
    if (paths_.contains(path->second.request)) request = path->second.request;
    frames = path->second.frames;
  }
  if (work != threads_.end()) frames.push_back(work->second.label);
  const auto kind = kinds_.find(request);
  const Label label = kind == kinds_.end() ? Label{} : kind->second;
  const double p = sample.probability;
  const double weight = static_cast<double>(sample.event.arg) / (p > 1e-6 && p <= 1 ? p : 1.0);
  const uint64_t weight_ns = weight < 1e18 ? static_cast<uint64_t>(weight) : 0;
  gathered_[{GroupOf(label), FramesOf(frames), StackOf(sample)}] += weight_ns;
}

FoldTree::NodeIndex Flame::GroupNode(FoldTree* tree, const Group& group) const {
  std::string name = "[no request]";
  if (group.request.known) {
    name.clear();
    AppendLabel(group.request, strings_, &name);
  }
  return tree->Child(FoldTree::kRoot, FrameKind::kRequest, name);
}

void Flame::AddStack(FoldTree* tree, FoldTree::NodeIndex node, uint32_t stack, uint64_t weight_ns) {
  if (stack == kOtherStack) {
    tree->Add(tree->Child(node, FrameKind::kUser, "[other stacks]"), weight_ns);
    return;
  }
  const RawStack& raw = stacks_[stack];
  // The leaf of either part is where it was interrupted or entered the kernel, the rest return
  // addresses.
  for (size_t i = raw.user.size(); i-- > 0;) {
    node = tree->Child(node, FrameKind::kUser,
                       symbolizer_.UserFrame(raw.tgid, raw.epoch, raw.user[i], i > 0));
  }
  for (size_t i = raw.kernel.size(); i-- > 0;) {
    node = tree->Child(node, FrameKind::kKernel, symbolizer_.KernelFrame(raw.kernel[i], i > 0));
  }
  tree->Add(node, weight_ns);
}

void Flame::Scale(FoldTree* tree) {
  // What the scheduler accounted to nobody is all threads less all requests.
  if (has_thread_cpu_) {
    uint64_t owned_ns = 0;
    for (const Group& group : groups_) owned_ns += group.exact_ns;
    Group& nobody = groups_[GroupOf(Label{})];
    if (!nobody.request.known) {
      nobody.exact_ns = thread_cpu_ns_ > owned_ns ? thread_cpu_ns_ - owned_ns : 0;
      nobody.has_exact = true;
    }
  }
  auto entry = gathered_.begin();
  for (uint32_t index = 0; index < groups_.size(); ++index) {
    const Group& group = groups_[index];
    const auto begin = entry;
    std::vector<uint64_t> weights;
    uint64_t sum_ns = 0;
    for (; entry != gathered_.end() && std::get<0>(entry->first) == index; ++entry) {
      weights.push_back(entry->second);
      sum_ns += entry->second;
    }
    const FoldTree::NodeIndex root = GroupNode(tree, group);
    if (sum_ns == 0) {
      if (group.exact_ns == 0) continue;
      tree->Add(tree->Child(root, FrameKind::kNotSampled, "[not sampled]"), group.exact_ns);
      continue;
    }
    const std::vector<uint64_t> scaled =
        ScaleToTotal(weights, group.has_exact ? group.exact_ns : sum_ns);
    size_t i = 0;
    for (auto piece = begin; piece != entry; ++piece, ++i) {
      if (scaled[i] == 0) continue;
      FoldTree::NodeIndex node = root;
      for (const Label& label : frames_[std::get<1>(piece->first)]) {
        std::string name;
        AppendLabel(label, strings_, &name);
        node = tree->Child(
            node, label.kind == NodeKind::kThread ? FrameKind::kThread : FrameKind::kTask, name);
      }
      AddStack(tree, node, std::get<2>(piece->first), scaled[i]);
    }
  }
}

FoldTree Flame::Fold() {
  FoldTree tree;
  Scale(&tree);
  total_ns_ = tree.Totals()[FoldTree::kRoot].amount;
  return tree;
}

std::string Flame::Subtitle() const {
  if (total_ns_ == 0) return "nothing ran";
  std::string subtitle;
  AppendDuration(total_ns_, &subtitle);
  subtitle += " of CPU time, ";
  AppendGrouped(samples_, &subtitle);
  subtitle += samples_ == 1 ? " sample" : " samples";
  if (has_thread_cpu_) subtitle += ", scaled to the scheduler's account";
  return subtitle;
}

}  // namespace

bool IsFlameFold(const FlameFoldOptions& options) {
  return options.by == FlameBy::kRequest && options.weight == FlameWeight::kCpu;
}

std::unique_ptr<FlameFolder> MakeFlameFolder(const FlameFoldOptions& /*options*/,
                                             const StringTable& strings) {
  return std::make_unique<Flame>(strings);
}

void WriteFolded(const FoldTree& tree, TextOutput& out) {
  const auto& nodes = tree.nodes();
  std::vector<std::string> lines;
  for (FoldTree::NodeIndex i = 0; i < nodes.size(); ++i) {
    if (nodes[i].self.amount == 0) continue;
    std::vector<FoldTree::NodeIndex> stack;
    for (FoldTree::NodeIndex node = i; node != FoldTree::kRoot; node = nodes[node].parent) {
      stack.push_back(node);
    }
    std::string line;
    for (size_t frame = stack.size(); frame-- > 0;) {
      const FoldTree::Node& node = nodes[stack[frame]];
      if (!line.empty()) line += ';';
      AppendFoldedFrame(node.name, &line);
      if (node.kind == FrameKind::kKernel) line += "_[k]";
    }
    line += ' ';
    AppendUnsigned(nodes[i].self.amount, &line);
    line += '\n';
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) {
    out.text() += line;
    out.Drain();
  }
}

void WriteFlame(const FlameOptions& options, FlameFolder& folder, TextOutput& out) {
  const FoldTree tree = folder.Fold();
  if (options.folded) {
    WriteFolded(tree, out);
    return;
  }
  FlameSvgOptions svg = options.svg;
  if (svg.title.empty()) svg.title = folder.Title();
  svg.subtitle = folder.Subtitle();
  WriteFlameSvg(tree, svg, out);
}

}  // namespace cprof
