// Attaches app__ring to files, after looking whom a raised flag could harm.
#include "record/app_files.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "record/app_region.h"
#include "record/app_slot.h"
#include "record/procfs.h"

namespace cprof {
namespace {

constexpr size_t kMaxSeen = 65536;

std::string MapsId(const MapsEntry& entry) {
  return std::string(entry.device) + " " + std::to_string(entry.inode);
}

bool HasRegion(const std::vector<MapsEntry>& maps) {
  for (const MapsEntry& entry : maps) {
    if (AppRegion::LooksRight(entry)) return true;
  }
  return false;
}

// A process that shut itself in after it was loaded could be killed by the system calls that its
// first event makes, unless it has its rings. Under a filter that was there before (as in a
// container) it needed the same calls to get loaded. Strict mode takes even the clock away.
bool CouldBeHarmed(const AppProcess& process, const std::vector<MapsEntry>& maps,
                   const MapsEntry& file, const AppProbe& probe, bool has_region) {
  const SeccompMode mode = process.seccomp();
  if (mode == SeccompMode::kNone) return false;
  if (mode == SeccompMode::kStrict) return true;
  if (has_region) return false;
  for (const MapsEntry& entry : maps) {
    if (entry.device != file.device || entry.inode != file.inode || entry.permissions[1] != 'w') {
      continue;
    }
    if (probe.live_offset < entry.file_offset ||
        probe.live_offset - entry.file_offset >= entry.end - entry.start) {
      continue;
    }
    cprof_live_ live{};
    const uint64_t address = entry.start + (probe.live_offset - entry.file_offset);
    if (!process.ReadMemory(address, &live, sizeof(live))) return true;
    return live.seccomp_at_load == 1;  // there was none at load
  }
  return true;
}

// A process, other than that one, that runs the file and could be harmed; 0 where there is none.
uint32_t OtherAtRisk(uint32_t but_tgid, const MapsEntry& file, const AppProbe& probe) {
  for (const uint32_t tgid : ListProcesses()) {
    if (tgid == but_tgid) continue;
    const auto other = AppProcess::Open(tgid);
    if (!other || other->seccomp() == SeccompMode::kNone) continue;
    const std::string text = other->ReadMaps();
    const std::vector<MapsEntry> maps = ParseMaps(text);
    for (const MapsEntry& entry : maps) {
      if (entry.device == file.device && entry.inode == file.inode && entry.permissions[2] == 'x') {
        if (CouldBeHarmed(*other, maps, entry, probe, HasRegion(maps))) return tgid;
        break;
      }
    }
  }
  return 0;
}

}  // namespace

bool AppFiles::AttachFile(const AppProcess& process, const std::vector<MapsEntry>& maps,
                          const MapsEntry& entry, bool has_region,
                          std::vector<std::string>* notices) {
  const OwnedFd fd = process.OpenMapping(entry, O_RDONLY);
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const FileId file(status.st_dev, status.st_ino);
  if (without_probe_.contains(file) || links_.contains({file, 0}) ||
      links_.contains({file, process.tgid()})) {
    return false;
  }
  const auto probe = FindAppProbe(fd.get());
  if (!probe) {
    without_probe_.insert(file);
    return false;
  }
  const std::string who = "process " + std::to_string(process.tgid());
  if (CouldBeHarmed(process, maps, entry, *probe, has_region)) {
    notices->push_back(who +
                       " put itself under seccomp, and its first event could be its end: "
                       "its app events are not recorded (see cprof_prepare in cprof-app(3))");
    return false;
  }
  return AttachProbe(fd.get(), file, *probe, entry, process.tgid(), notices);
}

bool AppFiles::AttachProbe(int fd, const FileId& file, const AppProbe& probe,
                           const MapsEntry& entry, uint32_t tgid,
                           std::vector<std::string>* notices) {
  const std::string who = "process " + std::to_string(tgid);
  int32_t pid = -1;
  if (!inherit_) {
    pid = static_cast<int32_t>(tgid);
  } else if (const uint32_t other = OtherAtRisk(tgid, entry, probe); other != 0) {
    pid = static_cast<int32_t>(tgid);
    notices->push_back("process " + std::to_string(other) +
                       " runs the same file under seccomp: app events of children of " + who +
                       " are not recorded");
  }
  LIBBPF_OPTS(bpf_uprobe_opts, options);
  options.ref_ctr_offset = probe.live_offset;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  bpf_link* link =
      bpf_program__attach_uprobe_opts(program_, pid, path.c_str(), probe.probe_offset, &options);
  if (!link) {
    notices->push_back("the probe of cprof.h in " + std::string(entry.path) + " of " + who +
                       " cannot be used: " + std::strerror(errno));
    return false;
  }
  links_.emplace(LinkId(file, pid < 0 ? 0 : tgid), link);
  return true;
}

void AppFiles::AttachBeforeExec(const std::string& path, uint32_t tgid,
                                std::vector<std::string>* notices) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (disarmed_ || !fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const FileId file(status.st_dev, status.st_ino);
  const auto probe = FindAppProbe(fd.get());
  if (!probe || links_.contains({file, 0}) || links_.contains({file, tgid})) return;
  char device[32];
  std::snprintf(device, sizeof(device), "%02x:%02x", major(status.st_dev), minor(status.st_dev));
  MapsEntry entry;
  entry.device = device;
  entry.inode = status.st_ino;
  entry.path = path;
  AttachProbe(fd.get(), file, *probe, entry, tgid, notices);
}

bool AppFiles::Attach(const AppProcess& process, bool has_region,
                      std::vector<std::string>* notices) {
  if (disarmed_) return false;
  const std::string text = process.ReadMaps();
  const std::vector<MapsEntry> maps = ParseMaps(text);
  std::set<std::string>& seen = seen_[process.tgid()];
  if (seen.size() > kMaxSeen) seen.clear();  // looking twice only costs time
  bool attached = false;
  for (const MapsEntry& entry : maps) {
    if (entry.permissions[2] != 'x' || entry.inode == 0) continue;
    if (!seen.insert(MapsId(entry)).second) continue;
    attached |= AttachFile(process, maps, entry, has_region, notices);
  }
  return attached;
}

void AppFiles::ForgetProcess(uint32_t tgid) { seen_.erase(tgid); }

void AppFiles::Disarm() {
  disarmed_ = true;
  for (const auto& [id, link] : links_) bpf_link__destroy(link);
  links_.clear();
}

}  // namespace cprof
