// Raises the live flag of cprof.h in executables and shared objects, one uprobe a file.
#ifndef CPROF_RECORD_APP_FILES_H_
#define CPROF_RECORD_APP_FILES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "record/app_probe.h"
#include "record/app_process.h"

struct bpf_link;
struct bpf_program;

namespace cprof {

class AppFiles {
 public:
  // program: app__ring, loaded; outlives this.
  AppFiles(bpf_program* program, bool inherit) : program_(program), inherit_(inherit) {}
  ~AppFiles() { Disarm(); }
  AppFiles(const AppFiles&) = delete;
  AppFiles& operator=(const AppFiles&) = delete;

  // Attaches to every file that the process executes and that has the probe, unless it is attached.
  // has_region: the process has its rings already, so no system call can be its end. Returns
  // whether anything was attached; what stands in the way is appended to notices.
  bool Attach(const AppProcess& process, bool has_region, std::vector<std::string>* notices);
  // Attaches to the file that a process is about to execute, so that nothing of it is missed.
  void AttachBeforeExec(const std::string& path, uint32_t tgid, std::vector<std::string>* notices);
  // Forgets that the process was looked at: it runs another program now.
  void ForgetProcess(uint32_t tgid);
  void Disarm();
  bool any() const { return !links_.empty(); }

 private:
  using FileId = std::pair<uint64_t, uint64_t>;  // device, inode
  // tgid 0: attached for all processes.
  using LinkId = std::pair<FileId, uint32_t>;

  bool AttachFile(const AppProcess& process, const std::vector<MapsEntry>& maps,
                  const MapsEntry& entry, bool has_region, std::vector<std::string>* notices);

  // Attaches for all processes, or for one where that is asked for or the others could be harmed.
  bool AttachProbe(int fd, const FileId& file, const AppProbe& probe, const MapsEntry& entry,
                   uint32_t tgid, std::vector<std::string>* notices);

  bpf_program* program_;
  bool inherit_;
  bool disarmed_ = false;
  std::map<LinkId, bpf_link*> links_;
  // What was looked at already, as maps writes it. A file that is replaced gets another inode.
  std::map<uint32_t, std::set<std::string>> seen_;
  std::set<FileId> without_probe_;
};

}  // namespace cprof

#endif  // CPROF_RECORD_APP_FILES_H_
