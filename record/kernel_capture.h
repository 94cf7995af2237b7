// Capture in the kernel: loads and attaches the BPF programs, and drains their rings.
#ifndef CPROF_RECORD_KERNEL_CAPTURE_H_
#define CPROF_RECORD_KERNEL_CAPTURE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/result.h"
#include "record/kernel_inventory.h"
#include "record/source.h"

struct bpf_object;

namespace cprof {

struct KernelCaptureOptions {
  uint32_t self_tgid = 0;  // the recorder, which never appears; 0: this process
  bool system_wide = false;
  bool inherit = true;          // children of targets are targets
  bool raw_keys = false;        // kernel addresses as they are
  std::vector<uint32_t> tgids;  // targets; initial pid namespace
  std::vector<uint32_t> tids;
  std::vector<uint32_t> cpus;         // only these; empty: all
  std::vector<std::string> adapters;  // names as in adapters.def; unknown ones are ignored
  uint32_t frequency_hz = 99;         // of the sample adapter
  bool call_graph = true;             // stacks with samples
  uint32_t ring_pages = 0;            // per CPU and plane, a power of two; 0: default
};

// States only move forward: opened (loaded, nothing attached), attached, detached. The gate may be
// opened and closed any number of times while attached. Open, Attach, gate and target calls come
// from one thread; Sweep, AppendCounters and Fill from one other.
class KernelCapture : public EventSource {
 public:
  // Loads everything that the adapters need, and allocates one stream per CPU and plane.
  static Result<std::unique_ptr<KernelCapture>> Open(const KernelCaptureOptions& options,
                                                     StreamAllocator& streams);

  // Attaches all programs; nothing is emitted before the gate opens.
  virtual Result<void> Attach() = 0;
  // Detaches all programs; afterwards one Sweep takes all that is left. May be called twice.
  virtual void Detach() = 0;

  virtual void OpenGate() = 0;
  // On return no program emits any more.
  virtual void CloseGate() = 0;

  virtual Result<void> AddTarget(uint32_t tgid) = 0;
  virtual void RemoveTarget(uint32_t tgid) = 0;

  // What exists now; for records of the kinds recorder:thread and recorder:ring. All threads and
  // rings of the system, but none of the recorder's.
  virtual std::vector<FoundThread> ListThreads() = 0;
  virtual std::vector<FoundRing> ListRings() = 0;

  // For SessionHeader::attributes: hook.<adapter>.<hook>, ring_bytes.<plane>, key_mix ...
  virtual const std::map<std::string, std::string>& attributes() const = 0;
  // What kernel frames are relative to (0 with raw_keys): the address of _stext, for the copy of
  // the kernel's symbols.
  virtual uint64_t kernel_base() const = 0;
  // Children that could not be followed, because the table of targets was full.
  virtual uint64_t inherit_failures() const = 0;
  // For adapters whose programs attach elsewhere (app): the loaded object, owned by the capture.
  virtual bpf_object* object() = 0;
};

}  // namespace cprof

#endif  // CPROF_RECORD_KERNEL_CAPTURE_H_
