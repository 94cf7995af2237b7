// What a pass keeps of nodes, by id: found in a few loads, and made without the allocator.
#ifndef CPROF_REPORT_NODE_MAP_H_
#define CPROF_REPORT_NODE_MAP_H_

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "report/graph.h"

namespace cprof {

// Ids are dense and most nodes die young, so a page of pointers stands for consecutive ids and goes
// when none of them is kept. What is erased is used again for what is added, with the memory that
// its lists have got: T::Clear makes it as new. Addresses are stable until Erase.
template <typename T>
class NodeMap {
 public:
  T* Find(NodeId id) {
    const size_t index = id / kPageNodes;
    if (index >= pages_.size() || !pages_[index]) return nullptr;
    return pages_[index]->items[id % kPageNodes];
  }
  const T* Find(NodeId id) const { return const_cast<NodeMap*>(this)->Find(id); }
  bool Contains(NodeId id) const { return Find(id) != nullptr; }

  // The item of that id, a cleared one where there was none.
  T& FindOrAdd(NodeId id) {
    Page& page = PageOf(id);
    T*& item = page.items[id % kPageNodes];
    if (item == nullptr) {
      item = Take();
      ++page.count;
      ++size_;
    }
    return *item;
  }

  void Erase(NodeId id) {
    const size_t index = id / kPageNodes;
    if (index >= pages_.size() || !pages_[index]) return;
    Page& page = *pages_[index];
    T*& item = page.items[id % kPageNodes];
    if (item == nullptr) return;
    item->Clear();
    free_.push_back(item);
    item = nullptr;
    --size_;
    if (--page.count == 0) free_pages_.push_back(std::move(pages_[index]));
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // visit(id, item) for each, by id. It must neither add nor erase.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (size_t index = 0; index < pages_.size(); ++index) {
      if (!pages_[index]) continue;
      for (size_t i = 0; i < kPageNodes; ++i) {
        T* item = pages_[index]->items[i];
        if (item != nullptr) visit(static_cast<NodeId>(index * kPageNodes + i), *item);
      }
    }
  }

 private:
  static constexpr size_t kPageNodes = 1024;
  static constexpr size_t kBlockItems = 64;

  struct Page {
    std::array<T*, kPageNodes> items{};
    size_t count = 0;
  };

  Page& PageOf(NodeId id) {
    const size_t index = id / kPageNodes;
    if (index >= pages_.size()) pages_.resize(index + 1);
    std::unique_ptr<Page>& page = pages_[index];
    if (!page && free_pages_.empty()) {
      page = std::make_unique<Page>();
    } else if (!page) {
      page = std::move(free_pages_.back());
      free_pages_.pop_back();
    }
    return *page;
  }

  T* Take() {
    if (free_.empty()) {
      blocks_.push_back(std::make_unique<std::array<T, kBlockItems>>());
      for (T& item : *blocks_.back()) free_.push_back(&item);
    }
    T* item = free_.back();
    free_.pop_back();
    return item;
  }

  std::vector<std::unique_ptr<Page>> pages_;  // by id / kPageNodes
  std::vector<std::unique_ptr<Page>> free_pages_;
  std::vector<std::unique_ptr<std::array<T, kBlockItems>>> blocks_;
  std::vector<T*> free_;
  size_t size_ = 0;
};

}  // namespace cprof

#endif  // CPROF_REPORT_NODE_MAP_H_
