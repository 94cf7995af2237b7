// From bindings, owners and lives to the activities of one request.
#include "report/strand.h"

#include <algorithm>

namespace cprof {
namespace {

class Collector {
 public:
  Collector(const Ownership& graph, NodeId id)
      : graph_(graph), id_(id), request_(*graph.FindRequest(id)) {}

  std::vector<Activity> Run() {
    if (const NodeHistory* node = graph_.FindNode(id_)) {
      for (const BoundSpan& bound : node->bound) {
        Add(bound.from_ns, bound.to_ns, {Strand::Kind::kThread, bound.thread});
      }
    }
    for (NodeId node : request_.owned) AddOwned(node);
    return std::move(activities_);
  }

 private:
  void Add(uint64_t from_ns, uint64_t to_ns, Strand strand) {
    from_ns = std::max(from_ns, request_.begin_ns);
    to_ns = std::min(to_ns, request_.end_ns);
    if (from_ns < to_ns) activities_.push_back({from_ns, to_ns, strand});
  }

  void AddOwned(NodeId id) {
    if (const ThreadHistory* thread = graph_.FindThread(id)) {
      Add(thread->inherited.from_ns, thread->inherited.to_ns, {Strand::Kind::kThread, id});
      return;
    }
    const NodeHistory* node = graph_.FindNode(id);
    if (node == nullptr) return;
    if (node->kind == NodeKind::kRequest) {
      Add(node->born_ns, node->died_ns, {Strand::Kind::kChild, id});
      return;
    }
    for (const OwnerSpan& span : node->owners) {
      if (!std::binary_search(span.requests.begin(), span.requests.end(), id_)) continue;
      if (node->kind == NodeKind::kIoRequest) {
        const uint64_t done_ns = node->complete_ns != 0 ? node->complete_ns : node->died_ns;
        Add(span.from_ns, std::min(span.to_ns, done_ns), {Strand::Kind::kIo, id});
        continue;
      }
      for (const BoundSpan& bound : node->bound) {
        Add(std::max(bound.from_ns, span.from_ns), std::min(bound.to_ns, span.to_ns),
            {Strand::Kind::kThread, bound.thread});
      }
    }
  }

  const Ownership& graph_;
  const NodeId id_;
  const RequestHistory& request_;
  std::vector<Activity> activities_;
};

}  // namespace

std::vector<Activity> CollectActivities(const Ownership& graph, NodeId request) {
  return Collector(graph, request).Run();
}

std::vector<OwnPiece> CollectOwnPieces(const Ownership& graph, NodeId request,
                                       const std::vector<Activity>& activities) {
  std::vector<Activity> threads;
  for (const Activity& activity : activities) {
    if (activity.strand.kind == Strand::Kind::kThread) threads.push_back(activity);
  }
  std::sort(threads.begin(), threads.end(), [](const Activity& a, const Activity& b) {
    if (a.strand.id != b.strand.id) return a.strand.id < b.strand.id;
    if (a.from_ns != b.from_ns) return a.from_ns < b.from_ns;
    return a.to_ns < b.to_ns;
  });
  std::vector<OwnPiece> pieces;
  std::vector<OwnPiece> found;  // of one activity, latest first
  NodeId last_thread = 0;
  uint64_t done_ns = 0;  // on last_thread
  for (const Activity& activity : threads) {
    if (activity.strand.id != last_thread) done_ns = 0;
    last_thread = activity.strand.id;
    const uint64_t floor_ns = std::max(activity.from_ns, done_ns);
    found.clear();
    for (uint64_t now_ns = activity.to_ns; now_ns > floor_ns;) {
      const Relation relation = graph.RelationBefore(last_thread, now_ns, request);
      const uint64_t from_ns = std::max(floor_ns, std::min(relation.from_ns, now_ns - 1));
      if (relation.kind == Relation::Kind::kOwn) {
        found.push_back({last_thread, from_ns, now_ns, relation.shared, true});
      } else if (relation.kind == Relation::Kind::kUnknown) {
        found.push_back({last_thread, from_ns, now_ns, relation.shared, false});
      }
      now_ns = from_ns;
    }
    pieces.insert(pieces.end(), found.rbegin(), found.rend());
    done_ns = std::max(done_ns, activity.to_ns);
  }
  return pieces;
}

}  // namespace cprof
