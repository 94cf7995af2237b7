// Reads the effective capabilities.
#include "record/privileges.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "record/procfs.h"

namespace cprof {
namespace {

constexpr int kCapSysAdmin = 21;
constexpr int kCapPerfmon = 38;
constexpr int kCapBpf = 39;

}  // namespace

Result<void> CheckPrivileges() {
  const auto status = ReadSmallFile("/proc/self/status");
  const size_t at = status ? status->find("\nCapEff:") : std::string::npos;
  if (at == std::string::npos) return {};  // The kernel will say.
  const uint64_t effective = std::strtoull(status->c_str() + at + 8, nullptr, 16);
  const auto has = [effective](int capability) { return (effective >> capability & 1) != 0; };
  if (has(kCapSysAdmin) || (has(kCapBpf) && has(kCapPerfmon))) return {};
  return Error{"recording takes root: it loads programs into the kernel",
               "run 'sudo cprof record ...' (or give CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE)"};
}

}  // namespace cprof
