// Columns back into events. Everything is checked against its table before a row is made.
#include <algorithm>

#include "format/chunk.h"
#include "format/event_codec.h"

namespace cprof {
namespace {

enum Common { kVerb, kTime, kSequence, kThread, kLevel, kFlags };

constexpr uint64_t kZero = 0;

bool AllAtMost(const ColumnValues& column, uint64_t most) {
  if (column.constant) return column.value <= most;
  uint64_t largest = 0;
  for (const uint64_t value : column.values) largest = std::max(largest, value);
  return largest <= most;
}

}  // namespace

StreamInfo DecodeStream(Cursor& in, StreamId id) {
  StreamInfo stream;
  stream.id = id;
  const auto kind = in.Varint<uint8_t>();
  if (kind > static_cast<uint8_t>(StreamKind::kRecorder)) in.Fail();
  stream.kind = static_cast<StreamKind>(kind);
  stream.cpu = in.Varint<uint32_t>();
  stream.tgid = in.Varint<uint32_t>();
  stream.slot = in.Varint<uint32_t>();
  return stream;
}

bool EventDecoder::ReadTables(Cursor& in, size_t count, StringTable& strings) {
  // An event names three strings and two threads at most.
  const size_t string_count = in.Count(1, 3 * count);
  strings_.assign(1, 0);
  for (size_t i = 0; i < string_count && in.ok(); ++i) {
    const std::string_view text = in.Text();
    if (in.ok()) strings_.push_back(strings.Intern(text));
  }
  const size_t thread_count = in.Count(3, 2 * count);
  threads_.clear();
  for (size_t i = 0; i < thread_count && in.ok(); ++i) {
    ThreadKey thread;
    thread.start_time_ns = in.Varint();
    thread.tid = in.Varint<uint32_t>();
    thread.tgid = in.Varint<uint32_t>();
    threads_.push_back(thread);
  }
  return in.ok();
}

bool EventDecoder::ReadCommon(Cursor& in, size_t count) {
  for (ColumnValues& column : common_) {
    bool known = true;
    DecodeColumn(in, count, column, known);
    if (!in.ok() || !known) return false;
  }
  return AllAtMost(common_[kVerb], 0xff) && AllAtMost(common_[kThread], threads_.size()) &&
         AllAtMost(common_[kLevel], static_cast<uint64_t>(Level::kUnknown)) &&
         AllAtMost(common_[kFlags], 0xffff);
}

// Checks a column of a group, turns local string ids into those of the recording, and connects it.
bool EventDecoder::Adopt(size_t id, ColumnValues& column, size_t count, Group& group) {
  switch (static_cast<ColumnId>(id)) {
    case ColumnId::kName:
    case ColumnId::kDomain:
    case ColumnId::kDomain2:
      if (!AllAtMost(column, strings_.size() - 1)) return false;
      if (column.constant) {
        column.value = strings_[static_cast<size_t>(column.value)];
        break;
      }
      for (size_t i = 0; i < count; ++i) {
        column.values[i] = strings_[static_cast<size_t>(column.values[i])];
      }
      break;
    case ColumnId::kOtherThread:
      if (threads_.empty() || !AllAtMost(column, threads_.size() - 1)) return false;
      group.other_thread = true;
      break;
    default: break;
  }
  group.feeds[id] = column.constant ? Feed{&column.value, 0} : Feed{column.values.data(), 1};
  return true;
}

bool EventDecoder::ReadGroup(Cursor& in) {
  const auto verb = in.Varint<uint8_t>();
  const uint64_t count = in.Varint();
  const size_t column_count = in.Count(3, 0xff);
  // All groups together have the chunk's events: that bounds what their columns may take.
  if (!in.ok() || count == 0 || count > rows_left_) return false;
  rows_left_ -= static_cast<size_t>(count);
  if (group_of_[verb] != 0) return false;
  group_of_[verb] = static_cast<uint16_t>(groups_.size());
  Group& group = groups_.emplace_back();
  group.verb = verb;
  group.left = static_cast<size_t>(count);
  group.feeds.fill({&kZero, 0});
  for (size_t i = 0; i < column_count; ++i) {
    const uint64_t id = in.Varint();
    const bool ours = id > 0 && id < kColumnIdCount;
    if (ours && group.feeds[id].at != &kZero) return false;
    if (columns_used_ == columns_.size()) columns_.emplace_back();
    ColumnValues& column = columns_[columns_used_];
    bool known = true;
    DecodeColumn(in, group.left, column, known);
    // A column that we do not know may be passed over; one that we know must be readable.
    if (!in.ok() || (ours && !known)) return false;
    if (!ours) continue;
    ++columns_used_;
    if (!Adopt(static_cast<size_t>(id), column, group.left, group)) return false;
  }
  return true;
}

bool EventDecoder::Assemble(StreamId id, size_t count) {
  std::array<Feed, 6> common;
  for (size_t i = 0; i < common.size(); ++i) {
    const ColumnValues& column = common_[i];
    common[i] = column.constant ? Feed{&column.value, 0} : Feed{column.values.data(), 1};
  }
  ThreadKey expected;
  for (size_t i = 0; i < count; ++i) {
    const auto verb = static_cast<Verb>(common[kVerb].Next());
    Group& group = groups_[group_of_[verb]];
    if (group.left == 0) return false;
    --group.left;
    const uint64_t thread = common[kThread].Next();
    if (thread != 0) expected = threads_[static_cast<size_t>(thread - 1)];
    Event& event = events_[i];
    event.time_ns = common[kTime].Next();
    event.sequence = common[kSequence].Next();
    event.start_time_ns = expected.start_time_ns;
    event.tid = expected.tid;
    event.tgid = expected.tgid;
    event.stream = id;
    event.verb = verb;
    event.level = static_cast<Level>(common[kLevel].Next());
    event.flags = static_cast<uint16_t>(common[kFlags].Next());
    auto& feeds = group.feeds;
    const auto next = [&feeds](ColumnId column) {
      return feeds[static_cast<size_t>(column)].Next();
    };
    event.key = {next(ColumnId::kKeyHi), next(ColumnId::kKeyLo)};
    event.key2 = {next(ColumnId::kKey2Hi), next(ColumnId::kKey2Lo)};
    event.arg = next(ColumnId::kArg);
    event.arg2 = next(ColumnId::kArg2);
    event.name = static_cast<StringId>(next(ColumnId::kName));
    event.domain = static_cast<StringId>(next(ColumnId::kDomain));
    event.domain2 = static_cast<StringId>(next(ColumnId::kDomain2));
    if (group.other_thread) {
      const ThreadKey& other = threads_[static_cast<size_t>(next(ColumnId::kOtherThread))];
      event.key.lo = other.start_time_ns;
      event.key2.lo = uint64_t{other.tid} | uint64_t{other.tgid} << 32;
      if (verb == verbs::kSchedSwitch) expected = other;
    }
  }
  return true;
}

void EventDecoder::Reset() {
  for (const Group& group : groups_) group_of_[group.verb] = 0;
  groups_.assign(1, {});
  columns_used_ = 0;
}

std::span<const Event> EventDecoder::Decode(Cursor& in, StreamId id, size_t count,
                                            StringTable& strings, StreamInfo* stream) {
  *stream = DecodeStream(in, id);
  Reset();
  rows_left_ = count;
  if (events_.size() < count) events_.resize(count);
  bool good = in.ok() && count > 0 && ReadTables(in, count, strings) && ReadCommon(in, count);
  const size_t group_count = good ? in.Count(3, group_of_.size()) : 0;
  for (size_t i = 0; good && i < group_count; ++i) good = ReadGroup(in);
  if (!good || !in.ok() || !Assemble(id, count)) {
    in.Fail();
    return {};
  }
  return {events_.data(), count};
}

}  // namespace cprof
