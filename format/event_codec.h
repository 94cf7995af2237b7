// Events to the payload of an events chunk and back. The law is cprof-format(5), EVENTS.
#ifndef CPROF_FORMAT_EVENT_CODEC_H_
#define CPROF_FORMAT_EVENT_CODEC_H_

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "format/column.h"
#include "format/cursor.h"
#include "format/reader.h"
#include "format/recording.h"

namespace cprof {

// Columns of one verb. Numbers on disk.
enum class ColumnId : uint8_t {
  kKeyLo = 1,
  kKeyHi = 2,
  kKey2Lo = 3,
  kKey2Hi = 4,
  kArg = 5,
  kArg2 = 6,
  kName = 7,
  kDomain = 8,
  kDomain2 = 9,
  kOtherThread = 10,  // key.lo and key2.lo as an index into the chunk's thread table
};
inline constexpr size_t kColumnIdCount = 11;

// The chunk's own table of threads, with a hash index while it is being made.
class ThreadDictionary {
 public:
  void Clear();
  uint32_t IndexOf(const ThreadKey& thread);
  std::vector<ThreadKey> threads;

 private:
  void Grow();
  std::vector<uint32_t> slots_;  // index + 1
};

// Keeps its buffers between chunks. Not thread-safe.
class EventEncoder {
 public:
  // Appends the payload to out. `stream` is repeated in it, `strings` are those of the writer.
  // At least one event, at most kMaxChunkRecords.
  void Encode(const StreamInfo& stream, std::span<const Event> events, const StringTable& strings,
              Builder& out);

 private:
  struct Group {
    Verb verb = 0;
    bool other_thread = false;
    size_t count = 0;
    size_t filled = 0;
    size_t base = 0;                              // of its columns in matrix_
    std::array<uint64_t, kColumnIdCount> used{};  // all values of a column or-ed
  };

  uint32_t LocalString(StringId id);
  void CountGroups(std::span<const Event> events);
  void Scatter(std::span<const Event> events);
  void WriteTables(const StringTable& strings, Builder& out);
  void WriteGroups(Builder& out);

  ColumnEncoder columns_;
  ThreadDictionary threads_;
  std::vector<Group> groups_;
  std::array<uint8_t, 256> group_of_{};
  std::vector<uint64_t> matrix_;                 // all columns of all groups
  std::array<std::vector<uint64_t>, 6> common_;  // verb, time, sequence, thread, level, flags
  std::vector<uint32_t> local_of_;               // writer's string id to chunk's, + 1
  std::vector<StringId> used_strings_;
};

// Keeps its buffers between chunks. Not thread-safe.
class EventDecoder {
 public:
  // Decodes `count` events; their strings are interned in `strings`. The span is valid until the
  // next call. The cursor fails where the payload is not well formed.
  std::span<const Event> Decode(Cursor& in, StreamId id, size_t count, StringTable& strings,
                                StreamInfo* stream);

 private:
  // Where the values of one field come from: step 0 repeats one value, 1 walks.
  struct Feed {
    const uint64_t* at = nullptr;
    size_t step = 0;
    uint64_t Next() {
      const uint64_t value = *at;
      at += step;
      return value;
    }
  };
  struct Group {
    Verb verb = 0;
    bool other_thread = false;
    size_t left = 0;
    std::array<Feed, kColumnIdCount> feeds;
  };

  void Reset();
  bool ReadTables(Cursor& in, size_t count, StringTable& strings);
  bool ReadCommon(Cursor& in, size_t count);
  bool ReadGroup(Cursor& in);
  bool Adopt(size_t id, ColumnValues& column, size_t count, Group& group);
  bool Assemble(StreamId id, size_t count);

  std::vector<Event> events_;
  std::vector<ThreadKey> threads_;
  std::vector<StringId> strings_;
  std::array<ColumnValues, 6> common_;
  std::vector<Group> groups_;             // of this chunk, behind one that is empty
  std::array<uint16_t, 256> group_of_{};  // by verb; 0: none
  std::deque<ColumnValues> columns_;      // never move, since feeds point into them
  size_t columns_used_ = 0;
  size_t rows_left_ = 0;
};

// The announcement of a stream: its payload in a stream chunk, its first fields in event chunks.
void EncodeStream(const StreamInfo& stream, Builder& out);
StreamInfo DecodeStream(Cursor& in, StreamId id);

}  // namespace cprof

#endif  // CPROF_FORMAT_EVENT_CODEC_H_
