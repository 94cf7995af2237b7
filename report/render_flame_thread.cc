// `cprof flame --by thread`: what threads did, by name: CPU time under stacks, or all their time by
// state and what they waited on.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/flame_folder.h"
#include "report/node_table.h"
#include "report/number.h"
#include "report/thread_clock.h"

namespace cprof {
namespace {

constexpr uint32_t kMaxThreads = 1 << 16;  // told apart; further ones are "[other threads]"

std::string_view WaitName(ThreadSlice::Wait wait) {
  switch (wait) {
    case ThreadSlice::Wait::kFutex: return "futex";
    case ThreadSlice::Wait::kEventfd: return "eventfd";
    case ThreadSlice::Wait::kEpoll: return "epoll";
    case ThreadSlice::Wait::kIoUring: return "io_uring";
    case ThreadSlice::Wait::kNone: break;
  }
  return "";
}

// What a thread did, but for stacks. Equal ones fold.
struct ThreadDoing {
  ThreadState state = ThreadState::kUnknown;
  ThreadSlice::Wait wait = ThreadSlice::Wait::kNone;
  Label waker;
  Confidence confidence = Confidence::kObserved;
  friend auto operator<=>(const ThreadDoing&, const ThreadDoing&) = default;
};

class ThreadFolder : public SampleFolder {
 public:
  ThreadFolder(FlameWeight weight, const StringTable& strings)
      : SampleFolder(false, strings), weight_(weight) {}

  void OnNode(const Node& node) override;
  void OnNodeEnd(const Node& node) override;
  void OnThreadName(NodeId thread, const std::array<char, 16>& comm) override {
    SampleFolder::OnThreadName(thread, comm);
    nodes_.Rename(thread, comm);
    if (Thread* told = Find(thread)) told->label.comm = comm;
  }
  void OnThreadSlice(const ThreadSlice& slice) override;
  void OnThreadRuntime(NodeId thread, uint64_t, uint64_t runtime_ns) override {
    Thread* told = Find(thread);
    if (told == nullptr) return;
    told->has_cpu = told->has_cpu || told->clock.known;
    told->cpu_ns += told->clock.Advance(runtime_ns);
  }
  void OnSample(NodeId node, NodeId thread, const StackSample& sample) override;
  void OnFinal(uint64_t final_ns) override { nodes_.Forget(final_ns); }
  FoldTree Fold() override;
  std::string Title() const override {
    switch (weight_) {
      case FlameWeight::kCpu: return "CPU time by thread";
      case FlameWeight::kWall: return "Time of threads by what they did";
      case FlameWeight::kCount: return "Threads by what they did most of the time";
    }
    return "";
  }
  std::string Subtitle() const override {
    std::string text;
    if (weight_ != FlameWeight::kCount) {
      AppendDuration(total_, &text);
      text += weight_ == FlameWeight::kCpu ? " of CPU time of " : " of ";
    }
    AppendGrouped(threads_.size(), &text);
    text += threads_.size() == 1 ? " thread" : " threads";
    if (samples_ > 0 && weight_ != FlameWeight::kCount) text += ", " + SampleCount();
    return text;
  }
  FlameUnit unit() const override {
    return weight_ == FlameWeight::kCount ? FlameUnit::kCount : FlameUnit::kNanoseconds;
  }
  std::string counted() const override { return "threads"; }

 private:
  struct Thread {
    Label label;
    ThreadClock clock;
    bool has_cpu = false;
    uint64_t cpu_ns = 0;
    uint64_t running_ns = 0;
    std::map<ThreadDoing, uint64_t> doing_ns;
  };

  Thread* Find(NodeId thread) {
    const auto found = index_.find(thread);
    return found == index_.end() ? nullptr : &threads_[found->second];
  }
  FoldTree::NodeIndex DoingFrame(FoldTree::NodeIndex root, const ThreadDoing& doing);
  void FoldSamples(FoldTree::NodeIndex node, uint32_t thread, uint64_t amount_ns, bool exact);
  void FoldWall(FoldTree::NodeIndex root, uint32_t thread);
  void FoldCount(FoldTree::NodeIndex root, const Thread& thread);

