// From bindings, owners and lives to the activities of one request.
#include "report/strand.h"

#include <algorithm>

namespace cprof {

void StrandCollector::Add(const RequestHistory& request, uint64_t from_ns, uint64_t to_ns,
                          Strand strand) {
  from_ns = std::max(from_ns, request.begin_ns);
  to_ns = std::min(to_ns, request.end_ns);
  if (from_ns < to_ns) activities_.push_back({from_ns, to_ns, strand});
}

void StrandCollector::AddOwned(NodeId request_id, const RequestHistory& request, NodeId id) {
  const NodeHistory* node = graph_.FindNode(id);
  if (node == nullptr) {
    const ThreadHistory* thread = graph_.FindThread(id);
    if (thread == nullptr) return;
    Add(request, thread->inherited.from_ns, thread->inherited.to_ns, {Strand::Kind::kThread, id});
    return;
  }
  if (node->kind == NodeKind::kRequest) {
    Add(request, node->born_ns, node->died_ns, {Strand::Kind::kChild, id});
    return;
  }
  for (const OwnerSpan& span : node->owners) {
    if (!std::binary_search(span.requests.begin(), span.requests.end(), request_id)) continue;
    if (node->kind == NodeKind::kIoRequest) {
      const uint64_t done_ns = node->complete_ns != 0 ? node->complete_ns : node->died_ns;
      Add(request, span.from_ns, std::min(span.to_ns, done_ns), {Strand::Kind::kIo, id});
      continue;
    }
    for (const BoundSpan& bound : node->bound) {
      Add(request, std::max(bound.from_ns, span.from_ns), std::min(bound.to_ns, span.to_ns),
          {Strand::Kind::kThread, bound.thread});
    }
  }
}

const std::vector<Activity>& StrandCollector::Activities(NodeId request_id) {
  activities_.clear();
  const RequestHistory& request = *graph_.FindRequest(request_id);
  if (const NodeHistory* node = graph_.FindNode(request_id)) {
    for (const BoundSpan& bound : node->bound) {
      Add(request, bound.from_ns, bound.to_ns, {Strand::Kind::kThread, bound.thread});
    }
  }
  for (NodeId node : request.owned) AddOwned(request_id, request, node);
  return activities_;
}

const std::vector<OwnPiece>& StrandCollector::OwnPieces(NodeId request,
                                                        const std::vector<Activity>& activities) {
  threads_.clear();
  for (const Activity& activity : activities) {
    if (activity.strand.kind == Strand::Kind::kThread) threads_.push_back(activity);
  }
  std::sort(threads_.begin(), threads_.end(), [](const Activity& a, const Activity& b) {
    if (a.strand.id != b.strand.id) return a.strand.id < b.strand.id;
    if (a.from_ns != b.from_ns) return a.from_ns < b.from_ns;
    return a.to_ns < b.to_ns;
  });
  pieces_.clear();
  NodeId last_thread = 0;
  uint64_t done_ns = 0;  // on last_thread
  for (const Activity& activity : threads_) {
    if (activity.strand.id != last_thread) done_ns = 0;
    last_thread = activity.strand.id;
    const uint64_t floor_ns = std::max(activity.from_ns, done_ns);
    found_.clear();  // latest first
    for (uint64_t now_ns = activity.to_ns; now_ns > floor_ns;) {
      const Relation relation = graph_.RelationBefore(last_thread, now_ns, request);
      const uint64_t from_ns = std::max(floor_ns, std::min(relation.from_ns, now_ns - 1));
      if (relation.kind == Relation::Kind::kOwn) {
        found_.push_back({last_thread, from_ns, now_ns, relation.shared, true});
      } else if (relation.kind == Relation::Kind::kUnknown) {
        found_.push_back({last_thread, from_ns, now_ns, relation.shared, false});
      }
      now_ns = from_ns;
    }
    pieces_.insert(pieces_.end(), found_.rbegin(), found_.rend());
    done_ns = std::max(done_ns, activity.to_ns);
  }
  return pieces_;
}

}  // namespace cprof
