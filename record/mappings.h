// The executable mappings of processes, with build ids, so that sampled addresses find their names.
#ifndef CPROF_RECORD_MAPPINGS_H_
#define CPROF_RECORD_MAPPINGS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "format/recording.h"

namespace cprof {

// The executable mappings in the text of /proc/PID/maps. Build ids and times are not filled in.
// Lines that are not understood are left out.
std::vector<Mapping> ParseMaps(std::string_view text, uint32_t tgid);

// The build id in the notes of an ELF file, raw; empty where there is none, or no such file.
std::string ReadBuildId(const std::string& path);

// Which processes to look at, when, and what of it is new. Notice comes from the drain thread, all
// else from the control thread.
//
// Libraries are mapped over the first milliseconds of an image, and more by dlopen at any time. So
// a process is looked at when it is noticed, then after 20 ms, with growing pauses up to a second,
// as long as it gives samples.
class MappingWatch {
 public:
  // A process gives a sample, or begins a new image (exec), at time_ns. Returns true where this
  // makes something due at once.
  bool Notice(uint32_t tgid, uint64_t time_ns, bool is_new_image);

  // When Collect should be called next; UINT64_MAX: not before something is noticed.
  uint64_t next_due_ns();
  // Reads the processes that are due at now_ns, or all, and returns the mappings not yet returned.
  std::vector<Mapping> Collect(uint64_t now_ns, bool all);

 private:
  struct Process {
    uint64_t image_time_ns = 0;  // mappings of the first look are said to be this old
    uint64_t due_ns = 0;
    uint64_t pause_ns = 0;  // until the look after the next
    bool sampled = false;   // since the last look
    bool first_look = true;
    std::map<std::tuple<uint64_t, uint64_t, uint64_t, std::string>, bool> known;
  };
  struct FileId {
    uint64_t device, inode;
    int64_t changed_ns;
    auto operator<=>(const FileId&) const = default;
  };

  std::string BuildIdOf(uint32_t tgid, const Mapping& mapping);
  void Look(uint32_t tgid, Process* process, uint64_t now_ns, std::vector<Mapping>* found);

  std::mutex mutex_;
  std::map<uint32_t, Process> processes_;  // guarded by mutex_
  std::map<FileId, std::string> build_ids_;
};

}  // namespace cprof

#endif  // CPROF_RECORD_MAPPINGS_H_
