// A request as the demo server knows it, and the messages that carry it.
#ifndef CPROF_TESTS_DEMO_REQUEST_H_
#define CPROF_TESTS_DEMO_REQUEST_H_

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cprof/cprof.h"

namespace demo {

enum class Kind : uint32_t { kGetHot = 0, kGetCold = 1, kPut = 2 };
inline constexpr int kKindCount = 3;
inline constexpr const char* kKindNames[kKindCount] = {"GET hot", "GET cold", "PUT"};

inline constexpr size_t kValueBytes = 4096;

// On the wire, both of fixed size: a client has one question in flight on its connection.
struct Question {
  Kind kind = Kind::kGetHot;
  uint32_t unused = 0;
  uint64_t key = 0;
};
struct Answer {
  uint64_t key = 0;
  uint64_t checksum = 0;
};

// O_DIRECT wants aligned memory.
struct FreeDeleter {
  void operator()(char* memory) const { std::free(memory); }
};
using AlignedBuffer = std::unique_ptr<char, FreeDeleter>;

// Owned by the event loop; between loop and workers only one of them touches it at a time, handed
// over through a queue with a lock.
struct Request {
  uint64_t id = 0;
  int connection = -1;
  Question question;
  Answer answer;
  enum class Step : uint8_t { kLookUp, kRead, kInsert, kAnswer } step = Step::kLookUp;
  bool holds_slot = false;
  uint32_t reads_left = 0;
  AlignedBuffer buffer;

  // The server's own measurement.
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t wanted_ns = 0;         // since when it waits for a slot; 0: it does not
  uint64_t waited_ns = 0;         // for slots, in all
  std::vector<uint64_t> holders;  // requests that it waited for
};

inline uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ULL + static_cast<uint64_t>(now.tv_nsec);
}

inline cprof_node NodeOf(const Request& request) { return cprof_request("http", request.id); }

}  // namespace demo

#endif  // CPROF_TESTS_DEMO_REQUEST_H_
