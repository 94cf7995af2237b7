// A list of plain values that is nearly always short: the first N are kept in place.
#ifndef CPROF_REPORT_FEW_H_
#define CPROF_REPORT_FEW_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

namespace cprof {

template <typename T, uint32_t N>
class Few {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Few() = default;
  Few(std::initializer_list<T> items) { assign({items.begin(), items.size()}); }
  explicit Few(std::span<const T> items) { assign(items); }
  Few(const Few& other) { assign(other); }
  Few(Few&& other) noexcept { swap(other); }
  Few& operator=(const Few& other) {
    if (this != &other) assign(other);
    return *this;
  }
  Few& operator=(Few&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Few() {
    if (capacity_ > N) delete[] place_.items;
  }

  operator std::span<const T>() const { return {data(), size_}; }
  const T* data() const { return capacity_ > N ? place_.items : place_.few; }
  T* data() { return capacity_ > N ? place_.items : place_.few; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& front() const { return *data(); }
  friend bool operator==(const Few& a, const Few& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  void clear() { size_ = 0; }
  void assign(std::span<const T> items) {
    Reserve(static_cast<uint32_t>(items.size()));
    if (!items.empty()) std::memmove(data(), items.data(), items.size_bytes());
    size_ = static_cast<uint32_t>(items.size());
  }
  void push_back(const T& item) { insert(end(), item); }
  void insert(const T* at, const T& item) {
    const auto index = static_cast<uint32_t>(at - data());
    const T copy = item;
    Reserve(size_ + 1);
    T* place = data() + index;
    std::memmove(place + 1, place, (size_ - index) * sizeof(T));
    *place = copy;
    ++size_;
  }
  void erase(const T* at) {
    const auto index = static_cast<uint32_t>(at - data());
    T* place = data() + index;
    std::memmove(place, place + 1, (size_ - index - 1) * sizeof(T));
    --size_;
  }
  void swap(Few& other) noexcept {
    std::swap(place_, other.place_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  void Reserve(uint32_t count) {
    if (count <= capacity_) return;
    const uint32_t larger = std::max(count, 2 * capacity_);
    T* items = new T[larger];
    std::memcpy(items, data(), size_ * sizeof(T));
    if (capacity_ > N) delete[] place_.items;
    place_.items = items;
    capacity_ = larger;
  }

  union Place {
    T few[N];
    T* items;
  };
  Place place_{};
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
};

}  // namespace cprof

#endif  // CPROF_REPORT_FEW_H_
