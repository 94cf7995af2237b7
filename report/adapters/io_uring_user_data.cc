// io_uring completions for which the kernel gives no request object: multishot intermediates,
// notifications of SEND_ZC, posts of MSG_RING, overflows. They can only be joined by ring and
// user_data, and only where exactly one request can own them; everything else stays an orphan with
// its candidates.
#include <algorithm>
#include <string>
#include <utility>

#include "report/adapters/io_uring.h"

namespace cprof::io_uring {
namespace {

// Operations that can post more than one completion.
bool CanBeMultishot(uint8_t opcode) {
  switch (opcode) {
    case kPollAdd:
    case kRecvmsg:
    case kTimeout:
    case kAccept:
    case kRecv:
    case kUringCmd:
    case kReadMultishot:
    case kRecvZc: return true;
    default: return false;
  }
}

}  // namespace

// One request was found by ring and user_data. Another one that was not seen may own the completion
// too: one from before the recording, or one whose birth was lost.
Verdict IoUringAdapter::CheckUserData(const Life& life, const Event& event, const char* rule) {
  Verdict verdict;
  verdict.confidence = Confidence::kReconstructed;
  verdict.rule = rule;
  const Ring& ring = *rings_[life.ring];
  const BreakTable& breaks = context_.breaks();
  if (context_.cpus_left_out()) {
    verdict.join = false;
    verdict.reason = OrphanReason::kFiltered;
    verdict.proof = "not all CPUs are recorded";
    return verdict;
  }
  if (ring.preexisting && ring.user_data.repeats_while_open()) {
    verdict.join = false;
    verdict.reason = OrphanReason::kAmbiguous;
    verdict.proof =
        "node " + std::to_string(life.node) + ", or a request from before the recording";
    return verdict;
  }
  const Loss births = breaks.Lost(ring.born_ns, event.time_ns, births_, SignatureBit(ring.key));
  if (!births.any) return verdict;
  verdict.breaks = births.breaks;
  // An unseen request may live beside this one, or have taken its place.
  const Loss since = breaks.Lost(life.submit_ns, event.time_ns, births_, SignatureBit(ring.key));
  const bool may_have_ended =
      since.any &&
      (breaks.Lost(life.submit_ns, event.time_ns, completions_, SignatureBit(life.request)).any ||
       breaks.Lost(life.submit_ns, event.time_ns, overflows_, SignatureBit(ring.key)).any);
  const bool refused = may_have_ended ? !ring.user_data.IsUnique(ring.most_open, since)
                                      : ring.user_data.repeats_while_open();
  if (!refused) return verdict;
  verdict.join = false;
  verdict.reason = OrphanReason::kInCoverageBreak;
  verdict.proof = BreakNames(verdict.breaks) + ": another request may have this user_data";
  return verdict;
}

void IoUringAdapter::OrphanAmbiguous(const Event& event, const std::vector<LifeIndex>& candidates,
                                     const char* also) {
  std::string proof = "candidates:";
  constexpr size_t kListed = 8;
  for (size_t i = 0; i < candidates.size() && i < kListed; ++i) {
    proof += (i == 0 ? " node " : ", node ") + std::to_string(lives_[candidates[i]].node);
  }
  if (candidates.size() > kListed) {
    proof += ", and " + std::to_string(candidates.size() - kListed) + " more";
  }
  if (also != nullptr) {
    proof += candidates.empty() ? " " : ", or ";
    proof += also;
  }
  AddTakeUpOrphan(event, 0, OrphanReason::kAmbiguous, std::move(proof));
}

// No request that was seen can own the completion.
void IoUringAdapter::OrphanWithoutCandidate(const Event& event) {
  const Ring& ring = *rings_[RingOf(event.key2.lo, event.time_ns)];
  const Loss births =
      context_.breaks().Lost(ring.born_ns, event.time_ns, births_, SignatureBit(ring.key));
  if (births.any) {
    AddTakeUpOrphan(event, 0, OrphanReason::kInCoverageBreak, BreakNames(births.breaks));
  } else if (context_.cpus_left_out()) {
    AddTakeUpOrphan(event, 0, OrphanReason::kFiltered, "not all CPUs are recorded");
  } else if (ring.preexisting &&
             !context_.breaks().Lost(0, event.time_ns, creates_, SignatureBit(ring.key)).any) {
    AddTakeUpOrphan(event, 0, OrphanReason::kBeforeRecording,
                    "the ring existed at arming, and no request seen since can own it");
  } else {
    AddTakeUpOrphan(event, 0, OrphanReason::kUnexplained,
                    "no live request of the ring has that user_data");
  }
}

void IoUringAdapter::CompleteWithoutObject(const Event& event) {
  if ((CqeFlags(event) & kCqeMore) == 0) {
    CompletePost(event);
    return;
  }
  Ring& ring = *rings_[RingOf(event.key2.lo, event.time_ns)];
  std::vector<LifeIndex> candidates = lives_.Find(ring, event.arg);
  std::erase_if(candidates, [this](LifeIndex index) {
    return !CanBeMultishot(lives_[index].opcode) || lives_[index].object_released;
  });
  if (candidates.size() == 1) {
    const Verdict verdict = CheckUserData(lives_[candidates[0]], event, "multishot-user-data");
    if (verdict.join) {
      Join(candidates[0], event, verdict);
      return;
    }
    AddTakeUpOrphan(event, 0, verdict.reason, verdict.proof);
  } else if (candidates.empty()) {
    OrphanWithoutCandidate(event);
  } else {
    OrphanAmbiguous(event, candidates, nullptr);
  }
  NoteCompletion(ring, event, 0);
}

// SEND_ZC: the request completed with "more" and its object is free; what comes now carries an
// object that was never submitted, and the user_data of the request.
void IoUringAdapter::CompleteNotification(const Event& event) {
  Ring& ring = *rings_[RingOf(event.key2.lo, event.time_ns)];
  if (event.key.lo != 0) {
    // A notification lives in a request object too: whoever had it before is over.
    LifeTable::Object& object = lives_.ObjectOf(event.key.lo);
    object.last_ns = event.time_ns;
    if (const LifeIndex older = object.open; older != kNone) CloseOlder(older, event);
  }
  std::vector<LifeIndex> candidates = lives_.Find(ring, event.arg);
  std::erase_if(candidates, [this](LifeIndex index) { return !lives_[index].object_released; });
  if (candidates.size() == 1) {
    const Verdict verdict = CheckUserData(lives_[candidates[0]], event, "send-zc-notification");
    if (verdict.join) {
      Join(candidates[0], event, verdict);
      return;
    }
    AddTakeUpOrphan(event, 0, verdict.reason, verdict.proof);
  } else if (candidates.empty()) {
    OrphanWithoutCandidate(event);
  } else {
    OrphanAmbiguous(event, candidates, nullptr);
    // Nobody knows which of them ended, but when as many notifications have come as there are
    // requests, all have. The oldest has met every one of them.
    uint32_t met = 0;
    for (const LifeIndex index : candidates) {
      met = std::max(met, ++lives_[index].notifications);
    }
    if (met >= candidates.size()) {
      for (const LifeIndex index : candidates) End(index, event.time_ns, NodeEnd::kObserved, 0);
    }
  }
  NoteCompletion(ring, event, 0);
}

// Neither object nor "more": a MSG_RING request of some ring posted it, or a registered resource
// with a tag was freed. The post carries no attribute of its sender, so no sender is ever chosen.
void IoUringAdapter::CompletePost(const Event& event) {
  Ring& ring = *rings_[RingOf(event.key2.lo, event.time_ns)];
  std::vector<LifeIndex> candidates = open_posts_;
  std::sort(candidates.begin(), candidates.end(),
            [this](LifeIndex a, LifeIndex b) { return lives_[a].node < lives_[b].node; });
  const Loss births = context_.breaks().Lost(0, event.time_ns, births_, 0);
  if (!candidates.empty()) {
    OrphanAmbiguous(event, candidates, "a registered resource");
  } else if (births.any) {
    AddTakeUpOrphan(event, 0, OrphanReason::kInCoverageBreak, BreakNames(births.breaks));
  } else if (event.level == Level::kTask && !context_.Current(event).followed) {
    AddTakeUpOrphan(
        event, 0, OrphanReason::kPeerNotRecorded,
        "posted by thread " + std::to_string(event.tid) + "/" + std::to_string(event.tgid));
  } else if (saw_post_request_) {
    OrphanAmbiguous(event, candidates, "a MSG_RING request that has completed");
  } else {
    AddTakeUpOrphan(event, 0, OrphanReason::kHookUnavailable,
                    "posted by no request: no hook tells the end of a registered resource");
  }
  NoteCompletion(ring, event, 0);
}

// The queue was full: the kernel tells ring and user_data only, and never again of this completion.
void IoUringAdapter::Overflow(const Event& event) {
  Ring& ring = *rings_[RingOf(event.key2.lo, event.time_ns)];
  const uint32_t flags = CqeFlags(event);
  const bool is_notification = (flags & kCqeNotification) != 0;
  const bool has_more = (flags & kCqeMore) != 0;
  std::vector<LifeIndex> candidates = lives_.Find(ring, event.arg);
  std::erase_if(candidates, [&](LifeIndex index) {
    const Life& life = lives_[index];
    if (life.object_released != is_notification) return true;
    return has_more && !CanBeMultishot(life.opcode) && life.opcode != kSendZc &&
           life.opcode != kSendmsgZc;
  });
  // Posts of MSG_RING overflow as well, and carry any user_data they like.
  if (candidates.size() == 1 && !saw_post_request_) {
    const Verdict verdict = CheckUserData(lives_[candidates[0]], event, "overflow-user-data");
    if (verdict.join) {
      Join(candidates[0], event, verdict);
      DropEmptyPoint(ring);
      return;
    }
    lives_[candidates[0]].maybe_ended = true;
    AddTakeUpOrphan(event, 0, verdict.reason, verdict.proof);
  } else if (candidates.empty() && !saw_post_request_) {
    OrphanWithoutCandidate(event);
  } else {
    for (const LifeIndex index : candidates) lives_[index].maybe_ended = true;
    OrphanAmbiguous(event, candidates, saw_post_request_ ? "a MSG_RING request" : nullptr);
  }
  NoteCompletion(ring, event, 0);
  DropEmptyPoint(ring);
}

}  // namespace cprof::io_uring
