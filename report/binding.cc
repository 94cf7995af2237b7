// Stacks of open bindings: enter and leave, and everything that ends or casts doubt on them.
#include "report/binding.h"

#include <algorithm>

#include "report/mutation.h"

namespace cprof {

void BindingTable::Tell(NodeId thread, const Stack& stack, uint64_t time_ns) {
  told_.clear();
  if (stack.lost) told_.push_back({0, Confidence::kUnknown});
  for (const Entry& entry : stack.entries) told_.push_back({entry.node, entry.confidence});
  if (stack.overflow > 0) told_.push_back({0, Confidence::kUnknown});
  sink_.OnBindingStack(thread, time_ns, told_);
}

void BindingTable::Forget(NodeId node, NodeId thread) {
  const auto found = threads_.find(node);
  if (found == threads_.end()) return;
  std::vector<NodeId>& threads = found->second;
  const auto position = std::find(threads.begin(), threads.end(), thread);
  if (position != threads.end()) threads.erase(position);
  if (threads.empty()) threads_.erase(found);
}

// Tells the interval of one entry; the entry itself is the caller's to remove.
void BindingTable::Close(NodeId thread, const Stack& stack, size_t index, uint64_t time_ns) {
  const Entry& entry = stack.entries[index];
  Binding binding;
  binding.thread = thread;
  binding.node = entry.node;
  binding.from_ns = entry.from_ns;
  binding.to_ns = std::max(time_ns, entry.from_ns);
  binding.depth = static_cast<uint32_t>(index);
  binding.source = entry.source;
  binding.confidence = entry.confidence;
  sink_.OnBinding(binding);
}

void BindingTable::Push(NodeId thread, const Entry& entry) {
  Stack& stack = stacks_[thread];
  if (stack.entries.size() >= kMaxBindingDepth) {
    ++stack.overflow;
  } else {
    stack.entries.push_back(entry);
    if (entry.node != 0) threads_[entry.node].push_back(thread);
  }
  Tell(thread, stack, entry.from_ns);
}

void BindingTable::Enter(NodeId thread, NodeId node, uint64_t time_ns, Source source,
                         Confidence confidence) {
  Push(thread, {node, time_ns, source, confidence, 0});
}

void BindingTable::EnterUnknown(NodeId thread, uint64_t tag, uint64_t time_ns) {
  Push(thread, {0, time_ns, Source::kApplication, Confidence::kUnknown, tag});
}

bool BindingTable::Remove(NodeId thread, NodeId node, uint64_t tag, uint64_t time_ns) {
  const auto found = stacks_.find(thread);
  if (found == stacks_.end()) return false;
  if (CPROF_RULE_REMOVED(kBindingEnd)) return true;
  Stack& stack = found->second;
  if (stack.overflow > 0) {
    // Which of the uncounted this one closes is not kept; they nest, so it is one of them.
    --stack.overflow;
    Tell(thread, stack, time_ns);
    return true;
  }
  for (size_t index = stack.entries.size(); index-- > 0;) {
    if (stack.entries[index].node != node || stack.entries[index].tag != tag) continue;
    Close(thread, stack, index, time_ns);
    stack.entries.erase(stack.entries.begin() + static_cast<ptrdiff_t>(index));
    if (node != 0) Forget(node, thread);
    Tell(thread, stack, time_ns);
    if (stack.IsEmpty()) stacks_.erase(found);
    return true;
  }
  return false;
}

void BindingTable::CloseNode(NodeId node, uint64_t time_ns, uint64_t tag) {
  const auto found = threads_.find(node);
  if (found == threads_.end() || CPROF_RULE_REMOVED(kBindingEnd)) return;
  std::vector<NodeId> threads = std::move(found->second);
  threads_.erase(found);
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  for (NodeId thread : threads) {
    const auto at = stacks_.find(thread);
    if (at == stacks_.end()) continue;
    Stack& stack = at->second;
    for (size_t index = stack.entries.size(); index-- > 0;) {
      if (stack.entries[index].node != node) continue;
      Close(thread, stack, index, time_ns);
      if (tag != 0) {
        stack.entries[index] = {0, time_ns, Source::kApplication, Confidence::kUnknown, tag};
      } else {
        stack.entries.erase(stack.entries.begin() + static_cast<ptrdiff_t>(index));
      }
    }
    Tell(thread, stack, time_ns);
    if (stack.IsEmpty()) stacks_.erase(at);
  }
}

void BindingTable::EndThread(NodeId thread, uint64_t time_ns) {
  const auto found = stacks_.find(thread);
  if (found == stacks_.end()) return;
  Stack& stack = found->second;
  for (size_t index = stack.entries.size(); index-- > 0;) {
    const NodeId node = stack.entries[index].node;
    Close(thread, stack, index, time_ns);
    if (node != 0) Forget(node, thread);
  }
  stack.entries.clear();
  stack.overflow = 0;
  stack.lost = false;
  Tell(thread, stack, time_ns);
  stacks_.erase(found);
}

void BindingTable::Doubt(NodeId thread, uint64_t from_ns) {
  Stack& stack = stacks_[thread];
  for (size_t index = stack.entries.size(); index-- > 0;) {
    Entry& entry = stack.entries[index];
    if (entry.confidence == Confidence::kUnknown) continue;
    const uint64_t cut_ns = std::max(from_ns, entry.from_ns);
    Close(thread, stack, index, cut_ns);
    entry.from_ns = cut_ns;
    entry.confidence = Confidence::kUnknown;
  }
  stack.lost = true;
  Tell(thread, stack, from_ns);
}

void BindingTable::Finish(uint64_t end_ns) {
  std::vector<NodeId> threads;
  for (const auto& [thread, stack] : stacks_) threads.push_back(thread);
  std::sort(threads.begin(), threads.end());
  for (NodeId thread : threads) EndThread(thread, end_ns);
}

NodeId BindingTable::Innermost(NodeId thread) const {
  const auto found = stacks_.find(thread);
  if (found == stacks_.end() || found->second.overflow > 0) return 0;
  if (found->second.entries.empty()) return 0;
  const Entry& top = found->second.entries.back();
  return top.confidence == Confidence::kObserved ? top.node : 0;
}

}  // namespace cprof
