// The rings of one process image (and one executable or shared object in it), claimed and drained.
#ifndef CPROF_RECORD_APP_REGION_H_
#define CPROF_RECORD_APP_REGION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record/app_process.h"
#include "record/app_ring.h"

namespace cprof {

enum class ClaimOutcome : uint8_t {
  kClaimed,
  kNoRegion,  // some other memory, or one that is not to be trusted
  kOthers,    // another recorder drains it
};

class AppRegion {
 public:
  struct Opened {
    ClaimOutcome outcome = ClaimOutcome::kNoRegion;
    std::string detail;  // who has it, or what is wrong with it
    std::unique_ptr<AppRegion> region;
  };
  // Whether a mapping can be a region at all; the file is looked at by Open.
  static bool LooksRight(const MapsEntry& entry);
  // The mapping that a region announced at that place must be.
  static MapsEntry EntryAt(uint64_t address, uint64_t size_bytes);
  // Claims the region that lies at entry. The claim is a lock that ends with this recorder.
  // since_ns: when the live flag went up.
  static Opened Open(std::shared_ptr<const AppProcess> process, const MapsEntry& entry,
                     uint64_t since_ns);

  // Gives the memory back: the recording is over, or the process.
  ~AppRegion();

  uint32_t tgid() const { return process_->tgid(); }
  uint64_t address() const { return address_; }
  // Whether it is that process's: numbers come round, start times do not.
  bool BelongsTo(uint32_t process_tgid, uint64_t process_start_ns);
  // The image that had it is gone by exec, though its process is not: drain it, and forget it.
  void set_orphaned() { orphaned_ = true; }
  bool IsMappedIn(const std::vector<MapsEntry>& maps) const;
  bool orphaned() const { return orphaned_; }
  bool finished() const { return finished_; }

  void Announce(uint32_t ring, uint64_t generation, const RingOwner& owner);
  // The recording ended at cut_ns, which is past: nothing that came after it is drained or counted.
  void Cut(uint64_t cut_ns);
  // Asks every thread that has a ring to announce itself again, at its next event.
  void AskForAnnouncements();

  // Reads the state of all rings. What is announced after that belongs to events not yet seen here.
  void ReadHeaders();
  // Drains to what ReadHeaders saw. allocate gives a ring its stream; blocks of rings that had
  // something are appended. Returns the time of which nothing older follows.
  uint64_t Drain(const SweepContext& context, const std::function<StreamInfo()>& allocate,
                 std::vector<DrainedBlock>* blocks);
  void FreeRingsOfDeadThreads();
  void AppendCounters(std::vector<RoundMark::Counter>* counters) const;
  double Fill() const;

 private:
  AppRegion(std::shared_ptr<const AppProcess> process, OwnedFd fd, uint64_t address, uint64_t inode,
            const cprof_region_& header, int64_t clock_offset_ns, uint64_t since_ns);
  void Claim();
  void GrowTo(size_t rings);

  std::shared_ptr<const AppProcess> process_;
  OwnedFd fd_;
  uint64_t address_;
  uint64_t inode_;
  uint32_t ring_count_;
  uint32_t ring_events_;
  int64_t clock_offset_ns_;
  uint64_t since_ns_;
  uint64_t process_start_ns_ = 0;                // 0: not heard yet
  std::vector<std::unique_ptr<AppRing>> rings_;  // those that had an owner, and ring 0
  std::vector<cprof_ring_> headers_;
  uint64_t cut_ns_ = UINT64_MAX;
  bool orphaned_ = false;
  bool was_gone_ = false;  // when the headers were read: they are the last word
  bool finished_ = false;
};

}  // namespace cprof

#endif  // CPROF_RECORD_APP_REGION_H_
