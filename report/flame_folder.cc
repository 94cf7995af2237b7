// What folders have in common.
#include "report/flame_folder.h"

#include <utility>

#include "report/number.h"

namespace cprof {

void AddPart(FoldTree* tree, FoldTree::NodeIndex node, uint64_t amount, uint64_t reconstructed) {
  tree->Add(node, amount - reconstructed);
  if (reconstructed > 0) tree->Add(node, reconstructed, Confidence::kReconstructed);
}

FrameKind KindOfState(WallState state) {
  switch (state) {
    case WallState::kRunning: return FrameKind::kRunning;
    case WallState::kRunnable:
    case WallState::kRuntimeQueued:
    case WallState::kQueued:
    case WallState::kRemote:
    case WallState::kBlocked: return FrameKind::kWaiting;
    case WallState::kKernelWork:
    case WallState::kTimer: return FrameKind::kWork;
    case WallState::kIo: return FrameKind::kIo;
    case WallState::kLock:
    case WallState::kResource: return FrameKind::kResource;
    case WallState::kInChild: return FrameKind::kRequest;
    case WallState::kUnknown: return FrameKind::kUnknown;
  }
  return FrameKind::kUnknown;
}

FoldTree::NodeIndex StateFrame(FoldTree* tree, FoldTree::NodeIndex node, WallState state) {
  return tree->Child(node, KindOfState(state), WallStateName(state));
}

FoldTree::NodeIndex SampleFolder::Unfold(FoldTree* tree, FoldTree::NodeIndex node,
                                         FramesIndex frames) const {
  for (const Label& label : paths_.Labels(frames)) node = LabelFrame(tree, node, label, strings_);
  return node;
}

std::string SampleFolder::SampleCount() const {
  std::string text;
  AppendGrouped(samples_, &text);
  return text + (samples_ == 1 ? " sample" : " samples");
}

void RequestSampleFolder::OnNode(const Node& node) {
  SampleFolder::OnNode(node);
  if (node.kind == NodeKind::kRequest) open_[node.id].label = LabelOf(node);
}

void RequestSampleFolder::OnSample(NodeId /*node*/, NodeId thread, const StackSample& sample) {
  ++samples_;
  const CausalPlace place = paths_.PlaceOf(thread);
  SampleKey key{kNobody, place.frames, stacks_.Add(sample), Confidence::kObserved};
  const Label label = paths_.ThreadLabel(thread);
  if (label.known) key.frames = paths_.With(key.frames, label);
  const auto open = open_.find(place.request);
  if (open == open_.end()) {
    gathered_[key] += FlameStacks::Weight(sample);
    return;
  }
  key.confidence = place.confidence;
  open->second.samples.emplace_back(key, FlameStacks::Weight(sample));
}

void RequestSampleFolder::OnRequestEnd(const RequestEnd& end) {
  const auto open = open_.find(end.request);
  if (open == open_.end()) return;
  const uint32_t group = GroupOf(open->second.label, end.ended && end.begun);
  for (auto& [key, weight_ns] : open->second.samples) {
    key.group = group;
    gathered_[key] += weight_ns;
  }
  open_.erase(open);
  OnSettled(group, end);
}

uint32_t RequestSampleFolder::GroupOf(const Label& request, bool whole) {
  const auto found = group_index_.find({request, whole});
  if (found != group_index_.end()) return found->second;
  if (groups_.size() >= kMaxGroups) return kMaxGroups - 1;
  const auto index = static_cast<uint32_t>(groups_.size());
  Group group;
  group.request = request;
  group.whole = whole;
  groups_.push_back(group);
  group_index_.emplace(std::pair(request, whole), index);
  return index;
}

FoldTree::NodeIndex RequestSampleFolder::GroupFrame(FoldTree* tree, const Group& group) const {
  std::string name;
  if (group.request.known) {
    AppendLabel(group.request, strings_, &name);
    if (!group.whole) name += " [seen in part]";
  } else {
    name = "[no request]";
  }
  return tree->Child(FoldTree::kRoot, FrameKind::kRequest, name);
}

}  // namespace cprof
