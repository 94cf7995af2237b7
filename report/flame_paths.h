// Whose work threads and nodes do: the causal frames between a request and what does it.
#ifndef CPROF_REPORT_FLAME_PATHS_H_
#define CPROF_REPORT_FLAME_PATHS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "report/fold.h"
#include "report/graph.h"
#include "report/node_table.h"

namespace cprof {

// A list of labels, from the request outwards and without it; equal lists have equal indexes. 0:
// nothing in between.
using FramesIndex = uint32_t;

struct CausalPlace {
  NodeId request = 0;  // 0: nobody's work, or not known whose
  FramesIndex frames = 0;
  Confidence confidence = Confidence::kObserved;
};

// "request http/GET", "io READ": the frame of a label above `node`.
FoldTree::NodeIndex LabelFrame(FoldTree* tree, FoldTree::NodeIndex node, const Label& label,
                               const StringTable& strings);

// Feed it from a sink.
class FlamePaths {
 public:
  static constexpr size_t kMaxFrames = 32;        // between a request and what does it
  static constexpr size_t kMaxLists = 1 << 16;    // told apart; further ones are "nothing between"
  static constexpr size_t kMaxHistory = 1 << 15;  // bindings kept of one thread
  static constexpr size_t kMaxDead = 1 << 18;     // paths of nodes that are gone

  // keep_history: PlacesIn will be asked about the life of requests that have not been settled.
  explicit FlamePaths(bool keep_history) : keep_history_(keep_history), lists_(1) {
    list_index_[{}] = 0;
  }

  void OnNode(const Node& node);
  void OnNodeEnd(const Node& node);
  void OnThreadName(NodeId thread, const std::array<char, 16>& comm);
  void OnEdge(const Edge& edge);
  void OnBindingStack(NodeId thread, uint64_t time_ns, std::span<const OpenBinding> stack);
  // Nothing that ended before time_ns will be asked for.
  void Forget(uint64_t time_ns);

  // What the thread works for now.
  CausalPlace PlaceOf(NodeId thread);
  // Not known where the thread has not been told, or is gone.
  Label ThreadLabel(NodeId thread) const;
  // The frames at which `node` works for `request`, piece by piece over [from_ns, to_ns); of a
  // thread by its bindings, of others by their birth.
  using VisitPlace = std::function<void(FramesIndex, uint64_t from_ns, uint64_t to_ns)>;
  void PlacesIn(NodeId node, NodeId request, uint64_t from_ns, uint64_t to_ns,
                const VisitPlace& visit) const;

  const std::vector<Label>& Labels(FramesIndex frames) const { return lists_[frames]; }
  // With one more label; coming back to one that is there already folds to it.
  FramesIndex With(FramesIndex frames, const Label& label);

 private:
  struct Path {
    NodeId request = 0;
    FramesIndex frames = 0;  // of a task with itself, of an io without
    Label own;               // not known: a request, which is its own root
    bool alive = true;
    bool named = true;  // the program told whose it is
  };
  struct BoundPoint {
    uint64_t from_ns = 0;
    NodeId node = 0;  // innermost binding; 0: none
  };
  struct Thread {
    Label label;
    NodeId bound = 0;
    uint64_t bound_ns = 0;  // since
    NodeId inherited = 0;   // the request whose work it was spawned for, until bound otherwise
    Confidence confidence = Confidence::kObserved;  // of the binding
    std::deque<BoundPoint> history;
  };

  void OnTaskEdge(const Edge& edge, Path& task, const Path& source);
  void OnIoEdge(const Edge& edge, Path& io);
  FramesIndex FramesIn(NodeId node, NodeId request) const;
  FramesIndex ListOf(const std::vector<Label>& labels);

  const bool keep_history_;
  std::unordered_map<NodeId, Thread> threads_;
  std::unordered_map<NodeId, Path> paths_;  // of requests, tasks, ios
  std::deque<std::pair<uint64_t, NodeId>> dead_;
  std::vector<std::vector<Label>> lists_;
  std::map<std::vector<Label>, FramesIndex> list_index_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_FLAME_PATHS_H_
