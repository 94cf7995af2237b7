// A bounded cache in shards. Who wants to use a shard needs its slot; who finds none free waits in
// line, without keeping a thread: it is handed to a worker again once the slot is its own.
#ifndef CPROF_TESTS_DEMO_CACHE_H_
#define CPROF_TESTS_DEMO_CACHE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tests/demo/request.h"

namespace demo {

class Cache {
 public:
  static constexpr uint64_t kShardCount = 8;

  // slots: how many requests may use one shard at a time. granted: called, by whoever gives a slot
  // back, with the request that gets it.
  Cache(uint32_t slots, std::function<void(Request*)> granted);

  // True: the request holds a slot of its key's shard. False: it is in line.
  bool Acquire(Request* request);
  void Release(Request* request);

  // Both need the slot. Sum over the value; false where the key is not cached.
  bool Get(uint64_t key, uint64_t* checksum);
  void Put(uint64_t key, const char* value);

 private:
  static constexpr size_t kShardCapacity = 128;

  struct Entry {
    uint64_t key = 0;
    std::array<char, kValueBytes> value = {};
  };
  struct Shard {
    std::mutex mutex;
    uint32_t free_slots = 0;
    std::vector<uint64_t> holders;
    std::deque<Request*> line;
    std::list<Entry> entries;  // latest use first
    std::unordered_map<uint64_t, std::list<Entry>::iterator> by_key;
  };

  static uint64_t ShardOf(uint64_t key);
  cprof_node NodeOfShard(uint64_t shard) const { return cprof_resource("cache-shard", shard); }

  std::array<Shard, kShardCount> shards_;
  std::function<void(Request*)> granted_;
};

uint64_t Checksum(const char* value);

}  // namespace demo

#endif  // CPROF_TESTS_DEMO_CACHE_H_
