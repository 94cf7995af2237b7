// Joins what a program says of its io_uring requests with the requests that the kernel shows.
#include "report/adapters/app_io.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cprof::app {
namespace {

constexpr Verb kSubmitVerbs[] = {verbs::kIoUringSubmit, verbs::kIoUringReqFailed};
constexpr Verb kCompleteVerbs[] = {verbs::kIoUringComplete, verbs::kIoUringOverflow};
constexpr Verb kEdgeVerbs[] = {verbs::kAppEdge};

std::string Describe(const IoReference& reference) {
  return "fd " + std::to_string(reference.fd) + " user_data " +
         std::to_string(reference.user_data) + " of process " + std::to_string(reference.tgid);
}

}  // namespace

IoReferences::IoReferences(JoinContext& context)
    : context_(context),
      submits_(MakeVerbSet(kSubmitVerbs)),
      completes_(MakeVerbSet(kCompleteVerbs)),
      edges_(MakeVerbSet(kEdgeVerbs)) {}

void IoReferences::Orphaned(const IoReference& reference, OrphanReason reason, std::string proof) {
  Orphan orphan;
  orphan.type = reference.type;
  orphan.half = Role::kHandOut;
  orphan.node = reference.node;
  orphan.thread = reference.thread;
  orphan.event = reference.event;
  orphan.time_ns = reference.time_ns;
  orphan.reason = reason;
  orphan.proof = std::move(proof);
  context_.AddOrphan(&orphan);
}

void IoReferences::Join(const IoReference& reference, const IoRequestView& view, const char* rule) {
  Edge edge;
  edge.type = reference.type;
  edge.source = Source::kApplication;
  edge.rule = rule;
  edge.confidence = rule == nullptr ? Confidence::kObserved : Confidence::kReconstructed;
  if (view.completed) {
    edge.src = view.node;
    edge.src_time_ns = view.complete_ns;
    edge.src_event = view.complete_event;
    edge.src_thread = view.complete_thread;
    edge.dst = reference.node;
    edge.dst_time_ns = reference.time_ns;
    edge.dst_event = reference.event;
    edge.dst_thread = reference.thread;
  } else {
    edge.src = reference.node;
    edge.src_time_ns = reference.time_ns;
    edge.src_event = reference.event;
    edge.src_thread = reference.thread;
    edge.dst = view.node;
    edge.dst_time_ns = view.submit_ns;
    edge.dst_event = view.submit_event;
    edge.dst_thread = view.submit_thread;
  }
  context_.CountJoined(1);
  context_.AddEdge(&edge);
}

void IoReferences::NameSubmit(const IoReference& reference) {
  pending_[KeyOf(reference)].push_back(reference);
}

void IoReferences::OnIoRequest(const IoRequestView& view) {
  if (view.tgid != last_followed_ && !followed_.contains(view.tgid)) return;
  if (view.completed) {
    OnComplete(view);
  } else {
    OnSubmit(view);
  }
}

void IoReferences::OnSubmit(const IoRequestView& view) {
  if (pending_.empty()) return;
  const auto found = pending_.find({view.tgid, view.fd, view.user_data});
  if (found == pending_.end()) return;
  std::vector<IoReference>& names = found->second;
  // A submit, or another name for the same key, may be missing in between.
  const uint64_t from_ns = names.front().time_ns;
  Loss loss = context_.breaks().Lost(from_ns, view.submit_ns, submits_, 0);
  if (!loss.any) {
    loss = context_.breaks().LostIn(view.tgid, from_ns, view.submit_ns, edges_,
                                    SignatureBit(view.user_data));
  }
  if (loss.any) {
    for (const IoReference& name : names) {
      Orphaned(name, OrphanReason::kInCoverageBreak, BreakNames(loss.breaks));
    }
    pending_.erase(found);
    return;
  }
  const bool one_owner = std::all_of(names.begin(), names.end(), [&](const IoReference& name) {
    return name.node == names.front().node && name.type == names.front().type;
  });
  if (one_owner) {
    // Several SQEs of one owner: whichever this is, it is that owner's.
    Join(names.front(), view, names.size() == 1 ? nullptr : "one-owner");
    names.erase(names.begin());
    if (names.empty()) pending_.erase(found);
    return;
  }
  std::string candidates;
  for (const IoReference& name : names) {
    if (!candidates.empty()) candidates += ", ";
    candidates += "node " + std::to_string(name.node);
  }
  for (const IoReference& name : names) {
    Orphaned(name, OrphanReason::kAmbiguous,
             Describe(name) + " was named by " + candidates + " before " +
                 JoinContext::EventName(view.submit_event));
  }
  pending_.erase(found);
}

