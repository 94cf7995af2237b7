// Paths by birth, and who is bound to what.
#include "report/flame_paths.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cprof {
namespace {

FrameKind KindOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kThread: return FrameKind::kThread;
    case NodeKind::kRuntimeTask: return FrameKind::kTask;
    case NodeKind::kIoRequest:
    case NodeKind::kBlockRequest:
    case NodeKind::kMessage: return FrameKind::kIo;
    case NodeKind::kWorkItem:
    case NodeKind::kTimer:
    case NodeKind::kInterrupt: return FrameKind::kWork;
    case NodeKind::kResource: return FrameKind::kResource;
    case NodeKind::kRequest: return FrameKind::kRequest;
  }
  return FrameKind::kUnknown;
}

}  // namespace

FoldTree::NodeIndex LabelFrame(FoldTree* tree, FoldTree::NodeIndex node, const Label& label,
                               const StringTable& strings) {
  std::string name;
  AppendLabel(label, strings, &name);
  return tree->Child(node, label.known ? KindOf(label.kind) : FrameKind::kUnknown, name);
}

void FlamePaths::OnNode(const Node& node) {
  switch (node.kind) {
    case NodeKind::kThread: {
      Thread& thread = threads_[node.id];
      thread = {};
      thread.label = LabelOf(node);
      return;
    }
    case NodeKind::kRequest: paths_[node.id] = {node.id, 0, {}, true, true}; return;
    case NodeKind::kRuntimeTask: {
      const Label own = LabelOf(node);
      paths_[node.id] = {0, With(0, own), own, true, true};
      return;
    }
    case NodeKind::kIoRequest: paths_[node.id] = {0, 0, LabelOf(node), true, false}; return;
    default: return;
  }
}

void FlamePaths::OnNodeEnd(const Node& node) {
  if (node.kind == NodeKind::kThread && !keep_history_) {
    threads_.erase(node.id);
    return;
  }
  if (const auto path = paths_.find(node.id); path != paths_.end()) {
    path->second.alive = false;
    if (!keep_history_) paths_.erase(path);
  } else if (node.kind != NodeKind::kThread) {
    return;
  }
  if (keep_history_) dead_.emplace_back(node.died_ns, node.id);
}

void FlamePaths::OnThreadName(NodeId thread, const std::array<char, 16>& comm) {
  const auto found = threads_.find(thread);
  if (found != threads_.end()) found->second.label.comm = comm;
}

// A task belongs under what spawned or queued it, as the program told.
void FlamePaths::OnTaskEdge(const Edge& edge, Path& task, const Path& source) {
  if (task.request != 0 || !task.own.known || edge.src == edge.dst) return;
  task.request = source.request;
  task.frames = With(source.frames, task.own);
}

void FlamePaths::OnIoEdge(const Edge& edge, Path& io) {
  if (edge.type != EdgeType::kSubmit || io.named) return;
  if (const auto source = paths_.find(edge.src); source != paths_.end()) {
    io.request = source->second.request;
    io.frames = source->second.frames;
    io.named = true;
    return;
  }
  if (!keep_history_) return;
  const CausalPlace place = PlaceOf(edge.src_thread);
  io.request = place.request;
  io.frames = place.frames;
}

