// A list that grows at its end and is forgotten from its beginning.
#ifndef CPROF_REPORT_SLIDING_VECTOR_H_
#define CPROF_REPORT_SLIDING_VECTOR_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace cprof {

// Contiguous, so that it is searched and walked as an array. What was popped stays in memory until
// as much has been popped as is kept: then it is overwritten, and a list of steady length never
// asks for memory.
template <typename T>
class SlidingVector {
 public:
  T* begin() { return items_.data() + first_; }
  T* end() { return items_.data() + items_.size(); }
  const T* begin() const { return items_.data() + first_; }
  const T* end() const { return items_.data() + items_.size(); }
  std::reverse_iterator<const T*> rbegin() const { return std::reverse_iterator(end()); }
  std::reverse_iterator<const T*> rend() const { return std::reverse_iterator(begin()); }
  std::reverse_iterator<T*> rbegin() { return std::reverse_iterator(end()); }
  std::reverse_iterator<T*> rend() { return std::reverse_iterator(begin()); }

  bool empty() const { return first_ == items_.size(); }
  size_t size() const { return items_.size() - first_; }
  T& operator[](size_t index) { return items_[first_ + index]; }
  const T& operator[](size_t index) const { return items_[first_ + index]; }
  T& front() { return items_[first_]; }
  const T& front() const { return items_[first_]; }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }

  void push_back(T item) {
    if (items_.size() == items_.capacity() && first_ >= size()) Slide();
    items_.push_back(std::move(item));
  }
  void pop_front() { pop_front(1); }
  void pop_front(size_t count) {
    first_ += count;
    if (first_ == items_.size()) clear();
  }
  void pop_back() {
    items_.pop_back();
    if (first_ == items_.size()) clear();
  }
  template <typename IsOver>
  void EraseIf(IsOver is_over) {
    items_.erase(
        std::remove_if(items_.begin() + static_cast<ptrdiff_t>(first_), items_.end(), is_over),
        items_.end());
  }
  void clear() {
    items_.clear();
    first_ = 0;
  }
  size_t capacity() const { return items_.capacity(); }

 private:
  void Slide() {
    items_.erase(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(first_));
    first_ = 0;
  }

  std::vector<T> items_;
  size_t first_ = 0;  // before it is what was popped
};

}  // namespace cprof

#endif  // CPROF_REPORT_SLIDING_VECTOR_H_