void IoReferences::OnComplete(const IoRequestView& view) {
  const RingKey key{view.tgid, view.fd, view.user_data};
  const auto [entry, is_new] = untaken_.try_emplace(key);
  if (is_new) untaken_order_.push_back(key);
  Untaken& untaken = entry->second;
  if (untaken.views.size() < kMaxUntakenOfKey) {
    untaken.views.push_back(view);
  } else {
    untaken.overflowed = true;
  }
  // Names come soon after completions; what was not named for so long never will be.
  while (untaken_order_.size() > kMaxUntaken) {
    untaken_.erase(untaken_order_.front());
    untaken_order_.pop_front();
  }
}

void IoReferences::WithoutCompletion(const IoReference& reference) {
  const auto open =
      context_.io_requests == nullptr
          ? std::vector<IoRequestView>{}
          : context_.io_requests->FindIoRequests(reference.tgid, reference.fd, reference.user_data);
  uint64_t since_ns = reference.time_ns;
  for (const IoRequestView& view : open) since_ns = std::min(since_ns, view.submit_ns);
  if (open.empty()) since_ns = context_.header().t0_ns;
  const Loss loss = context_.breaks().Lost(since_ns, reference.time_ns, completes_, 0);
  if (loss.any) {
    Orphaned(reference, OrphanReason::kInCoverageBreak, BreakNames(loss.breaks));
    return;
  }
  const auto& adapters = context_.header().adapters;
  if (!adapters.empty() &&
      std::find(adapters.begin(), adapters.end(), "io_uring") == adapters.end()) {
    Orphaned(reference, OrphanReason::kHookUnavailable, "io_uring is not recorded");
    return;
  }
  Orphaned(reference, OrphanReason::kPeerNotRecorded,
           "no completion of " + Describe(reference) + " that was not named before");
}

void IoReferences::NameResume(const IoReference& reference) {
  const auto found = untaken_.find(KeyOf(reference));
  if (found == untaken_.end()) {
    WithoutCompletion(reference);
    return;
  }
  Untaken& untaken = found->second;
  if (untaken.views.size() > 1 || untaken.overflowed) {
    std::string candidates;
    for (const IoRequestView& view : untaken.views) {
      if (!candidates.empty()) candidates += ", ";
      candidates += JoinContext::EventName(view.complete_event);
    }
    if (untaken.overflowed) candidates += ", and more";
    Orphaned(reference, OrphanReason::kAmbiguous,
             "completions of " + Describe(reference) + ": " + candidates);
    ++untaken.taken;
    if (!untaken.overflowed && untaken.taken == untaken.views.size()) untaken.views.clear();
  } else {
    const IoRequestView& view = untaken.views.front();
    Loss loss = context_.breaks().Lost(view.complete_ns, reference.time_ns, completes_, 0);
    if (!loss.any) {
      loss = context_.breaks().Lost(view.complete_ns, reference.time_ns, edges_,
                                    SignatureBit(reference.user_data));
    }
    if (loss.any) {
      Orphaned(reference, OrphanReason::kInCoverageBreak, BreakNames(loss.breaks));
    } else {
      Join(reference, view, nullptr);
    }
    untaken.views.clear();
  }
  if (untaken.views.empty() && !untaken.overflowed) {
    untaken_.erase(found);
    const RingKey key = KeyOf(reference);
    // Nearly always among the latest.
    const auto order = std::find(untaken_order_.rbegin(), untaken_order_.rend(), key);
    if (order != untaken_order_.rend()) untaken_order_.erase(std::next(order).base());
  }
}

void IoReferences::EndProcess(uint32_t tgid) {
  followed_.erase(tgid);
  last_followed_ = kNobody;
  const RingKey first{tgid, 0, 0};
  auto name = pending_.lower_bound(first);
  while (name != pending_.end() && name->first.tgid == tgid) {
    for (const IoReference& reference : name->second) {
      Orphaned(reference, OrphanReason::kSuperseded, "the process called exec");
    }
    name = pending_.erase(name);
  }
  auto untaken = untaken_.lower_bound(first);
  while (untaken != untaken_.end() && untaken->first.tgid == tgid) {
    untaken = untaken_.erase(untaken);
  }
  std::erase_if(untaken_order_, [tgid](const RingKey& key) { return key.tgid == tgid; });
}

void IoReferences::Finish() {
  std::vector<IoReference> open;
  for (const auto& [key, names] : pending_) open.insert(open.end(), names.begin(), names.end());
  std::sort(open.begin(), open.end(), [](const IoReference& a, const IoReference& b) {
    if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
    return std::pair(a.event.stream, a.event.sequence) <
           std::pair(b.event.stream, b.event.sequence);
  });
  for (const IoReference& reference : open) {
    const Loss loss = context_.breaks().Lost(reference.time_ns, UINT64_MAX, submits_, 0);
    if (loss.any) {
      Orphaned(reference, OrphanReason::kInCoverageBreak, BreakNames(loss.breaks));
    } else {
      Orphaned(reference, OrphanReason::kOpenAtEnd,
               Describe(reference) + " was not submitted before the end");
    }
  }
  pending_.clear();
}

}  // namespace cprof::app