void FlamePaths::OnEdge(const Edge& edge) {
  if (edge.type != EdgeType::kSpawn && edge.type != EdgeType::kSubmit &&
      edge.type != EdgeType::kQueue) {
    return;
  }
  if (const auto found = paths_.find(edge.dst); found != paths_.end()) {
    if (found->second.own.kind == NodeKind::kIoRequest) {
      OnIoEdge(edge, found->second);
    } else if (const auto source = paths_.find(edge.src); source != paths_.end()) {
      OnTaskEdge(edge, found->second, source->second);
    }
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
  const Thread& work = parent->second;
  const NodeId node = work.bound != 0 && work.bound_ns <= edge.src_time_ns ? work.bound
                      : work.bound == 0                                    ? work.inherited
                                                                           : 0;
  const auto path = paths_.find(node);
  if (path != paths_.end() && child->second.bound == 0) {
    child->second.inherited = path->second.request;
  }
}

void FlamePaths::OnBindingStack(NodeId thread, uint64_t time_ns,
                                std::span<const OpenBinding> stack) {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return;
  Thread& work = found->second;
  const bool sure = !stack.empty() && stack.back().confidence != Confidence::kUnknown;
  work.bound = sure ? stack.back().node : 0;
  work.confidence = sure ? stack.back().confidence : Confidence::kObserved;
  work.bound_ns = time_ns;
  work.inherited = 0;
  if (!keep_history_) return;
  work.history.push_back({time_ns, work.bound});
  if (work.history.size() > kMaxHistory) work.history.pop_front();
}

void FlamePaths::Forget(uint64_t time_ns) {
  while (!dead_.empty() && (dead_.front().first < time_ns || dead_.size() > kMaxDead)) {
    paths_.erase(dead_.front().second);
    threads_.erase(dead_.front().second);
    dead_.pop_front();
  }
  for (auto& [id, thread] : threads_) {
    (void)id;
    while (thread.history.size() > 1 && thread.history[1].from_ns <= time_ns) {
      thread.history.pop_front();
    }
  }
}

CausalPlace FlamePaths::PlaceOf(NodeId id) {
  const auto thread = threads_.find(id);
  if (thread == threads_.end()) return {};
  const Thread& work = thread->second;
  const auto found = paths_.find(work.bound != 0 ? work.bound : work.inherited);
  if (found == paths_.end()) return {};
  const Path& path = found->second;
  CausalPlace place{path.request, path.frames, work.confidence};
  // A kernel worker at an io.
  if (path.own.kind == NodeKind::kIoRequest) place.frames = With(path.frames, path.own);
  // A task may outlive its request; then its time is nobody's.
  const auto request = paths_.find(path.request);
  if (!path.named || request == paths_.end() || !request->second.alive) place.request = 0;
  return place;
}

Label FlamePaths::ThreadLabel(NodeId thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? Label{} : found->second.label;
}

FramesIndex FlamePaths::FramesIn(NodeId node, NodeId request) const {
  const auto path = paths_.find(node);
  return path != paths_.end() && path->second.request == request ? path->second.frames : 0;
}

void FlamePaths::PlacesIn(NodeId node, NodeId request, uint64_t from_ns, uint64_t to_ns,
                          const VisitPlace& visit) const {
  const auto thread = threads_.find(node);
  if (thread == threads_.end()) {
    visit(FramesIn(node, request), from_ns, to_ns);
    return;
  }
  const std::deque<BoundPoint>& history = thread->second.history;
  auto next =
      std::upper_bound(history.begin(), history.end(), from_ns,
                       [](uint64_t time_ns, const BoundPoint& p) { return time_ns < p.from_ns; });
  FramesIndex frames = next == history.begin() ? 0 : FramesIn(std::prev(next)->node, request);
  for (; next != history.end() && next->from_ns < to_ns; ++next) {
    const FramesIndex then = FramesIn(next->node, request);
    if (then == frames) continue;
    if (from_ns < next->from_ns) visit(frames, from_ns, next->from_ns);
    from_ns = next->from_ns;
    frames = then;
  }
  if (from_ns < to_ns) visit(frames, from_ns, to_ns);
}

FramesIndex FlamePaths::With(FramesIndex frames, const Label& label) {
  std::vector<Label> labels = lists_[frames];
  labels.erase(std::find(labels.begin(), labels.end(), label), labels.end());
  if (labels.size() < kMaxFrames) labels.push_back(label);
  return ListOf(labels);
}

FramesIndex FlamePaths::ListOf(const std::vector<Label>& labels) {
  const auto found = list_index_.find(labels);
  if (found != list_index_.end()) return found->second;
  if (lists_.size() >= kMaxLists) return 0;
  const auto index = static_cast<FramesIndex>(lists_.size());
  lists_.push_back(labels);
  list_index_.emplace(labels, index);
  return index;
}

}  // namespace cprof
