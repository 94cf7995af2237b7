// Runs a BPF iterator once and reads the array of structs that it writes.
#include "record/kernel_inventory.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "bpf/event.h"

namespace cprof {
namespace {

constexpr uint32_t kFlagKernelThread = 0x00200000;  // PF_KTHREAD

std::vector<uint8_t> RunIterator(bpf_program* program) {
  std::vector<uint8_t> bytes;
  if (program == nullptr || bpf_program__fd(program) < 0) return bytes;
  bpf_link* link = bpf_program__attach_iter(program, nullptr);
  if (link == nullptr) return bytes;
  const int fd = bpf_iter_create(bpf_link__fd(link));
  if (fd >= 0) {
    uint8_t buffer[16384];
    while (true) {
      const ssize_t got = read(fd, buffer, sizeof(buffer));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      bytes.insert(bytes.end(), buffer, buffer + got);
    }
    close(fd);
  }
  bpf_link__destroy(link);
  return bytes;
}

template <typename T>
std::vector<T> ReadAll(bpf_program* program) {
  const std::vector<uint8_t> bytes = RunIterator(program);
  std::vector<T> items(bytes.size() / sizeof(T));
  if (!items.empty()) std::memcpy(items.data(), bytes.data(), items.size() * sizeof(T));
  return items;
}

}  // namespace

std::vector<FoundThread> ListThreads(bpf_program* program) {
  std::vector<FoundThread> threads;
  for (const auto& found : ReadAll<cprof_found_thread>(program)) {
    FoundThread thread;
    thread.start_time_ns = found.start_time_ns;
    thread.runtime_ns = found.runtime_ns;
    thread.tid = found.tid;
    thread.tgid = found.tgid;
    thread.is_target = found.is_target != 0;
    thread.is_kernel = (found.flags & kFlagKernelThread) != 0;
    thread.comm.assign(found.comm, strnlen(found.comm, sizeof(found.comm)));
    threads.push_back(std::move(thread));
  }
  return threads;
}

std::vector<FoundRing> ListRings(bpf_program* program) {
  std::vector<FoundRing> rings;
  for (const auto& found : ReadAll<cprof_found_ring>(program)) {
    rings.push_back({found.ring, found.start_time_ns, found.tgid, found.fd, found.setup_flags});
  }
  return rings;
}

}  // namespace cprof
