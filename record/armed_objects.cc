// Reads the iterators of recorder.bpf.c and turns what they found into events.
#include "record/armed_objects.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "bpf/event.h"
#include "format/verb.h"
#include "record/kernel_symbols.h"

namespace cprof {
namespace {

Error IteratorError(const char* program, int error) {
  return {std::string("cannot list what exists already: iterator ") + program + ": " +
              std::strerror(error),
          ""};
}

// All structs that the program writes.
template <typename T>
Result<std::vector<T>> RunIterator(const bpf_object* object, const char* name) {
  const bpf_program* program = bpf_object__find_program_by_name(object, name);
  if (program == nullptr) return IteratorError(name, ENOENT);
  const std::unique_ptr<bpf_link, int (*)(bpf_link*)> link(
      bpf_program__attach_iter(program, nullptr), bpf_link__destroy);
  if (!link) return IteratorError(name, errno);
  const int fd = bpf_iter_create(bpf_link__fd(link.get()));
  if (fd < 0) return IteratorError(name, errno);
  std::string bytes;
  std::array<char, 32768> buffer;
  int error = 0;
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    bytes.append(buffer.data(), static_cast<size_t>(got));
  }
  close(fd);
  if (error != 0) return IteratorError(name, error);
  std::vector<T> found(bytes.size() / sizeof(T));
  std::memcpy(found.data(), bytes.data(), found.size() * sizeof(T));
  return found;
}

uint64_t PackBytes(const uint8_t* bytes) {
  uint64_t packed = 0;
  std::memcpy(&packed, bytes, sizeof(packed));
  return packed;
}

}  // namespace

Result<std::vector<Event>> ListArmedObjects(const bpf_object* object, bool* rings_known) {
  std::vector<Event> events;
  const auto threads = RunIterator<cprof_found_thread>(object, "recorder__threads");
  if (!threads) return threads.error();
  for (const cprof_found_thread& thread : *threads) {
    Event event;
    event.verb = verbs::kRecorderThread;
    event.key.lo = thread.start_time_ns;
    event.key2.lo = CPROF_THREAD_KEY2(thread.tid, thread.tgid);
    event.arg = PackBytes(thread.comm);
    event.arg2 = PackBytes(thread.comm + 8);
    events.push_back(event);
  }
  constexpr std::array<std::string_view, 1> kRelease = {"io_uring_release"};
  const auto addresses = FindKernelSymbols(kRelease);
  *rings_known = !addresses.empty();
  if (!*rings_known) return events;
  const auto files = RunIterator<cprof_found_file>(object, "recorder__rings");
  if (!files) return files.error();
  for (const cprof_found_file& file : *files) {
    if (file.release != addresses.begin()->second) continue;
    Event event;
    event.verb = verbs::kRecorderRing;
    event.tid = file.tgid;
    event.tgid = file.tgid;
    event.start_time_ns = file.start_time_ns;
    event.key2.lo = file.object;
    event.arg = file.fd;
    event.arg2 = file.ring_flags;
    events.push_back(event);
  }
  return events;
}

}  // namespace cprof
