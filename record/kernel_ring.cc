// Consumer of a BPF ring buffer: two counters that only grow, and data mapped twice in a row, so
// that no record is ever cut by the end of the ring (kernel: kernel/bpf/ringbuf.c).
#include "record/kernel_ring.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cprof {
namespace {

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

uint64_t LoadAcquire(const void* address) {
  return __atomic_load_n(static_cast<const uint64_t*>(address), __ATOMIC_ACQUIRE);
}

}  // namespace

Result<KernelRing> KernelRing::Create(const std::string& name, uint32_t size_bytes) {
  KernelRing ring;
  ring.size_bytes_ = size_bytes;
  ring.fd_ = bpf_map_create(BPF_MAP_TYPE_RINGBUF, name.c_str(), 0, 0, size_bytes, nullptr);
  if (ring.fd_ < 0) {
    return Error{
        "cannot make a ring of " + std::to_string(size_bytes) + " bytes: " + strerror(errno),
        errno == ENOMEM || errno == E2BIG ? "give smaller rings with -m PAGES" : ""};
  }
  const size_t page = PageSize();
  void* consumer = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd_, 0);
  void* producer = mmap(nullptr, page + 2 * size_t{size_bytes}, PROT_READ, MAP_SHARED, ring.fd_,
                        static_cast<off_t>(page));
  if (consumer != MAP_FAILED) ring.consumer_ = static_cast<uint64_t*>(consumer);
  if (producer != MAP_FAILED) {
    ring.producer_ = static_cast<const uint8_t*>(producer);
    ring.data_ = ring.producer_ + page;
  }
  if (ring.consumer_ == nullptr || ring.producer_ == nullptr) {
    return Error{
        "cannot map a ring of " + std::to_string(size_bytes) + " bytes: " + strerror(errno), ""};
  }
  return ring;
}

KernelRing::KernelRing(KernelRing&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_bytes_(other.size_bytes_),
      position_(other.position_),
      consumer_(std::exchange(other.consumer_, nullptr)),
      producer_(std::exchange(other.producer_, nullptr)),
      data_(std::exchange(other.data_, nullptr)) {}

KernelRing::~KernelRing() {
  if (consumer_ != nullptr) munmap(consumer_, PageSize());
  if (producer_ != nullptr) {
    munmap(const_cast<uint8_t*>(producer_), PageSize() + 2 * size_t{size_bytes_});
  }
  if (fd_ >= 0) close(fd_);
}

uint64_t KernelRing::producer_position() const { return LoadAcquire(producer_); }

uint64_t KernelRing::waiting_bytes() const { return producer_position() - LoadAcquire(consumer_); }

KernelRing::Next KernelRing::Read(uint64_t end, std::span<const uint8_t>* record) {
  while (position_ < end) {
    const uint8_t* header = data_ + (position_ & (size_bytes_ - 1));
    const uint32_t length =
        __atomic_load_n(reinterpret_cast<const uint32_t*>(header), __ATOMIC_ACQUIRE);
    if ((length & BPF_RINGBUF_BUSY_BIT) != 0) return Next::kBusy;
    const uint32_t size = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
    position_ += (uint64_t{size} + BPF_RINGBUF_HDR_SZ + 7) & ~uint64_t{7};
    if ((length & BPF_RINGBUF_DISCARD_BIT) != 0) continue;
    *record = {header + BPF_RINGBUF_HDR_SZ, size};
    return Next::kRecord;
  }
  return Next::kEnd;
}

void KernelRing::Release() { __atomic_store_n(consumer_, position_, __ATOMIC_RELEASE); }

}  // namespace cprof
