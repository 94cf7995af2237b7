// Finds the probe of cprof.h in an executable or shared object.
#ifndef CPROF_RECORD_APP_PROBE_H_
#define CPROF_RECORD_APP_PROBE_H_

#include <cstdint>
#include <optional>

namespace cprof {

// File offsets of the probe's first instruction and of the live flag (struct cprof_live_).
struct AppProbe {
  uint64_t probe_offset = 0;
  uint64_t live_offset = 0;
};

// Nothing where fd is no ELF object of this machine, or has no such probe. Trusts nothing in it.
std::optional<AppProbe> FindAppProbe(int fd);

}  // namespace cprof

#endif  // CPROF_RECORD_APP_PROBE_H_
