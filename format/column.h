// One column of numbers on disk. Encodings and their numbers: cprof-format(5), COLUMNS.
#ifndef CPROF_FORMAT_COLUMN_H_
#define CPROF_FORMAT_COLUMN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "format/cursor.h"

namespace cprof {

enum class Encoding : uint8_t {
  kConstant = 0,    // one value
  kCounting = 1,    // first value and step
  kPlain = 2,       // least value, then what each is above it, in byte planes
  kDelta = 3,       // first value, least step, then what each step is above it, in byte planes
  kDictionary = 4,  // the values that occur, then an index for each in byte planes
  kRuns = 5,        // pairs of value and how often it repeats
};

// Chooses the encoding that takes the fewest bytes before compression. Not thread-safe.
class ColumnEncoder {
 public:
  // Appends encoding, size and column. values is not empty.
  void Encode(std::span<const uint64_t> values, Builder& out);

 private:
  struct Shape;
  static Shape Measure(std::span<const uint64_t> values);
  bool BuildDictionary(std::span<const uint64_t> values, size_t limit);
  void Body(std::span<const uint64_t> values, const Shape& shape, Encoding encoding);

  Builder body_;
  std::vector<uint64_t> scratch_;
  std::vector<uint64_t> entries_;  // of the dictionary
  std::vector<uint32_t> slots_;    // its hash table, entry index + 1
  std::vector<uint64_t> indexes_;  // of each value
};

// A decoded column: either one value for all, or a value for each.
struct ColumnValues {
  bool constant = true;
  uint64_t value = 0;
  std::vector<uint64_t> values;
};

// Reads one column of `count` numbers. Makes the cursor fail where it does not hold them.
// An encoding of the future is passed over, and known is set to false.
void DecodeColumn(Cursor& in, size_t count, ColumnValues& column, bool& known);

}  // namespace cprof

#endif  // CPROF_FORMAT_COLUMN_H_
