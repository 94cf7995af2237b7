// Opens, claims and drains the rings of one process image.
#include "record/app_region.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "record/procfs.h"

namespace cprof {
namespace {

// How the kernel names shared anonymous memory in maps. Files can have that name as well.
constexpr std::string_view kAnonymousName = "/dev/zero (deleted)";

// The device of the kernel's own mount for shared memory: no file with a path lies on it.
dev_t SharedMemoryDevice() {
  static const dev_t device = [] {
    const OwnedFd fd(memfd_create("cprof-device", MFD_CLOEXEC));
    struct stat status {};
    return fd.valid() && fstat(fd.get(), &status) == 0 ? status.st_dev : dev_t{0};
  }();
  return device;
}

// Rings that some cprof.h may make: of 4,096 slots until they were made larger. The limit bounds
// what a hostile process can make the recorder read at once.
constexpr uint32_t kMinRingEvents = 4096;
constexpr uint32_t kMaxRingEvents = 65536;

uint64_t RegionBytes(uint32_t rings, uint32_t ring_events) {
  return CPROF_SLOTS_OFFSET_(rings) + uint64_t{rings} * ring_events * sizeof(cprof_slot_);
}

bool HasPossibleSizes(const cprof_region_& header) {
  return header.ring_count >= 2 && header.ring_count <= CPROF_RINGS_ &&
         header.ring_events >= kMinRingEvents && header.ring_events <= kMaxRingEvents &&
         std::has_single_bit(header.ring_events) &&
         header.size_bytes == RegionBytes(header.ring_count, header.ring_events);
}

// The process that holds a flock on the file; 0 where it cannot be told.
uint32_t LockHolder(const struct stat& status) {
  const std::string locks = ReadSmallFile("/proc/locks", 1 << 20).value_or("");
  char wanted[64];
  std::snprintf(wanted, sizeof(wanted), " %02x:%02x:%llu ", major(status.st_dev),
                minor(status.st_dev), static_cast<unsigned long long>(status.st_ino));
  const size_t at = locks.find(wanted);
  if (at == std::string::npos) return 0;
  const size_t before = locks.rfind(' ', at - 1);
  if (before == std::string::npos) return 0;
  return static_cast<uint32_t>(std::strtoul(locks.c_str() + before, nullptr, 10));
}

}  // namespace

bool AppRegion::LooksRight(const MapsEntry& entry) {
  const uint64_t size_bytes = entry.end - entry.start;
  return entry.permissions == "rw-s" && entry.file_offset == 0 && entry.path == kAnonymousName &&
         size_bytes >= RegionBytes(2, kMinRingEvents) &&
         size_bytes <= RegionBytes(CPROF_RINGS_, kMaxRingEvents);
}

MapsEntry AppRegion::EntryAt(uint64_t address, uint64_t size_bytes) {
  MapsEntry entry;
  entry.start = address;
  entry.end = address + size_bytes;
  entry.permissions = "rw-s";
  entry.path = kAnonymousName;
  return entry;
}

AppRegion::Opened AppRegion::Open(std::shared_ptr<const AppProcess> process, const MapsEntry& entry,
                                  uint64_t since_ns) {
  Opened opened;
  if (!LooksRight(entry)) return opened;
  OwnedFd fd = process->OpenMapping(entry, O_RDWR);
  struct stat status {};
  // The text of a mapping may be the name of a file; what was opened tells.
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_dev != SharedMemoryDevice()) {
    return opened;
  }
  cprof_region_ header{};
  if (pread(fd.get(), &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)) ||
      header.magic != CPROF_MAGIC_) {
    return opened;
  }
  if (header.version != CPROF_LAYOUT_VERSION_) {
    opened.detail = "its rings have layout " + std::to_string(header.version) +
                    ", and this recorder knows " + std::to_string(CPROF_LAYOUT_VERSION_);
    return opened;
  }
  if (!HasPossibleSizes(header) || static_cast<uint64_t>(status.st_size) < header.size_bytes) {
    opened.detail = "its rings have impossible sizes";
    return opened;
  }
  const auto offset = process->MonotonicOffset();
  if (!offset) {
    opened.detail = "the offset of its time namespace cannot be known";
    return opened;
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    opened.outcome = ClaimOutcome::kOthers;
    const uint32_t holder = LockHolder(status);
    opened.detail = holder != 0 ? "process " + std::to_string(holder) : "another process";
    return opened;
  }
  opened.outcome = ClaimOutcome::kClaimed;
  opened.region.reset(new AppRegion(std::move(process), std::move(fd), entry.start, status.st_ino,
                                    header, *offset, since_ns));
  opened.region->Claim();
  return opened;
}

AppRegion::AppRegion(std::shared_ptr<const AppProcess> process, OwnedFd fd, uint64_t address,
                     uint64_t inode, const cprof_region_& header, int64_t clock_offset_ns,
                     uint64_t since_ns)
    : process_(std::move(process)),
      fd_(std::move(fd)),
      address_(address),
      inode_(inode),
      ring_count_(header.ring_count),
      ring_events_(header.ring_events),
      clock_offset_ns_(clock_offset_ns),
      since_ns_(since_ns) {}

AppRegion::~AppRegion() {
  if (orphaned_ || !process_->alive()) return;
  ReadHeaders();
  for (size_t i = 0; i < headers_.size(); ++i) rings_[i]->GiveBackAll(headers_[i]);
}

