// A window over a byte source: as much of the file as one chunk needs, never all of it.
#ifndef CPROF_FORMAT_WINDOW_H_
#define CPROF_FORMAT_WINDOW_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "format/reader.h"

namespace cprof {

class Window {
 public:
  explicit Window(ByteSource& source) : source_(source) {}

  // Offset in the file of the first byte not yet passed.
  uint64_t offset() const { return offset_; }
  std::span<const uint8_t> bytes() const {
    return std::span(buffer_).subspan(begin_, end_ - begin_);
  }
  // Set once the source has failed; reading then goes on as if the file ended there.
  const Result<void>& failure() const { return failure_; }

  // Tries to have `size` bytes ready and returns how many there are, more or fewer.
  size_t Need(size_t size) {
    while (end_ - begin_ < size && !ended_) Fill(size);
    return end_ - begin_;
  }
  // Passes bytes that are ready.
  void Skip(size_t size) {
    CPROF_CHECK(size <= end_ - begin_);
    begin_ += size;
    offset_ += size;
  }

 private:
  // What is read at once; it doubles from the first to the second.
  static constexpr size_t kFirstReadBytes = 4U << 10;
  static constexpr size_t kMaxReadBytes = 256U << 10;

  void Fill(size_t size) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    // Grows with what has come, whatever size a chunk claims to have.
    const size_t room =
        std::clamp(2 * buffer_.size(), kFirstReadBytes, std::max(size, kMaxReadBytes));
    if (was_filled_ && room > buffer_.size()) buffer_.resize(room);
    auto result = source_.Read(std::span(buffer_).subspan(end_));
    if (!result) failure_ = result.error();
    if (!result || *result == 0) {
      ended_ = true;
      return;
    }
    end_ += *result;
    was_filled_ = end_ == buffer_.size();
  }

  ByteSource& source_;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;
  bool was_filled_ = true;  // the last read brought all that there was room for
  bool ended_ = false;
  Result<void> failure_;
};

}  // namespace cprof

#endif  // CPROF_FORMAT_WINDOW_H_
