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
  Threads* threads = threads_.Find(node);
  if (threads == nullptr) return;
  const NodeId* position = std::find(threads->ids.begin(), threads->ids.end(), thread);
  if (position != threads->ids.end()) threads->ids.erase(position);
  if (threads->ids.empty()) threads_.Erase(node);
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
  Stack& stack = stacks_.FindOrAdd(thread);
  if (stack.entries.size() >= kMaxBindingDepth) {
    ++stack.overflow;
  } else {
    stack.entries.push_back(entry);
    if (entry.node != 0) threads_.FindOrAdd(entry.node).ids.push_back(thread);
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
  Stack* found = stacks_.Find(thread);
  if (found == nullptr) return false;
  if (CPROF_RULE_REMOVED(kBindingEnd)) return true;
  Stack& stack = *found;
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
    if (stack.IsEmpty()) stacks_.Erase(thread);
    return true;
  }
  return false;
}

void BindingTable::CloseNode(NodeId node, uint64_t time_ns, uint64_t tag) {
  const Threads* found = threads_.Find(node);
  if (found == nullptr || CPROF_RULE_REMOVED(kBindingEnd)) return;
  std::vector<NodeId> threads(found->ids.begin(), found->ids.end());
  threads_.Erase(node);
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  for (NodeId thread : threads) {
    Stack* at = stacks_.Find(thread);
    if (at == nullptr) continue;
    Stack& stack = *at;
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
    if (stack.IsEmpty()) stacks_.Erase(thread);
  }
}

void BindingTable::EndThread(NodeId thread, uint64_t time_ns) {
  Stack* found = stacks_.Find(thread);
  if (found == nullptr) return;
  Stack& stack = *found;
  for (size_t index = stack.entries.size(); index-- > 0;) {
    const NodeId node = stack.entries[index].node;
    Close(thread, stack, index, time_ns);
    if (node != 0) Forget(node, thread);
  }
  stack.entries.clear();
  stack.overflow = 0;
  stack.lost = false;
  Tell(thread, stack, time_ns);
  stacks_.Erase(thread);
}

void BindingTable::Doubt(NodeId thread, uint64_t from_ns) {
  Stack& stack = stacks_.FindOrAdd(thread);
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
  stacks_.ForEach([&threads](NodeId thread, const Stack&) { threads.push_back(thread); });
  for (NodeId thread : threads) EndThread(thread, end_ns);
}

NodeId BindingTable::Innermost(NodeId thread) const {
  const Stack* found = stacks_.Find(thread);
  if (found == nullptr || found->overflow > 0) return 0;
  if (found->entries.empty()) return 0;
  const Entry& top = found->entries.back();
  return top.confidence == Confidence::kObserved ? top.node : 0;
}

}  // namespace cprof
