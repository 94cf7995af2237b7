// The app adapter: finds the in-process rings of the recorded programs and drains them.
#ifndef CPROF_RECORD_APP_RINGS_H_
#define CPROF_RECORD_APP_RINGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/result.h"
#include "record/source.h"

struct bpf_object;

namespace cprof {

struct AppRingsOptions {
  // Children of a process are recorded too. Then the live flag goes up in every process that runs
  // the same file, so that a child can be heard from its first event; without, in this one only.
  bool inherit = true;
};

// AddProcess, Cut and Disarm may be called from any thread; Sweep, AppendCounters and Fill from
// one. A thread of its own gets hold of new rings at once, since a process may end at any moment.
class AppRings : public EventSource {
 public:
  // object: loaded, with the programs app__ring and app__exec (which nobody else attaches) and
  // their map. Outlives this. Who is a target is decided by the programs (is_target).
  static Result<std::unique_ptr<AppRings>> Open(bpf_object* object, StreamAllocator& streams,
                                                const AppRingsOptions& options);

  // Looks for the probe of cprof.h in all that the process has mapped, raises the live flag there,
  // and takes over rings that exist. From then on the process is looked at again for objects that
  // it loads later, and after exec. An error only where there is no such process; what stands in
  // the way otherwise becomes a notice.
  // recording_ns: since when events are asked for, where that is before this call, else 0. What the
  // process may have told until its flag was up is a break then.
  virtual Result<void> AddProcess(uint32_t tgid, uint64_t recording_ns) = 0;

  // The flag goes up in the file that a process is about to execute, so that nothing of it is
  // missed; not in the shared objects that it will load. A file without the probe is left alone.
  virtual void AddExecutable(uint32_t tgid, const std::string& path) = 0;

  // The recording ends now: what the programs tell or lose from here on is no part of it.
  virtual void Cut() = 0;

  // The live flags fall, after a Cut if there was none. Afterwards one Sweep takes what is left.
  // May be called twice.
  virtual void Disarm() = 0;

  // Sentences for the user since the last call, each once: who else records, what was refused.
  virtual std::vector<std::string> TakeNotices() = 0;
};

}  // namespace cprof

#endif  // CPROF_RECORD_APP_RINGS_H_
