// Reads /proc/PID/maps and the notes of the files that are mapped.
#include "record/mappings.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "record/procfs.h"

namespace cprof {
namespace {

constexpr uint64_t kFirstPauseNs = 20'000'000;
constexpr uint64_t kLongestPauseNs = 1'000'000'000;
// A process that gives no samples any more costs nothing; a million of them would cost memory.
constexpr size_t kMaxProcesses = 16384;

// The build id among the notes of one section or segment.
std::string BuildIdInNotes(Elf_Data* notes) {
  size_t offset = 0;
  GElf_Nhdr header;
  size_t name_offset = 0;
  size_t content_offset = 0;
  while (notes != nullptr && offset < notes->d_size) {
    const size_t next = gelf_getnote(notes, offset, &header, &name_offset, &content_offset);
    if (next == 0 || next <= offset) break;
    const char* bytes = static_cast<const char*>(notes->d_buf);
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && header.n_descsz <= 64 &&
        std::memcmp(bytes + name_offset, "GNU", 4) == 0) {
      return std::string(bytes + content_offset, header.n_descsz);
    }
    offset = next;
  }
  return {};
}

}  // namespace

std::vector<Mapping> ParseMaps(std::string_view text, uint32_t tgid) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    Mapping mapping;
    char access[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
                    &mapping.start, &mapping.end, access, &mapping.file_offset, &path_at) < 4 ||
        path_at == 0 || mapping.end <= mapping.start) {
      continue;
    }
    if (std::strchr(access, 'x') == nullptr) continue;
    mapping.tgid = tgid;
    mapping.path = line.substr(static_cast<size_t>(path_at));
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

std::string ReadBuildId(const std::string& path) {
  if (elf_version(EV_CURRENT) == EV_NONE) return {};
  // O_NONBLOCK: a path may be replaced by a FIFO, which would block here.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return {};
  std::string build_id;
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    if (Elf* elf = elf_begin(fd, ELF_C_READ, nullptr); elf != nullptr) {
      size_t count = 0;
      if (elf_getphdrnum(elf, &count) != 0) count = 0;
      for (size_t i = 0; i < count && i < 1024 && build_id.empty(); ++i) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) break;
        if (segment.p_type != PT_NOTE) continue;
        build_id = BuildIdInNotes(elf_getdata_rawchunk(elf, static_cast<int64_t>(segment.p_offset),
                                                       segment.p_filesz, ELF_T_NHDR));
      }
      elf_end(elf);
    }
  }
  close(fd);
  return build_id;
}

bool MappingWatch::Notice(uint32_t tgid, uint64_t time_ns, bool is_new_image) {
  const std::lock_guard lock(mutex_);
  if (processes_.size() >= kMaxProcesses && !processes_.contains(tgid)) return false;
  const auto [position, is_new] = processes_.try_emplace(tgid);
  Process& process = position->second;
  if (is_new || is_new_image) {
    process = Process{};
    process.image_time_ns = time_ns;
    process.due_ns = 0;
    process.pause_ns = kFirstPauseNs;
    process.sampled = true;
    return true;
  }
  process.sampled = true;
  return false;
}

uint64_t MappingWatch::next_due_ns() {
  const std::lock_guard lock(mutex_);
  uint64_t next_ns = UINT64_MAX;
  for (const auto& [tgid, process] : processes_) {
    if (process.sampled) next_ns = std::min(next_ns, process.due_ns);
  }
  return next_ns;
}

std::string MappingWatch::BuildIdOf(uint32_t tgid, const Mapping& mapping) {
  if (mapping.path.empty() || mapping.path[0] != '/') return {};
  // map_files leads to the very file that is mapped, also where its name is gone or another's now.
  char range[48];
  std::snprintf(range, sizeof(range), "%" PRIx64 "-%" PRIx64, mapping.start, mapping.end);
  const std::string link = "/proc/" + std::to_string(tgid) + "/map_files/" + range;
  struct stat status {};
  if (stat(link.c_str(), &status) != 0) return {};
  const FileId id{status.st_dev, status.st_ino,
                  status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
  const auto known = build_ids_.find(id);
  if (known != build_ids_.end()) return known->second;
  return build_ids_[id] = ReadBuildId(link);
}

void MappingWatch::Look(uint32_t tgid, Process* process, uint64_t now_ns,
                        std::vector<Mapping>* found) {
  const auto text = ReadSmallFile("/proc/" + std::to_string(tgid) + "/maps");
  if (!text || text->empty()) return;  // Ended, or no process of user space.
  for (Mapping& mapping : ParseMaps(*text, tgid)) {
    std::tuple key(mapping.start, mapping.end, mapping.file_offset, mapping.path);
    if (!process->known.emplace(std::move(key), true).second) continue;
    mapping.time_ns = process->first_look ? process->image_time_ns : now_ns;
    mapping.build_id = BuildIdOf(tgid, mapping);
    found->push_back(std::move(mapping));
  }
  process->first_look = false;
}

std::vector<Mapping> MappingWatch::Collect(uint64_t now_ns, bool all) {
  std::vector<uint32_t> due;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [tgid, process] : processes_) {
      if (all || (process.sampled && process.due_ns <= now_ns)) due.push_back(tgid);
    }
  }
  std::vector<Mapping> found;
  for (const uint32_t tgid : due) {
    Process process;
    {
      const std::lock_guard lock(mutex_);
      Process& entry = processes_[tgid];
      entry.sampled = false;
      entry.due_ns = now_ns + entry.pause_ns;
      entry.pause_ns = std::min(entry.pause_ns * 3, kLongestPauseNs);
      process = entry;
    }
    // Without the lock: reading may wait for the memory lock of the process.
    Look(tgid, &process, now_ns, &found);
    const std::lock_guard lock(mutex_);
    Process& entry = processes_[tgid];
    // A new image in between makes all this old; it will be looked at again.
    if (entry.image_time_ns != process.image_time_ns) continue;
    entry.known = std::move(process.known);
    entry.first_look = process.first_look;
  }
  return found;
}

}  // namespace cprof
