// Which nodes each thread works for: the stacks of open bindings, for every adapter that binds.
#ifndef CPROF_REPORT_BINDING_H_
#define CPROF_REPORT_BINDING_H_

#include <cstdint>
#include <vector>

#include "report/few.h"
#include "report/graph.h"
#include "report/node_map.h"

namespace cprof {

// An application that only ever enters must not make memory grow.
inline constexpr size_t kMaxBindingDepth = 128;

// Bindings nest per thread. Each change is told to the sink as the whole stack (OnBindingStack),
// each binding once more as an interval when it closes (OnBinding). Times must not go backwards per
// thread.
class BindingTable {
 public:
  explicit BindingTable(GraphSink& sink) : sink_(sink) {}

  void Enter(NodeId thread, NodeId node, uint64_t time_ns, Source source,
             Confidence confidence = Confidence::kObserved);
  // The thread entered something that is no node: an id that is ambiguous or was never begun. `tag`
  // finds it again at its leave.
  void EnterUnknown(NodeId thread, uint64_t tag, uint64_t time_ns);
  // Closes the innermost open binding of thread to node, wherever it stands in the stack. False:
  // there is none, which is a fact of the program and no error.
  bool Leave(NodeId thread, NodeId node, uint64_t time_ns) {
    return Remove(thread, node, 0, time_ns);
  }
  bool LeaveUnknown(NodeId thread, uint64_t tag, uint64_t time_ns) {
    return Remove(thread, 0, tag, time_ns);
  }
  // The node's life is over: no binding to it outlives it.
  void EndNode(NodeId node, uint64_t time_ns) { CloseNode(node, time_ns, 0); }
  // The node's life is over without an end that was seen: who was bound to it works on for
  // something that cannot be told, until a leave with that tag.
  void LoseNode(NodeId node, uint64_t tag, uint64_t time_ns) { CloseNode(node, time_ns, tag); }
  // The thread exits or calls exec: everything on it ends.
  void EndThread(NodeId thread, uint64_t time_ns);
  // Enters or leaves of the thread may have been lost from from_ns on: what is open is `unknown`
  // from there, and so is what the thread works for otherwise.
  void Doubt(NodeId thread, uint64_t from_ns);
  // The recording ends.
  void Finish(uint64_t end_ns);
  // The innermost binding that is certain; 0 where there is none.
  NodeId Innermost(NodeId thread) const;

 private:
  struct Entry {
    NodeId node = 0;
    uint64_t from_ns = 0;
    Source source = Source::kApplication;
    Confidence confidence = Confidence::kObserved;
    uint64_t tag = 0;  // of EnterUnknown
  };
  struct Stack {
    std::vector<Entry> entries;  // outermost first
    size_t overflow = 0;         // enters beyond kMaxBindingDepth that are still open
    bool lost = false;           // beneath the entries may lie one whose enter was lost
    bool IsEmpty() const { return entries.empty() && overflow == 0 && !lost; }
    void Clear() {
      entries.clear();
      overflow = 0;
      lost = false;
    }
  };
  struct Threads {
    Few<NodeId, 2> ids;  // one entry a binding
    void Clear() { ids = {}; }
  };
  bool Remove(NodeId thread, NodeId node, uint64_t tag, uint64_t time_ns);
  void Push(NodeId thread, const Entry& entry);
  void CloseNode(NodeId node, uint64_t time_ns, uint64_t tag);
  void Close(NodeId thread, const Stack& stack, size_t index, uint64_t time_ns);
  void Tell(NodeId thread, const Stack& stack, uint64_t time_ns);
  void Forget(NodeId node, NodeId thread);

  GraphSink& sink_;
  NodeMap<Stack> stacks_;          // by thread
  NodeMap<Threads> threads_;       // by node that threads are bound to
  std::vector<OpenBinding> told_;  // scratch
};

}  // namespace cprof

#endif  // CPROF_REPORT_BINDING_H_
