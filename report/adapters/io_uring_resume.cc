// The resume edge: which thread took a completion up in user space. The kernel does not see that.
// But where a thread waits on an empty queue, one completion comes, and the same thread waits on
// the empty queue again with head moved by one, it can only have taken that one.
#include <algorithm>
#include <utility>

#include "report/adapters/io_uring.h"

namespace cprof::io_uring {

void IoUringAdapter::DropEmptyPoint(Ring& ring) {
  if (ring.empty.ended.has_value()) context_.EndNode(*ring.empty.ended);
  ring.empty = EmptyPoint{};
}

void IoUringAdapter::NoteCompletion(Ring& ring, const Event& event, NodeId node) {
  ++ring.completions;
  EmptyPoint& empty = ring.empty;
  if (!empty.valid) return;
  if (++empty.completions > 1) {
    DropEmptyPoint(ring);  // two at once: nobody can say which was taken up when
    return;
  }
  empty.node = node;
  empty.complete_ns = event.time_ns;
  empty.complete_event = {event.stream, event.sequence};
  context_.CauseOf(event, &empty.complete_thread);
  if (empty.complete_thread != 0 && empty.complete_thread == empty.thread->node) {
    // It runs already, in the kernel, and goes on to user space.
    empty.self_completed = true;
    empty.resume_ns = empty.complete_ns;
    empty.resume_event = empty.complete_event;
    return;
  }
  context_.Watch(*empty.thread);
  awaiting_resume_.push_back(ring_of_key_[ring.key]);
}

void IoUringAdapter::OnWatchedThread(ThreadRecord& thread, const Event& event) {
  std::erase_if(awaiting_resume_, [&](RingIndex index) {
    EmptyPoint& empty = rings_[index]->empty;
    if (!empty.valid || empty.completions == 0 || empty.resume_ns != 0) return true;
    if (empty.thread != &thread) return false;
    if (thread.last_switch_in_ns > empty.complete_ns) {
      empty.resume_ns = thread.last_switch_in_ns;
      empty.resume_event = thread.last_switch_in;
    } else {
      empty.resume_ns = event.time_ns;
      empty.resume_event = {event.stream, event.sequence};
    }
    return true;
  });
  const bool still_awaited =
      std::any_of(awaiting_resume_.begin(), awaiting_resume_.end(),
                  [&](RingIndex index) { return rings_[index]->empty.thread == &thread; });
  if (still_awaited) context_.Watch(thread);
}

void IoUringAdapter::CqWait(const Event& event) {
  if (event.level != Level::kTask || event.tid == 0) return;
  Ring& ring = *rings_[RingOf(event.key2.lo, event.time_ns)];
  ThreadRecord& thread = context_.Current(event);
  thread.wait = ThreadSlice::Wait::kIoUring;
  thread.wait_object = {0, ring.key};
  const auto head = static_cast<uint32_t>(event.arg2);
  const auto tail = static_cast<uint32_t>(event.arg2 >> 32);
  // A completion is traced before the kernel moves the tail, so a tail that lags shows as an offset
  // below the highest seen. Completions that were lost raise the offset for good.
  const uint32_t offset = tail - ring.completions;
  if (!ring.offset_known || static_cast<int32_t>(offset - ring.offset) > 0) {
    ring.offset_known = true;
    ring.offset = offset;
    ring.offset_points = 1;
  } else if (offset == ring.offset) {
    ++ring.offset_points;
  }
  EmptyPoint& empty = ring.empty;
  const bool is_empty = head == tail;
  if (empty.valid && empty.thread != &thread) DropEmptyPoint(ring);
  if (empty.valid && is_empty) {
    constexpr uint32_t kPointsForOthers = 3;
    const bool steady = offset == ring.offset && empty.offset == ring.offset &&
                        (empty.self_completed || ring.offset_points >= kPointsForOthers);
    if (empty.completions == 1 && empty.node != 0 && empty.resume_ns != 0 &&
        head - empty.head == 1 && steady) {
      Resume(ring, event.time_ns);
    }
    DropEmptyPoint(ring);
  }
  if (!is_empty) return;
  context_.NodeOf(thread);
  empty.valid = true;
  empty.thread = &thread;
  empty.head = head;
  empty.offset = offset;
  empty.time_ns = event.time_ns;
}

void IoUringAdapter::Resume(Ring& ring, uint64_t now_ns) {
  const EmptyPoint& empty = ring.empty;
  const Loss loss = context_.breaks().Lost(empty.time_ns, now_ns, queue_, SignatureBit(ring.key));
  if (loss.any || context_.cpus_left_out()) return;
  Edge edge;
  edge.type = EdgeType::kResume;
  edge.src = empty.node;
  edge.dst = empty.thread->node;
  edge.src_time_ns = empty.complete_ns;
  edge.dst_time_ns = empty.resume_ns;
  edge.src_event = empty.complete_event;
  edge.dst_event = empty.resume_event;
  edge.src_thread = empty.complete_thread;
  edge.dst_thread = edge.dst;
  // The queue's own head confirms the count, which is no attribute of the rule.
  edge.confidence = Confidence::kReconstructed;
  edge.rule = "one-completion";
  context_.AddEdge(&edge);
}

}  // namespace cprof::io_uring
