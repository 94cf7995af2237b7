// The table behind threads.h.
#include "report/threads.h"

#include <tsl/robin_map.h>

#include <algorithm>

#include "format/result.h"

namespace cprof {

struct ThreadTable::State {
  tsl::robin_map<ThreadKey, std::unique_ptr<ThreadRecord>, std::hash<ThreadKey>> by_key;
  tsl::robin_map<uint32_t, ThreadRecord*> by_tid;
  tsl::robin_map<uint32_t, uint32_t> lives_of_tid;  // at most one entry for each tid there can be
  struct Image {
    uint64_t leader_start_ns = 0;
    uint32_t count = 0;
  };
  tsl::robin_map<uint32_t, Image> images;
};

ThreadTable::ThreadTable() : state_(std::make_unique<State>()) {}
ThreadTable::~ThreadTable() = default;

ThreadRecord* ThreadTable::Find(const ThreadKey& key) const {
  const auto found = state_->by_key.find(key);
  return found == state_->by_key.end() ? nullptr : found->second.get();
}

ThreadRecord* ThreadTable::FindByTid(uint32_t tid) const {
  const auto found = state_->by_tid.find(tid);
  return found == state_->by_tid.end() ? nullptr : found->second;
}

ThreadRecord& ThreadTable::Add(const ThreadKey& key, uint64_t time_ns, bool birth_seen) {
  auto [slot, inserted] = state_->by_key.try_emplace(key, std::make_unique<ThreadRecord>());
  CPROF_CHECK(inserted);
  ThreadRecord& thread = *slot.value();
  thread.key = key;
  thread.born_ns = time_ns;
  thread.birth_seen = birth_seen;
  thread.generation = ++state_->lives_of_tid[key.tid];
  state_->by_tid[key.tid] = &thread;
  if (key.tid == key.tgid && key.start_time_ns != 0) {
    // The start time of a leader survives exec, so another one means that the tgid was reused.
    State::Image& image = state_->images[key.tgid];
    if (image.leader_start_ns != 0 && image.leader_start_ns != key.start_time_ns) ++image.count;
    image.leader_start_ns = key.start_time_ns;
  }
  return thread;
}

void ThreadTable::Remove(ThreadRecord& thread) {
  const auto by_tid = state_->by_tid.find(thread.key.tid);
  if (by_tid != state_->by_tid.end() && by_tid->second == &thread) state_->by_tid.erase(by_tid);
  const ThreadKey key = thread.key;
  state_->by_key.erase(key);
}

std::vector<ThreadRecord*> ThreadTable::Sorted() const {
  std::vector<ThreadRecord*> threads;
  for (const auto& [key, thread] : state_->by_key) threads.push_back(thread.get());
  std::sort(threads.begin(), threads.end(), [](const ThreadRecord* a, const ThreadRecord* b) {
    if (a->key.tid != b->key.tid) return a->key.tid < b->key.tid;
    return a->key < b->key;
  });
  return threads;
}

uint32_t ThreadTable::ImageOf(uint32_t tgid) const {
  const auto found = state_->images.find(tgid);
  return found == state_->images.end() ? 0 : found->second.count;
}

void ThreadTable::NextImage(uint32_t tgid) { ++state_->images[tgid].count; }

}  // namespace cprof
