// The only code that touches raw bytes of a recording: a bounds-checked cursor to read, and a
// builder to write.
#ifndef CPROF_FORMAT_CURSOR_H_
#define CPROF_FORMAT_CURSOR_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace cprof {

inline uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// Reads from a span. A read beyond the end, or a malformed varint, gives 0 or an empty span, and
// makes ok() false for good: callers check once, at the end or before they allocate.
class Cursor {
 public:
  explicit Cursor(std::span<const uint8_t> bytes) : at_(bytes.data()), left_(bytes.size()) {}

  bool ok() const { return ok_; }
  size_t left() const { return left_; }

  std::span<const uint8_t> Bytes(uint64_t size) {
    if (!ok_ || size > left_) return Fail();
    const std::span<const uint8_t> bytes(at_, static_cast<size_t>(size));
    at_ += size;
    left_ -= static_cast<size_t>(size);
    return bytes;
  }

  // A little-endian number of sizeof(T) bytes.
  template <typename T>
  T Fixed() {
    const auto bytes = Bytes(sizeof(T));
    if (bytes.empty()) return 0;
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) value |= uint64_t{bytes[i]} << (8 * i);
    return static_cast<T>(value);
  }

  uint64_t Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (!ok_ || left_ == 0) return Fail(), 0;
      const uint8_t byte = *at_++;
      --left_;
      if (shift == 63 && byte > 1) return Fail(), 0;
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    return Fail(), 0;
  }
  // A varint that must fit T.
  template <typename T>
  T Varint() {
    const uint64_t value = Varint();
    if (value > static_cast<T>(~T{0})) return Fail(), T{0};
    return static_cast<T>(value);
  }
  // A count, at most `most`, of things that take at least `size` bytes each in what is left.
  size_t Count(size_t size, size_t most) {
    const uint64_t count = Varint();
    if (count > left_ / size || count > most) return Fail(), 0;
    return static_cast<size_t>(count);
  }
  std::string_view Text() {
    const auto bytes = Bytes(Varint());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::span<const uint8_t> Fail() {
    ok_ = false;
    left_ = 0;
    return {};
  }

 private:
  const uint8_t* at_;
  size_t left_;
  bool ok_ = true;
};

// Appends to a vector that it owns; Clear keeps the memory.
class Builder {
 public:
  void Clear() { bytes_.clear(); }
  void Reserve(size_t size) { bytes_.reserve(size); }
  std::span<const uint8_t> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

  template <typename T>
  void Fixed(T value) {
    uint8_t bytes[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes[i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
    }
    Bytes(bytes);
  }
  void Varint(uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<uint8_t>(value));
  }
  void Bytes(std::span<const uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void Text(std::string_view text) {
    Varint(text.size());
    Bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  // Room for `size` bytes that the caller fills before the next call.
  std::span<uint8_t> Room(size_t size) {
    bytes_.resize(bytes_.size() + size);
    return std::span(bytes_).last(size);
  }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace cprof

#endif  // CPROF_FORMAT_CURSOR_H_
