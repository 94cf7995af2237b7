// Opens and starts the sampling clocks.
#include "record/kernel_sampler.h"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace cprof {
namespace {

int OpenClock(uint32_t cpu, uint64_t period_ns) {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  // A period, not a frequency: the weight of a sample is then what the clock really counted.
  attributes.sample_period = period_ns;
  attributes.disabled = 1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

uint64_t RandomBelow(uint64_t bound) {
  uint64_t value = 0;
  if (getrandom(&value, sizeof(value), 0) != static_cast<ssize_t>(sizeof(value))) return 0;
  return value % bound;
}

}  // namespace

Result<void> StartSampling(bpf_program* program, std::span<const uint32_t> cpus,
                           uint32_t frequency_hz, std::vector<bpf_link*>* links) {
  const uint64_t period_ns = 1'000'000'000 / frequency_hz;
  std::vector<std::pair<uint64_t, uint32_t>> starts;
  for (const uint32_t cpu : cpus) starts.emplace_back(RandomBelow(period_ns), cpu);
  std::sort(starts.begin(), starts.end());
  uint64_t waited_ns = 0;
  for (const auto& [start_ns, cpu] : starts) {
    const timespec pause = {0, static_cast<long>(start_ns - waited_ns)};
    nanosleep(&pause, nullptr);
    waited_ns = start_ns;
    const int fd = OpenClock(cpu, period_ns);
    if (fd < 0) {
      if (errno == ENODEV) continue;  // The CPU went offline.
      return Error{
          "cannot open the sampling clock on CPU " + std::to_string(cpu) + ": " + strerror(errno),
          "record without samples: -F 0"};
    }
    bpf_link* link = bpf_program__attach_perf_event(program, fd);
    if (link == nullptr) {
      const int error = errno;
      close(fd);
      return Error{"cannot attach to the sampling clock on CPU " + std::to_string(cpu) + ": " +
                       strerror(error),
                   "record without samples: -F 0"};
    }
    links->push_back(link);  // Owns fd from now on.
  }
  return {};
}

}  // namespace cprof
