// A program that writes any bytes into its in-process ring, at any moment: the recorder never
// crashes, its counters never contradict each other, and what it hands on is well-formed.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bpf/event.h"
#include "record/app_ring.h"

namespace {

constexpr uint32_t kRings = 2;

class Names : public cprof::BlockSink {
 public:
  cprof::StringId Intern(std::string_view text) override {
    bytes += text.size();
    return 1;
  }
  void Put(cprof::DrainedBlock) override {}
  size_t bytes = 0;
};

// A trap, so that the report names the line.
__attribute__((always_inline)) inline void Require(bool holds) {
  if (!holds) __builtin_trap();
}

void CheckBlock(const cprof::DrainedBlock& block) {
  for (const cprof::Event& event : block.events) {
    Require(event.stream == 7 && event.verb >= CPROF_APP_BEGIN && event.verb <= CPROF_APP_EDGE);
  }
  for (const cprof::Break& lost : block.breaks) {
    Require(lost.stream == 7 && lost.from_ns <= lost.to_ns);
    uint64_t sum = 0;
    for (const auto& [verb, count] : lost.lost) {
      Require(count <= lost.total - sum);
      sum += count;
    }
  }
}

struct Region {
  Region() : fd(memfd_create("fuzz", MFD_CLOEXEC)) {
    Require(fd >= 0 && ftruncate(fd, CPROF_REGION_BYTES_(kRings)) == 0);
  }
  ~Region() { close(fd); }
  int fd;
};

}  // namespace

// Input: which ring, flags, then rounds of: how the counters move (8 bytes), perhaps all of them as
// they are to be, and up to 8 slots, where the last round ended.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Region region;
  if (size < 2) return 0;
  const uint32_t index = data[0] % kRings;
  const uint8_t flags = data[1];
  data += 2, size -= 2;
  Names names;
  const uint64_t now_ns = cprof::KernelNowNs();
  cprof::AppRing ring({region.fd, index, kRings, CPROF_RING_EVENTS_}, 40,
                      (flags & 1) != 0 ? 1000 : 0, 1);
  static std::vector<cprof_slot_> slots_read;
  ring.StartAt({});
  ring.set_stream(7);
  ring.Announce(1, {41, 900, true});
  ring.Announce(2, {42, 901, false});
  cprof_ring_ header{};
  uint64_t begin_ns = now_ns;
  for (int round = 0; round < 4 && size > 0; ++round) {
    // Small numbers reach further than those that any counter refuses.
    uint8_t words[8] = {};
    const size_t taken = std::min(size, sizeof(words));
    std::memcpy(words, data, taken);
    data += taken, size -= taken;
    const uint64_t first = header.head % (CPROF_RING_EVENTS_ - 8);
    header.head += words[0] % 16;
    header.reserved = header.head + words[1] % 4;
    header.attempted += words[2] % 32;
    header.loss.verbs[words[3] % CPROF_LOSS_VERBS_] +=
        static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(words[4])));
    header.loss.begun += words[5] % 4;
    header.loss.ended += words[6] % 4;
    header.loss.first_ns = words[7] % 2 == 0 ? words[7] : now_ns;
    header.loss.last_ns = words[7] % 4 == 0 ? words[7] : now_ns;
    if ((flags & 2) != 0 && size >= sizeof(header)) {
      std::memcpy(&header, data, sizeof(header));
      data += sizeof(header), size -= sizeof(header);
    }
    const size_t slot_bytes = std::min(size, 8 * sizeof(cprof_slot_));
    if (slot_bytes > 0) {
      const off_t slots =
          static_cast<off_t>(CPROF_SLOTS_OFFSET_(kRings) +
                             (uint64_t{index} * CPROF_RING_EVENTS_ + first) * sizeof(cprof_slot_));
      Require(pwrite(region.fd, data, slot_bytes, slots) == static_cast<ssize_t>(slot_bytes));
      data += slot_bytes, size -= slot_bytes;
    }
    const off_t at = static_cast<off_t>(CPROF_RINGS_OFFSET_ + index * sizeof(cprof_ring_));
    Require(pwrite(region.fd, &header, sizeof(header), at) == sizeof(header));
    cprof::DrainedBlock block;
    if ((flags & 8) != 0 && round == 2) ring.EndAt(header, begin_ns);
    ring.Drain(header, {++begin_ns, 0, (flags & 4) == 0, &names, &slots_read}, &block);
    CheckBlock(block);
    const auto counter = ring.counter();
    Require(counter.lost <= counter.attempted);
  }
  cprof::DrainedBlock block;
  ring.Finish(header, {++begin_ns, 0, true, &names, &slots_read}, &block);
  CheckBlock(block);
  Require(ring.counter().lost <= ring.counter().attempted);
  return 0;
}
