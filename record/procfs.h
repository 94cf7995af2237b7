// What /proc says about tasks: identity, state, threads, namespaces. Every answer may be stale at
// once; whoever needs certainty holds a pidfd.
#ifndef CPROF_RECORD_PROCFS_H_
#define CPROF_RECORD_PROCFS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cprof {

// One line of /proc/ID/stat. Fields that nobody here needs are not kept.
struct TaskStat {
  uint32_t tid = 0;
  std::string comm;
  char state = '?';  // R S D T t Z X I ...
  uint32_t parent_tgid = 0;
  uint32_t flags = 0;        // PF_* of the kernel
  uint64_t start_ticks = 0;  // start_boottime in clock ticks: 10 ms, too coarse for an identity

  bool is_kernel_thread() const { return (flags & 0x00200000u) != 0; }  // PF_KTHREAD
  bool is_zombie() const { return state == 'Z' || state == 'X'; }
};

// Understands the text of a stat file; comm may hold spaces, parentheses and newlines.
std::optional<TaskStat> ParseTaskStat(std::string_view text);
// Nothing where there is no such task. Both a process and a thread are found by their id.
std::optional<TaskStat> ReadTaskStat(uint32_t tid);

// From /proc/ID/status.
struct TaskIds {
  uint32_t tgid = 0;
  // The tgid in each pid namespace from that of this /proc inwards; more than one where the
  // process lives in a namespace of its own.
  std::vector<uint32_t> namespace_tgids;
};
std::optional<TaskIds> ParseTaskIds(std::string_view text);
std::optional<TaskIds> ReadTaskIds(uint32_t tid);

// Live thread ids of a process, ascending; empty where it is gone.
std::vector<uint32_t> ListThreads(uint32_t tgid);
// All process ids, ascending.
std::vector<uint32_t> ListProcesses();

// The whole of a small file, nothing where it cannot be read. Stops at limit_bytes.
std::optional<std::string> ReadSmallFile(const std::string& path, size_t limit_bytes = 1 << 24);

// Whether this process lives in the initial pid namespace, whose ids the kernel's events carry.
bool InInitialPidNamespace();

}  // namespace cprof

#endif  // CPROF_RECORD_PROCFS_H_