// A region that some recorder had before still holds what that one left: it is forgotten. In a new
// one everything belongs to this recording.
void AppRegion::Claim() {
  cprof_region_ header{};
  ReadHeaders();
  if (pread(fd_.get(), &header, sizeof(header), 0) == static_cast<ssize_t>(sizeof(header)) &&
      header.epoch != 0) {
    for (size_t i = 0; i < rings_.size(); ++i) rings_[i]->StartAt(headers_[i]);
  }
  AskForAnnouncements();
}

void AppRegion::Cut(uint64_t cut_ns) {
  // A loss that is only half counted: its writer needs some 0.1 us more.
  constexpr int kLooks = 10;
  const auto is_half = [](const cprof_ring_& ring) { return ring.loss.begun != ring.loss.ended; };
  for (int i = 0; i < kLooks; ++i) {
    ReadHeaders();
    if (std::none_of(headers_.begin(), headers_.end(), is_half)) break;
  }
  for (size_t i = 0; i < headers_.size(); ++i) rings_[i]->EndAt(headers_[i], cut_ns);
  cut_ns_ = cut_ns;
}

void AppRegion::AskForAnnouncements() {
  uint32_t epoch = 0;
  const off_t at = offsetof(cprof_region_, epoch);
  if (pread(fd_.get(), &epoch, sizeof(epoch), at) != static_cast<ssize_t>(sizeof(epoch))) return;
  ++epoch;
  if (epoch == 0) ++epoch;
  [[maybe_unused]] const ssize_t ignored = pwrite(fd_.get(), &epoch, sizeof(epoch), at);
}

bool AppRegion::IsMappedIn(const std::vector<MapsEntry>& maps) const {
  return std::any_of(maps.begin(), maps.end(), [this](const MapsEntry& entry) {
    return entry.start == address_ && entry.inode == inode_;
  });
}

bool AppRegion::BelongsTo(uint32_t process_tgid, uint64_t process_start_ns) {
  if (process_tgid != tgid()) return false;
  if (process_start_ns_ == 0) process_start_ns_ = process_start_ns;
  return process_start_ns_ == process_start_ns;
}

void AppRegion::GrowTo(size_t rings) {
  while (rings_.size() < rings) {
    const RingPlace place = {fd_.get(), static_cast<uint32_t>(rings_.size()), ring_count_,
                             ring_events_};
    rings_.push_back(std::make_unique<AppRing>(place, tgid(), clock_offset_ns_, since_ns_));
    // Nobody had it when the recording ended.
    if (cut_ns_ != UINT64_MAX) rings_.back()->EndAt({}, cut_ns_);
  }
}

void AppRegion::Announce(uint32_t ring, uint64_t generation, const RingOwner& owner) {
  if (ring == 0 || ring >= ring_count_) return;
  GrowTo(ring + 1);
  rings_[ring]->Announce(generation, owner);
}

void AppRegion::ReadHeaders() {
  was_gone_ = orphaned_ || !process_->alive();
  cprof_region_ header{};
  uint32_t used = 1;
  if (pread(fd_.get(), &header, sizeof(header), 0) == static_cast<ssize_t>(sizeof(header))) {
    used = std::clamp<uint32_t>(header.rings_used, 1, ring_count_);
  }
  used = std::max(used, static_cast<uint32_t>(rings_.size()));
  GrowTo(used);
  headers_.resize(used);
  const size_t size_bytes = used * sizeof(cprof_ring_);
  const ssize_t got = pread(fd_.get(), headers_.data(), size_bytes, CPROF_RINGS_OFFSET_);
  if (got != static_cast<ssize_t>(size_bytes)) {
    // Cut short: heads that no ring accepts, so that each reports its damage.
    for (cprof_ring_& ring : headers_) {
      std::memset(&ring, 0, sizeof(ring));
      ring.head = ~uint64_t{0} / 2;
    }
  }
}

uint64_t AppRegion::Drain(const SweepContext& context, const std::function<StreamInfo()>& allocate,
                          std::vector<DrainedBlock>* blocks) {
  uint64_t final_ns = context.begin_ns;
  for (size_t i = 0; i < headers_.size(); ++i) {
    AppRing& ring = *rings_[i];
    if (!ring.active(headers_[i])) continue;
    DrainedBlock block;
    if (!ring.stream()) {
      block.new_streams.push_back(allocate());
      ring.set_stream(block.new_streams.back().id);
    }
    block.stream = *ring.stream();
    ring.Drain(headers_[i], context, &block);
    final_ns = std::min(final_ns, ring.final_ns());
    if (was_gone_) ring.Finish(headers_[i], context, &block);
    if (!block.events.empty() || !block.breaks.empty() || !block.new_streams.empty()) {
      blocks->push_back(std::move(block));
    }
  }
  if (was_gone_) finished_ = true;
  return was_gone_ ? context.begin_ns : final_ns;
}

void AppRegion::FreeRingsOfDeadThreads() {
  for (size_t i = 0; i < headers_.size(); ++i) rings_[i]->FreeIfOwnerGone(headers_[i]);
}

void AppRegion::AppendCounters(std::vector<RoundMark::Counter>* counters) const {
  for (const auto& ring : rings_) {
    if (ring->stream()) counters->push_back(ring->counter());
  }
}

double AppRegion::Fill() const {
  double fill = 0;
  for (const auto& ring : rings_) fill = std::max(fill, ring->fill());
  return fill;
}

}  // namespace cprof
