// A bounded cache in shards with slots: see cache.h.
#include "tests/demo/cache.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace demo {
namespace {

// Rounds of the checksum: enough work for a request to be seen on a CPU.
constexpr int kChecksumRounds = 6;

}  // namespace

uint64_t Checksum(const char* value) {
  uint64_t sum = 14695981039346656037ULL;
  for (int round = 0; round < kChecksumRounds; ++round) {
    for (size_t i = 0; i < kValueBytes; ++i) {
      sum = (sum ^ static_cast<unsigned char>(value[i])) * 1099511628211ULL;
    }
  }
  return sum;
}

Cache::Cache(uint32_t slots, std::function<void(Request*)> granted) : granted_(std::move(granted)) {
  for (uint64_t i = 0; i < kShardCount; ++i) {
    shards_[i].free_slots = slots;
    cprof_begin(NodeOfShard(i), ("shard-" + std::to_string(i)).c_str());
  }
}

uint64_t Cache::ShardOf(uint64_t key) { return (key * 0x9e3779b97f4a7c15ULL >> 32) % kShardCount; }

bool Cache::Acquire(Request* request) {
  const uint64_t index = ShardOf(request->question.key);
  Shard& shard = shards_[index];
  const uint64_t wanted_ns = NowNs();
  std::lock_guard lock(shard.mutex);
  if (shard.free_slots == 0) {
    request->wanted_ns = wanted_ns;
    request->holders.insert(request->holders.end(), shard.holders.begin(), shard.holders.end());
    for (const Request* ahead : shard.line) request->holders.push_back(ahead->id);
    shard.line.push_back(request);
    return false;
  }
  --shard.free_slots;
  shard.holders.push_back(request->id);
  request->holds_slot = true;
  cprof_edge(NodeOfShard(index), NodeOf(*request), CPROF_EDGE_ACQUIRE, wanted_ns);
  return true;
}

void Cache::Release(Request* request) {
  const uint64_t index = ShardOf(request->question.key);
  Shard& shard = shards_[index];
  Request* next = nullptr;
  {
    std::lock_guard lock(shard.mutex);
    request->holds_slot = false;
    std::erase(shard.holders, request->id);
    cprof_edge(NodeOf(*request), NodeOfShard(index), CPROF_EDGE_RELEASE, 0);
    if (shard.line.empty()) {
      ++shard.free_slots;
      return;
    }
    next = shard.line.front();
    shard.line.pop_front();
    shard.holders.push_back(next->id);
    next->holds_slot = true;
    next->waited_ns += NowNs() - next->wanted_ns;
    cprof_edge(NodeOfShard(index), NodeOf(*next), CPROF_EDGE_ACQUIRE, next->wanted_ns);
    next->wanted_ns = 0;
  }
  granted_(next);
}

bool Cache::Get(uint64_t key, uint64_t* checksum) {
  Shard& shard = shards_[ShardOf(key)];
  std::array<char, kValueBytes> value;
  {
    std::lock_guard lock(shard.mutex);
    const auto found = shard.by_key.find(key);
    if (found == shard.by_key.end()) return false;
    shard.entries.splice(shard.entries.begin(), shard.entries, found->second);
    value = found->second->value;
  }
  *checksum = Checksum(value.data());
  return true;
}

void Cache::Put(uint64_t key, const char* value) {
  Shard& shard = shards_[ShardOf(key)];
  std::lock_guard lock(shard.mutex);
  const auto found = shard.by_key.find(key);
  if (found != shard.by_key.end()) {
    std::memcpy(found->second->value.data(), value, kValueBytes);
    return;
  }
  if (shard.entries.size() == kShardCapacity) {
    shard.by_key.erase(shard.entries.back().key);
    shard.entries.pop_back();
  }
  Entry& entry = shard.entries.emplace_front();
  entry.key = key;
  std::memcpy(entry.value.data(), value, kValueBytes);
  shard.by_key[key] = shard.entries.begin();
}

}  // namespace demo
