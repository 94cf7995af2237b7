// Whom to record: -p, -t, -a or a command, checked against the processes that exist.
#ifndef CPROF_RECORD_TARGET_H_
#define CPROF_RECORD_TARGET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "format/result.h"
#include "record/options.h"

namespace cprof {

// Owns pidfds of the targets that the user named, so that an id given to somebody else in the
// meantime is noticed.
class Targets {
 public:
  Targets() = default;
  ~Targets();
  Targets(Targets&& other) noexcept;
  Targets& operator=(Targets&& other) noexcept;
  Targets(const Targets&) = delete;
  Targets& operator=(const Targets&) = delete;

  struct Target {
    uint32_t id = 0;  // tgid, or tid for a thread
    uint32_t tgid = 0;
    bool is_thread = false;
    int pidfd = -1;  // readable when it has ended; -1 where the kernel has none for threads
  };

  const std::vector<Target>& all() const { return targets_; }
  bool empty() const { return targets_.empty(); }
  std::vector<uint32_t> tgids() const;  // processes named with -p
  std::vector<uint32_t> tids() const;   // threads named with -t
  // Whether one has ended by now.
  static bool HasEnded(const Target& target);
  bool AllEnded() const;

 private:
  friend Result<Targets> FindTargets(const RecordOptions& options);
  std::vector<Target> targets_;
};

// Refuses, with a hint: ids that nobody has, that only another pid namespace has, threads and
// kernel threads given as processes, the recorder itself, zombies. No targets (-a, or only a
// command) are no error.
Result<Targets> FindTargets(const RecordOptions& options);

}  // namespace cprof

#endif  // CPROF_RECORD_TARGET_H_
