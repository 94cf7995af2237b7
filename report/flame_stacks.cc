// Raw stacks, each kept once.
#include "report/flame_stacks.h"

#include <utility>

namespace cprof {

size_t FlameStacks::RawStackHash::operator()(const RawStack& stack) const noexcept {
  uint64_t hash = stack.tgid | uint64_t{stack.epoch} << 32;
  for (const auto* frames : {&stack.user, &stack.kernel}) {
    hash = (hash ^ frames->size()) * 0x9e3779b97f4a7c15ULL;
    for (const uint64_t frame : *frames) {
      hash = (hash ^ (hash >> 29) ^ frame) * 0xbf58476d1ce4e5b9ULL;
    }
  }
  return hash;
}

StackIndex FlameStacks::Add(const StackSample& sample) {
  RawStack stack{sample.event.tgid, symbolizer_.EpochOf(sample.event.tgid), sample.user_frames,
                 sample.kernel_frames};
  const auto found = index_.find(stack);
  if (found != index_.end()) return found->second;
  if (stacks_.size() >= kMaxStacks) return kOther;
  const auto index = static_cast<StackIndex>(stacks_.size());
  stacks_.push_back(stack);
  index_.emplace(std::move(stack), index);
  return index;
}

uint64_t FlameStacks::Weight(const StackSample& sample) {
  const double p = sample.probability;
  const double weight = static_cast<double>(sample.event.arg) / (p > 1e-6 && p <= 1 ? p : 1.0);
  return weight < 1e18 ? static_cast<uint64_t>(weight) : 0;
}

FoldTree::NodeIndex FlameStacks::Unfold(FoldTree* tree, FoldTree::NodeIndex node,
                                        StackIndex stack) {
  if (stack == kOther) return tree->Child(node, FrameKind::kUser, "[other stacks]");
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
  return node;
}

}  // namespace cprof
