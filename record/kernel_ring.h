// The reading end of one BPF ring buffer.
#ifndef CPROF_RECORD_KERNEL_RING_H_
#define CPROF_RECORD_KERNEL_RING_H_

#include <cstdint>
#include <span>
#include <string>

#include "format/result.h"

namespace cprof {

// Owns the map and its mappings. libbpf's own consumer does not tell the producer's position, which
// is what proves that a ring was drained.
class KernelRing {
 public:
  // size_bytes: a power of two of whole pages.
  static Result<KernelRing> Create(const std::string& name, uint32_t size_bytes);
  KernelRing(KernelRing&& other) noexcept;
  KernelRing& operator=(KernelRing&&) = delete;
  ~KernelRing();

  int fd() const { return fd_; }
  uint32_t size_bytes() const { return size_bytes_; }
  uint64_t waiting_bytes() const;

  // Where producers stand now: the end of a sweep.
  uint64_t producer_position() const;

  enum class Next { kRecord, kEnd, kBusy };
  // The next record before end, valid until Release; kBusy where its producer has not finished it.
  Next Read(uint64_t end, std::span<const uint8_t>* record);
  // Gives everything that was read back to the producers.
  void Release();

 private:
  KernelRing() = default;
  int fd_ = -1;
  uint32_t size_bytes_ = 0;
  uint64_t position_ = 0;
  uint64_t* consumer_ = nullptr;       // one page, writable
  const uint8_t* producer_ = nullptr;  // one page, and behind it the data, twice
  const uint8_t* data_ = nullptr;
};

}  // namespace cprof

#endif  // CPROF_RECORD_KERNEL_RING_H_