  const FlameWeight weight_;
  FoldTree tree_;
  NodeTable nodes_;                             // for who woke
  std::vector<Thread> threads_;                 // in order of first mention
  std::unordered_map<NodeId, uint32_t> index_;  // in threads_
  std::unordered_map<NodeId, Label> requests_;  // live ones
  GatheredSamples gathered_;                    // group: in threads_
  uint64_t total_ = 0;
};

void ThreadFolder::OnNode(const Node& node) {
  SampleFolder::OnNode(node);
  if (node.kind == NodeKind::kRequest) requests_[node.id] = LabelOf(node);
  if (node.kind != NodeKind::kThread && node.kind != NodeKind::kInterrupt) return;
  nodes_.Add(node);
  if (node.kind != NodeKind::kThread) return;
  if (threads_.size() < kMaxThreads) {
    index_[node.id] = static_cast<uint32_t>(threads_.size());
    threads_.push_back({LabelOf(node), ThreadClock::Begin(node.birth_seen), false, 0, 0, {}});
    return;
  }
  index_[node.id] = kMaxThreads - 1;
  threads_.back().label = {};
}

void ThreadFolder::OnNodeEnd(const Node& node) {
  SampleFolder::OnNodeEnd(node);
  requests_.erase(node.id);
  if (node.kind != NodeKind::kThread) return;
  nodes_.End(node);
  if (Thread* told = Find(node.id); told != nullptr && told->label.known) {
    told->label = LabelOf(node);
  }
}

void ThreadFolder::OnThreadSlice(const ThreadSlice& slice) {
  Thread* thread = Find(slice.thread);
  if (thread == nullptr || slice.to_ns <= slice.from_ns) return;
  ThreadDoing doing;
  doing.state = slice.state;
  if (slice.state == ThreadState::kUnknown) {
    doing.confidence = Confidence::kUnknown;
  } else if (slice.doubtful) {
    doing.confidence = Confidence::kReconstructed;
  }
  if (slice.state == ThreadState::kBlocked) {
    doing.wait = slice.wait;
    doing.waker = nodes_.LabelOf(slice.waker);
  }
  thread->doing_ns[doing] += slice.to_ns - slice.from_ns;
}

void ThreadFolder::OnSample(NodeId /*node*/, NodeId thread, const StackSample& sample) {
  ++samples_;
  const auto found = index_.find(thread);
  if (found == index_.end()) return;
  const CausalPlace place = paths_.PlaceOf(thread);
  SampleKey key{found->second, 0, stacks_.Add(sample), place.confidence};
  if (const auto request = requests_.find(place.request); request != requests_.end()) {
    key.frames = paths_.With(0, request->second);
  }
  for (const Label& label : std::vector<Label>(paths_.Labels(place.frames))) {
    key.frames = paths_.With(key.frames, label);
  }
  gathered_[key] += FlameStacks::Weight(sample);
}

FoldTree::NodeIndex ThreadFolder::DoingFrame(FoldTree::NodeIndex root, const ThreadDoing& doing) {
  switch (doing.state) {
    case ThreadState::kRunning: return tree_.Child(root, FrameKind::kRunning, "running");
    case ThreadState::kRunnable: return tree_.Child(root, FrameKind::kWaiting, "runnable");
    case ThreadState::kUnknown: return tree_.Child(root, FrameKind::kUnknown, "unknown");
    case ThreadState::kBlocked: break;
  }
  FoldTree::NodeIndex node = tree_.Child(root, FrameKind::kWaiting, "blocked");
  if (doing.wait != ThreadSlice::Wait::kNone) {
    const bool io = doing.wait == ThreadSlice::Wait::kIoUring;
    node = tree_.Child(node, io ? FrameKind::kIo : FrameKind::kResource, WaitName(doing.wait));
  }
  if (!doing.waker.known) return node;
  std::string words = "woken by ";
  AppendLabel(doing.waker, strings_, &words);
  const bool thread = doing.waker.kind == NodeKind::kThread;
  return tree_.Child(node, thread ? FrameKind::kThread : FrameKind::kWork, words);
}

// exact: amount_ns is what the samples are scaled to, and is put down even where there are none.
void ThreadFolder::FoldSamples(FoldTree::NodeIndex node, uint32_t thread, uint64_t amount_ns,
                               bool exact) {
  std::vector<uint64_t> weights;
  std::vector<FoldTree::NodeIndex> leaves;
  uint64_t sum_ns = 0;
  for (auto entry = gathered_.lower_bound({thread, 0, 0, Confidence::kObserved});
       entry != gathered_.end() && entry->first.group == thread; ++entry) {
    if (exact && amount_ns == 0) break;
    weights.push_back(entry->second);
    sum_ns += entry->second;
    leaves.push_back(
        stacks_.Unfold(&tree_, Unfold(&tree_, node, entry->first.frames), entry->first.stack));
  }
  if (sum_ns == 0) {
    if (exact && weight_ == FlameWeight::kCpu && amount_ns > 0) {
      node = tree_.Child(node, FrameKind::kNotSampled, "[not sampled]");
    }
    if (exact) tree_.Add(node, amount_ns);
    return;
  }
  // Samples without an account to scale them to are an estimate.
  const std::vector<uint64_t> amounts = exact ? ScaleToTotal(weights, amount_ns) : weights;
  for (size_t i = 0; i < leaves.size(); ++i) {
    tree_.Add(leaves[i], amounts[i], exact ? Confidence::kObserved : Confidence::kReconstructed);
  }
}

void ThreadFolder::FoldWall(FoldTree::NodeIndex root, uint32_t index) {
  uint64_t running_ns = 0;
  for (const auto& [doing, amount_ns] : threads_[index].doing_ns) {
    if (doing.state == ThreadState::kRunning && doing.confidence == Confidence::kObserved) {
      running_ns += amount_ns;
    } else {
      tree_.Add(DoingFrame(root, doing), amount_ns, doing.confidence);
    }
  }
  if (running_ns == 0) return;
  ThreadDoing running;
  running.state = ThreadState::kRunning;
  FoldSamples(DoingFrame(root, running), index, running_ns, true);
}

void ThreadFolder::FoldCount(FoldTree::NodeIndex root, const Thread& thread) {
  const auto most =
      std::max_element(thread.doing_ns.begin(), thread.doing_ns.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == thread.doing_ns.end()) {
    tree_.Add(root, 1);
  } else {
    tree_.Add(DoingFrame(root, most->first), 1, most->first.confidence);
  }
}

FoldTree ThreadFolder::Fold() {
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    const Thread& thread = threads_[i];
    const FoldTree::NodeIndex root =
        thread.label.known ? LabelFrame(&tree_, FoldTree::kRoot, thread.label, strings_)
                           : tree_.Child(FoldTree::kRoot, FrameKind::kThread, "[other threads]");
    switch (weight_) {
      case FlameWeight::kCpu: FoldSamples(root, i, thread.cpu_ns, thread.has_cpu); break;
      case FlameWeight::kWall: FoldWall(root, i); break;
      case FlameWeight::kCount: FoldCount(root, thread); break;
    }
  }
  total_ = tree_.Totals()[FoldTree::kRoot].amount;
  return std::move(tree_);
}

}  // namespace

std::unique_ptr<FlameFolder> MakeThreadFolder(FlameWeight weight, const StringTable& strings) {
  return std::make_unique<ThreadFolder>(weight, strings);
}

}  // namespace cprof
