// Checks the ids of -p and -t, and watches those who have them.
#include "record/target.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "record/procfs.h"

namespace cprof {
namespace {

constexpr unsigned int kPidfdThread = 0x80;  // PIDFD_THREAD, O_EXCL; kernel 6.9 on

int OpenPidfd(uint32_t id, bool is_thread) {
  return static_cast<int>(syscall(SYS_pidfd_open, id, is_thread ? kPidfdThread : 0u));
}

std::string Quoted(const TaskStat& stat) { return "'" + stat.comm + "'"; }

// Somebody whom another pid namespace knows by this id, or 0.
uint32_t FindInOtherNamespace(uint32_t id) {
  for (const uint32_t tgid : ListProcesses()) {
    const auto ids = ReadTaskIds(tgid);
    if (ids && ids->namespace_tgids.size() > 1 && ids->namespace_tgids.back() == id) return tgid;
  }
  return 0;
}

Error NoSuchTask(uint32_t id, bool is_thread) {
  const std::string what = is_thread ? "no thread has the TID " : "no process has the PID ";
  if (const uint32_t elsewhere = FindInOtherNamespace(id); elsewhere != 0) {
    return {what + std::to_string(id) + " in this pid namespace",
            "PID " + std::to_string(id) + " of a container is " + std::to_string(elsewhere) +
                " here: try -p " + std::to_string(elsewhere)};
  }
  return {what + std::to_string(id), "list processes with 'ps -e', threads with 'ps -eL'"};
}

Result<Targets::Target> FindTarget(uint32_t id, bool is_thread) {
  const std::string number = std::to_string(id);
  // The pidfd first: whoever has the id then is the one that the checks are about.
  Targets::Target target{id, id, is_thread, OpenPidfd(id, is_thread)};
  const auto close_and = [&target](Error error) {
    if (target.pidfd >= 0) close(target.pidfd);
    return error;
  };
  const auto stat = ReadTaskStat(id);
  const auto ids = ReadTaskIds(id);
  if (!stat || !ids) return close_and(NoSuchTask(id, is_thread));
  target.tgid = ids->tgid;
  if (target.tgid == static_cast<uint32_t>(getpid())) {
    return close_and({"PID " + number + " is this cprof itself, which is never recorded",
                      "name another process, or start one with 'cprof record -- COMMAND'"});
  }
  if (stat->is_zombie()) {
    return close_and({(is_thread ? "thread " : "process ") + number + " " + Quoted(*stat) +
                          " is a zombie: it has ended and waits for its parent",
                      "its parent is PID " + std::to_string(stat->parent_tgid)});
  }
  if (stat->is_kernel_thread()) {
    return close_and({number + " " + Quoted(*stat) + " is a kernel thread, not a process",
                      "record the whole system with -a to see kernel threads"});
  }
  if (!is_thread && target.tgid != id) {
    return close_and({number + " " + Quoted(*stat) + " is a thread of process " +
                          std::to_string(target.tgid) + ", not a process",
                      "record the process with -p " + std::to_string(target.tgid) +
                          ", or this thread alone with -t " + number});
  }
  if (!is_thread && target.pidfd < 0) {
    return Error{"cannot watch process " + number + ": " + std::strerror(errno), ""};
  }
  if (Targets::HasEnded(target)) return close_and(NoSuchTask(id, is_thread));
  return target;
}

}  // namespace

Targets::~Targets() {
  for (const Target& target : targets_) {
    if (target.pidfd >= 0) close(target.pidfd);
  }
}

Targets::Targets(Targets&& other) noexcept : targets_(std::exchange(other.targets_, {})) {}

Targets& Targets::operator=(Targets&& other) noexcept {
  std::swap(targets_, other.targets_);
  return *this;
}

std::vector<uint32_t> Targets::tgids() const {
  std::vector<uint32_t> ids;
  for (const Target& target : targets_) {
    if (!target.is_thread) ids.push_back(target.id);
  }
  return ids;
}

std::vector<uint32_t> Targets::tids() const {
  std::vector<uint32_t> ids;
  for (const Target& target : targets_) {
    if (target.is_thread) ids.push_back(target.id);
  }
  return ids;
}

bool Targets::HasEnded(const Target& target) {
  if (target.pidfd >= 0) {
    pollfd query{target.pidfd, POLLIN, 0};
    return poll(&query, 1, 0) > 0;
  }
  const std::string path =
      "/proc/" + std::to_string(target.tgid) + "/task/" + std::to_string(target.id);
  return access(path.c_str(), F_OK) != 0;
}

bool Targets::AllEnded() const {
  return !targets_.empty() && std::all_of(targets_.begin(), targets_.end(), HasEnded);
}

Result<Targets> FindTargets(const RecordOptions& options) {
  Targets targets;
  if (!InInitialPidNamespace()) {
    return Error{
        "cprof record runs inside a pid namespace, but the kernel's events carry the PIDs "
        "of the initial one",
        "run it on the host, outside of the container"};
  }
  const auto add = [&targets](const std::vector<uint32_t>& ids, bool is_thread) -> Result<void> {
    for (const uint32_t id : ids) {
      auto target = FindTarget(id, is_thread);
      if (!target) return target.error();
      targets.targets_.push_back(*target);
    }
    return {};
  };
  CPROF_RETURN_IF_ERROR(add(options.pids, false));
  CPROF_RETURN_IF_ERROR(add(options.tids, true));
  return targets;
}

}  // namespace cprof
