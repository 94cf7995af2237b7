// Keeps breaks by time, so that a join asks only those that overlap it.
#include "report/breaks.h"

#include <algorithm>
#include <string>

#include "report/mutation.h"

namespace cprof {

VerbSet MakeVerbSet(std::span<const Verb> verbs) {
  VerbSet set;
  for (const Verb verb : verbs) set.set(verb);
  return set;
}

// The verbs that a stream of this kind can carry: what a break without counts may have lost.
const VerbSet& BreakTable::VerbsOf(StreamKind kind) {
  VerbSet& verbs = carried_[static_cast<size_t>(kind)];
  if (verbs.any()) return verbs;
  for (const VerbInfo& info : AllVerbs()) {
    StreamKind carrier = StreamKind::kEdgeCpu;
    if (info.adapter == Adapter::kRecorder) carrier = StreamKind::kRecorder;
    if (info.role == Role::kSample) carrier = StreamKind::kContextCpu;
    if (info.adapter == Adapter::kApp && info.verb != verbs::kAppRing) carrier = StreamKind::kApp;
    if (carrier == kind) verbs.set(info.verb);
  }
  return verbs;
}

void BreakTable::AddStream(const StreamInfo& stream) {
  // Stream ids are dense, handed out by the recorder; a reader refuses others.
  if (streams_.size() <= stream.id) streams_.resize(stream.id + size_t{1});
  streams_[stream.id] = stream;
}

BreakId BreakTable::Add(const Break& lost) {
  Entry entry;
  entry.id = ++last_id_;
  entry.from_ns = lost.from_ns;
  entry.to_ns = std::max(lost.from_ns, lost.to_ns);
  entry.signature = lost.signature;
  entry.stream = lost.stream;
  entry.total = lost.total;
  if (lost.lost.empty()) {
    const bool known = lost.stream < streams_.size();
    entry.verbs = VerbsOf(known ? streams_[lost.stream].kind : StreamKind::kEdgeCpu);
    if (lost.stream == kEveryStream) entry.verbs.set();
    entry.countless = true;
  }
  for (const auto& [verb, count] : lost.lost) {
    if (verb >= kVerbCount || count == 0) continue;
    entry.verbs.set(verb);
    entry.counts.emplace_back(verb, count);
  }
  const auto position = std::upper_bound(
      entries_.begin(), entries_.end(), entry.from_ns,
      [](uint64_t from_ns, const Entry& other) { return from_ns < other.from_ns; });
  const auto index = static_cast<size_t>(position - entries_.begin());
  latest_to_ns_ = std::max(latest_to_ns_, entry.to_ns);
  entries_.insert(position, std::move(entry));
  for (size_t i = index; i < entries_.size(); ++i) {
    const uint64_t before = i == 0 ? 0 : entries_[i - 1].prefix_max_to_ns;
    entries_[i].prefix_max_to_ns = std::max(before, entries_[i].to_ns);
  }
  return last_id_;
}

template <typename Accept>
Loss BreakTable::Collect(uint64_t from_ns, uint64_t to_ns, const VerbSet& verbs,
                         Accept accept) const {
  Loss loss;
  // Equal stamps leave the order undecided, so a break that only meets an end of the interval
  // counts.
  auto position = std::upper_bound(
      entries_.begin(), entries_.end(), to_ns,
      [](uint64_t time_ns, const Entry& entry) { return time_ns < entry.from_ns; });
  while (position != entries_.begin()) {
    --position;
    if (position->prefix_max_to_ns < from_ns) break;
    if (position->to_ns < from_ns || (position->verbs & verbs).none() || !accept(*position))
      continue;
    loss.any = true;
    loss.breaks.push_back(position->id);
    if (position->countless) {
      loss.count += position->total;
      if (position->total == 0) loss.countless = true;
    }
    for (const auto& [verb, count] : position->counts) {
      if (verbs.test(verb)) loss.count += count;
    }
  }
  std::sort(loss.breaks.begin(), loss.breaks.end());
  return loss;
}

Loss BreakTable::Lost(uint64_t from_ns, uint64_t to_ns, const VerbSet& verbs,
                      uint64_t signature) const {
  if (CPROF_RULE_REMOVED(kBreak) || !MayOverlap(from_ns, to_ns)) return {};
  return Collect(from_ns, to_ns, verbs, [signature](const Entry& entry) {
    return (entry.signature & signature) == signature;
  });
}

Loss BreakTable::LostIn(uint32_t tgid, uint64_t from_ns, uint64_t to_ns, const VerbSet& verbs,
                        uint64_t signature) const {
  if (!MayOverlap(from_ns, to_ns)) return {};
  return Collect(from_ns, to_ns, verbs, [&](const Entry& entry) {
    if (entry.stream < streams_.size()) {
      const StreamInfo& stream = streams_[entry.stream];
      if (stream.kind == StreamKind::kApp && stream.tgid != tgid) return false;
    }
    return (entry.signature & signature) == signature;
  });
}

Loss BreakTable::LostOn(StreamId stream, uint64_t from_ns, uint64_t to_ns,
                        const VerbSet& verbs) const {
  if (CPROF_RULE_REMOVED(kBreak) || !MayOverlap(from_ns, to_ns)) return {};
  return Collect(from_ns, to_ns, verbs, [stream](const Entry& entry) {
    return entry.stream == stream || entry.stream == kEveryStream;
  });
}

std::string BreakNames(const std::vector<BreakId>& breaks) {
  std::string text;
  const size_t named = std::min(breaks.size(), kMaxNamedBreaks);
  for (size_t i = 0; i < named; ++i) {
    if (!text.empty()) text += ", ";
    text += "break " + std::to_string(breaks[i]);
  }
  if (named < breaks.size()) {
    text += " and " + std::to_string(breaks.size() - named) + " more up to break " +
            std::to_string(breaks.back());
  }
  return text;
}

}  // namespace cprof
