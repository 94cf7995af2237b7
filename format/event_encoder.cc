// Events into columns: one pass over the events fills all columns, one pass over each column
// writes it.
#include <algorithm>

#include "format/chunk.h"
#include "format/event_codec.h"
#include "format/result.h"

namespace cprof {

namespace {

size_t HashOf(const ThreadKey& thread) { return std::hash<ThreadKey>{}(thread); }

}  // namespace

void ThreadDictionary::Clear() {
  threads.clear();
  slots_.assign(1024, 0);
}

void ThreadDictionary::Grow() {
  slots_.assign(slots_.size() * 2, 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < threads.size(); ++i) {
    size_t slot = HashOf(threads[i]) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

uint32_t ThreadDictionary::IndexOf(const ThreadKey& thread) {
  const size_t mask = slots_.size() - 1;
  size_t slot = HashOf(thread) & mask;
  while (slots_[slot] != 0) {
    if (threads[slots_[slot] - 1] == thread) return slots_[slot] - 1;
    slot = (slot + 1) & mask;
  }
  threads.push_back(thread);
  slots_[slot] = static_cast<uint32_t>(threads.size());
  if (threads.size() * 2 > slots_.size()) Grow();
  return static_cast<uint32_t>(threads.size() - 1);
}

void EncodeStream(const StreamInfo& stream, Builder& out) {
  out.Varint(static_cast<uint64_t>(stream.kind));
  out.Varint(stream.cpu);
  out.Varint(stream.tgid);
  out.Varint(stream.slot);
}

uint32_t EventEncoder::LocalString(StringId id) {
  if (id == 0) return 0;
  if (id >= local_of_.size()) local_of_.resize(id + 1);
  if (local_of_[id] == 0) {
    used_strings_.push_back(id);
    local_of_[id] = static_cast<uint32_t>(used_strings_.size());
  }
  return local_of_[id];
}

void EventEncoder::CountGroups(std::span<const Event> events) {
  std::array<uint32_t, 256> counts{};
  for (const Event& event : events) ++counts[event.verb];
  groups_.clear();
  size_t base = 0;
  for (size_t verb = 0; verb < counts.size(); ++verb) {
    if (counts[verb] == 0) continue;
    group_of_[verb] = static_cast<uint8_t>(groups_.size());
    Group& group = groups_.emplace_back();
    group.verb = static_cast<Verb>(verb);
    const VerbInfo* info = FindVerb(group.verb);
    group.other_thread = info != nullptr && info->key == "thread";
    group.count = counts[verb];
    group.base = base;
    base += group.count * kColumnIdCount;
  }
  if (matrix_.size() < base) matrix_.resize(base);
  for (auto& column : common_) column.resize(events.size());
}

void EventEncoder::Scatter(std::span<const Event> events) {
  ThreadKey expected;
  auto& [verb, time, sequence, thread, level, flags] = common_;
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    verb[i] = event.verb;
    time[i] = event.time_ns;
    sequence[i] = event.sequence;
    level[i] = static_cast<uint64_t>(event.level);
    flags[i] = event.flags;
    const ThreadKey executing = ExecutingThread(event);
    thread[i] = executing == expected ? 0 : threads_.IndexOf(executing) + uint64_t{1};
    expected = executing;

    Group& group = groups_[group_of_[event.verb]];
    uint64_t* row = matrix_.data() + group.base + group.filled++;
    const size_t stride = group.count;
    const auto put = [&](ColumnId id, uint64_t value) {
      row[static_cast<size_t>(id) * stride] = value;
      group.used[static_cast<size_t>(id)] |= value;
    };
    if (group.other_thread) {
      const ThreadKey other = OtherThread(event);
      put(ColumnId::kOtherThread, threads_.IndexOf(other));
      if (event.verb == verbs::kSchedSwitch) expected = other;
    } else {
      put(ColumnId::kKeyLo, event.key.lo);
      put(ColumnId::kKey2Lo, event.key2.lo);
    }
    put(ColumnId::kKeyHi, event.key.hi);
    put(ColumnId::kKey2Hi, event.key2.hi);
    put(ColumnId::kArg, event.arg);
    put(ColumnId::kArg2, event.arg2);
    put(ColumnId::kName, LocalString(event.name));
    put(ColumnId::kDomain, LocalString(event.domain));
    put(ColumnId::kDomain2, LocalString(event.domain2));
  }
}

void EventEncoder::WriteTables(const StringTable& strings, Builder& out) {
  out.Varint(used_strings_.size());
  for (const StringId id : used_strings_) {
    out.Text(strings.Get(id));
    local_of_[id] = 0;
  }
  used_strings_.clear();
  out.Varint(threads_.threads.size());
  for (const ThreadKey& thread : threads_.threads) {
    out.Varint(thread.start_time_ns);
    out.Varint(thread.tid);
    out.Varint(thread.tgid);
  }
}

void EventEncoder::WriteGroups(Builder& out) {
  out.Varint(groups_.size());
  for (const Group& group : groups_) {
    const auto wanted = [&](size_t id) {
      return group.used[id] != 0 ||
             (group.other_thread && id == static_cast<size_t>(ColumnId::kOtherThread));
    };
    size_t columns = 0;
    for (size_t id = 1; id < kColumnIdCount; ++id) columns += wanted(id);
    out.Varint(group.verb);
    out.Varint(group.count);
    out.Varint(columns);
    for (size_t id = 1; id < kColumnIdCount; ++id) {
      if (!wanted(id)) continue;
      out.Varint(id);
      columns_.Encode({matrix_.data() + group.base + id * group.count, group.count}, out);
    }
  }
}

void EventEncoder::Encode(const StreamInfo& stream, std::span<const Event> events,
                          const StringTable& strings, Builder& out) {
  CPROF_CHECK(!events.empty() && events.size() <= kMaxChunkRecords);
  threads_.Clear();
  CountGroups(events);
  Scatter(events);
  EncodeStream(stream, out);
  WriteTables(strings, out);
  for (const auto& column : common_) columns_.Encode(column, out);
  WriteGroups(out);
}

}  // namespace cprof
