// Follows processes, listens to announcements, and sweeps all in-process rings.
#include "record/app_rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "bpf/adapters/app.h"
#include "record/app_files.h"
#include "record/app_region.h"
#include "record/procfs.h"

namespace cprof {
namespace {

// How soon an object that was loaded late (dlopen) is found, and how many processes a sweep may
// look at for that: some 0.1 ms each.
constexpr uint64_t kLookAgainNs = 200'000'000;
constexpr size_t kLooksPerSweep = 8;
// A thread with 200,000 events a second, of two slots at most, fills an eighth of its ring in this.
constexpr uint64_t kLongestPauseNs = 5'000'000;
// Regions of one process: one an object that includes cprof.h. More is a hostile process.
constexpr size_t kMaxRegionsPerProcess = 64;
constexpr size_t kMaxNotices = 100;

class AppRingsImpl : public AppRings {
 public:
  AppRingsImpl(StreamAllocator& streams, const AppRingsOptions& options, bpf_program* ring_program)
      : streams_(streams), files_(ring_program, options.inherit) {}
  ~AppRingsImpl() override;

  Result<void> Start(bpf_object* object);

  Result<void> AddProcess(uint32_t tgid, uint64_t recording_ns) override;
  void AddExecutable(uint32_t tgid, const std::string& path) override;
  void Cut() override;
  void Disarm() override;
  std::vector<std::string> TakeNotices() override;
  bool Sweep(BlockSink& sink) override;
  void AppendCounters(std::vector<RoundMark::Counter>* counters) override;
  double Fill() const override;
  uint64_t LongestPauseNs() const override;
  uint64_t FinalNs() const override;

 private:
  struct Tracked {
    std::shared_ptr<const AppProcess> process;
    uint64_t looked_ns = 0;
    uint64_t added_ns = 0;
  };

  void Listen();
  static int OnAnnouncement(void* self, void* data, size_t size_bytes);
  void HearAnnouncements();
  void OnOwner(const cprof_app_announcement& heard);
  void OnExec(uint32_t tgid);
  bool IsGone(const Tracked& tracked, uint64_t address) const;

  Tracked* Track(uint32_t tgid);
  bool Look(Tracked* tracked);
  bool OpenRegions(const Tracked& tracked, const std::vector<MapsEntry>& maps);
  AppRegion* OpenRegion(const Tracked& tracked, const MapsEntry& entry);
  AppRegion* FindRegion(uint32_t tgid, uint64_t address, uint64_t process_start_ns);
  bool HasRegion(uint32_t tgid) const;
  void MissedRegion(const cprof_app_announcement& heard, const std::string& why);
  void PutBreak(uint32_t tgid, uint64_t from_ns, const std::string& why);
  void LookAgain(uint64_t now_ns);
  StreamInfo AllocateStream(uint32_t tgid);
  void Notice(std::string text);

  StreamAllocator& streams_;
  mutable std::mutex mutex_;  // of all that follows but the thread's own
  AppFiles files_;
  bpf_link* exec_link_ = nullptr;
  ring_buffer* announcements_ = nullptr;
  std::vector<cprof_app_announcement> inbox_;
  int lost_map_fd_ = -1;
  bool owners_known_ = true;
  std::map<uint32_t, Tracked> tracked_;
  std::vector<std::unique_ptr<AppRegion>> regions_;
  std::map<uint32_t, uint32_t> slots_of_;            // streams given to a process so far
  std::set<std::pair<uint32_t, uint64_t>> refused_;  // regions that were said to be another's
  std::vector<RoundMark::Counter> gone_;             // last counters of regions that are finished
  std::vector<DrainedBlock> waiting_blocks_;
  std::vector<std::string> notices_;
  std::set<std::string> noticed_;
  uint64_t final_ns_ = 0;
  uint64_t freed_ns_ = 0;
  uint64_t cut_ns_ = UINT64_MAX;    // the recording has ended
  std::vector<cprof_slot_> slots_;  // of the ring that is being drained

  std::thread listener_;
  int stop_fd_ = -1;
};

AppRingsImpl::~AppRingsImpl() {
  AppRingsImpl::Disarm();
  if (listener_.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = write(stop_fd_, &one, sizeof(one));
    listener_.join();
  }
  if (stop_fd_ >= 0) close(stop_fd_);
  ring_buffer__free(announcements_);
}

Result<void> AppRingsImpl::Start(bpf_object* object) {
  bpf_program* exec_program = bpf_object__find_program_by_name(object, "app__exec");
  bpf_map* map = bpf_object__find_map_by_name(object, "app_announcements");
  bpf_map* lost_map = bpf_object__find_map_by_name(object, "app_lost");
  CPROF_CHECK(exec_program && map && lost_map);
  lost_map_fd_ = bpf_map__fd(lost_map);
  announcements_ = ring_buffer__new(bpf_map__fd(map), OnAnnouncement, this, nullptr);
  stop_fd_ = eventfd(0, EFD_CLOEXEC);
  if (!announcements_ || stop_fd_ < 0) {
    return Error{std::string("cannot listen for in-process rings: ") + std::strerror(errno), ""};
  }
  exec_link_ = bpf_program__attach(exec_program);
  if (!exec_link_) {
    return Error{std::string("cannot attach to sched_process_exec: ") + std::strerror(errno), ""};
  }
  listener_ = std::thread([this] { Listen(); });
  return {};
}

// Sleeps until a process announces its first ring, or executes another program. Must run before a
// process that has only begun can end, and takes some 50 us each time.
void AppRingsImpl::Listen() {
  const sched_param first_in_line = {.sched_priority = 1};
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &first_in_line);  // without, it is later
  pollfd fds[2] = {{ring_buffer__epoll_fd(announcements_), POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
    if (fds[1].revents != 0) return;
    const std::lock_guard lock(mutex_);
    HearAnnouncements();
  }
}

int AppRingsImpl::OnAnnouncement(void* self, void* data, size_t size_bytes) {
  if (size_bytes >= sizeof(cprof_app_announcement)) {
    auto& inbox = static_cast<AppRingsImpl*>(self)->inbox_;
    std::memcpy(&inbox.emplace_back(), data, sizeof(cprof_app_announcement));
  }
  return 0;
}

void AppRingsImpl::HearAnnouncements() {
  inbox_.clear();
  ring_buffer__consume(announcements_);
  for (const cprof_app_announcement& heard : inbox_) {
    if (heard.kind == CPROF_APP_EXEC) {
      OnExec(heard.tgid);
    } else if (heard.kind == CPROF_APP_RING_OWNER) {
      OnOwner(heard);
    } else if (heard.is_target != 0) {
      Notice("process " + std::to_string(heard.tgid) +
             " got no memory for its rings: its app events are not recorded");
    }
  }
}

void AppRingsImpl::OnOwner(const cprof_app_announcement& heard) {
  AppRegion* region = FindRegion(heard.tgid, heard.region, heard.process_start_ns);
  if (!region && (heard.is_target == 0 || heard.time_ns > cut_ns_)) return;
  if (!region) {
    Tracked* tracked = Track(heard.tgid);
    if (!tracked) {
      MissedRegion(heard, "it ended before its rings were opened");
      return;
    }
    // Not by way of the list of its mappings: it may end while that is read.
    region = OpenRegion(*tracked, AppRegion::EntryAt(heard.region, heard.size_bytes));
    if (!region && IsGone(*tracked, heard.region)) {
      MissedRegion(heard, "it ended or executed another program before its rings were opened");
    }
  }
  if (!region) return;
  const RingOwner owner = {heard.tid, heard.start_time_ns, heard.is_target != 0};
  region->Announce(static_cast<uint32_t>(heard.announcement >> 48),
                   heard.announcement & 0xffffffffffffULL, owner);
}

// Whether the process, or the image of it that had memory there, is no more.
bool AppRingsImpl::IsGone(const Tracked& tracked, uint64_t address) const {
  if (!tracked.process->alive()) return true;
  const std::string text = tracked.process->ReadMaps();
  const std::vector<MapsEntry> maps = ParseMaps(text);
  return std::none_of(maps.begin(), maps.end(),
                      [address](const MapsEntry& entry) { return entry.start == address; });
}

void AppRingsImpl::MissedRegion(const cprof_app_announcement& heard, const std::string& why) {
  if (!refused_.emplace(heard.tgid, heard.region).second) return;
  PutBreak(heard.tgid, heard.time_ns, why);
  Notice("process " + std::to_string(heard.tgid) + ": " + why);
}

// Events that nobody counted: the break has all verbs and all bits.
void AppRingsImpl::PutBreak(uint32_t tgid, uint64_t from_ns, const std::string& why) {
  DrainedBlock block;
  block.new_streams.push_back(AllocateStream(tgid));
  block.stream = block.new_streams.back().id;
  Break lost;
  lost.stream = block.stream;
  lost.reason = BreakReason::kNotHeard;
  lost.from_ns = from_ns;
  lost.to_ns = std::max(KernelNowNs(), from_ns);
  lost.signature = ~uint64_t{0};
  lost.detail = why;
  block.breaks.push_back(lost);
  waiting_blocks_.push_back(std::move(block));
}

void AppRingsImpl::OnExec(uint32_t tgid) {
  // The new image may have been looked at already; what of the old one is no longer mapped is over.
  Tracked* tracked = Track(tgid);
  const std::string text = tracked ? tracked->process->ReadMaps() : "";
  const std::vector<MapsEntry> maps = ParseMaps(text);
  for (const auto& region : regions_) {
    if (region->tgid() == tgid && !region->IsMappedIn(maps)) region->set_orphaned();
  }
  std::erase_if(refused_, [tgid](const auto& refused) { return refused.first == tgid; });
  files_.ForgetProcess(tgid);
  if (tracked && cut_ns_ == UINT64_MAX) Look(tracked);
}

AppRingsImpl::Tracked* AppRingsImpl::Track(uint32_t tgid) {
  const auto found = tracked_.find(tgid);
  if (found != tracked_.end()) {
    if (found->second.process->alive()) return &found->second;
    tracked_.erase(found);  // its number has come round
    files_.ForgetProcess(tgid);
    std::erase_if(refused_, [tgid](const auto& refused) { return refused.first == tgid; });
  }
  auto process = AppProcess::Open(tgid);
  if (!process) return nullptr;
  Tracked tracked;
  tracked.process = std::make_shared<AppProcess>(std::move(*process));
  tracked.added_ns = KernelNowNs();
  return &tracked_.emplace(tgid, std::move(tracked)).first->second;
}

// process_start_ns: 0 where the process is known to live.
AppRegion* AppRingsImpl::FindRegion(uint32_t tgid, uint64_t address, uint64_t process_start_ns) {
  for (const auto& region : regions_) {
    if (region->tgid() != tgid || region->address() != address || region->orphaned()) continue;
    if (process_start_ns == 0 || region->BelongsTo(tgid, process_start_ns)) return region.get();
  }
  return nullptr;
}

bool AppRingsImpl::HasRegion(uint32_t tgid) const {
  return std::any_of(regions_.begin(), regions_.end(), [tgid](const auto& region) {
    return region->tgid() == tgid && !region->orphaned();
  });
}

AppRegion* AppRingsImpl::OpenRegion(const Tracked& tracked, const MapsEntry& entry) {
  const uint32_t tgid = tracked.process->tgid();
  const auto count = std::count_if(regions_.begin(), regions_.end(),
                                   [tgid](const auto& region) { return region->tgid() == tgid; });
  if (static_cast<size_t>(count) >= kMaxRegionsPerProcess) return nullptr;
  AppRegion::Opened opened = AppRegion::Open(tracked.process, entry, tracked.added_ns);
  if (opened.outcome == ClaimOutcome::kClaimed) {
    if (cut_ns_ != UINT64_MAX) opened.region->Cut(cut_ns_);
    regions_.push_back(std::move(opened.region));
    return regions_.back().get();
  }
  // Some other memory, or memory that is gone: nobody refused anything.
  if (opened.outcome == ClaimOutcome::kNoRegion && opened.detail.empty()) return nullptr;
  const bool first = refused_.emplace(tgid, entry.start).second;
  if (first && opened.outcome == ClaimOutcome::kOthers) {
    Notice("the app events of process " + std::to_string(tgid) + " go to another recorder (" +
           opened.detail + "), and not into this recording");
  } else if (first && !opened.detail.empty()) {
    Notice("the app events of process " + std::to_string(tgid) +
           " are not recorded: " + opened.detail);
  }
  return nullptr;
}

// Opens the regions that are there. A region that was another recorder's is tried again each time:
// that one may have ended since.
bool AppRingsImpl::OpenRegions(const Tracked& tracked, const std::vector<MapsEntry>& maps) {
  bool opened = false;
  for (const MapsEntry& entry : maps) {
    if (!AppRegion::LooksRight(entry) || FindRegion(tracked.process->tgid(), entry.start, 0))
      continue;
    const bool was_refused = refused_.contains({tracked.process->tgid(), entry.start});
    AppRegion* region = OpenRegion(tracked, entry);
    if (!region) continue;
    opened = true;
    if (was_refused) {
      refused_.erase({tracked.process->tgid(), entry.start});
      PutBreak(tracked.process->tgid(), tracked.added_ns, "its rings were another recorder's");
      Notice("the app events of process " + std::to_string(tracked.process->tgid()) +
             " are recorded from now on: the other recorder has ended");
    }
  }
  return opened;
}

// Whether a flag went up that was down before.
bool AppRingsImpl::Look(Tracked* tracked) {
  const AppProcess& process = *tracked->process;
  tracked->looked_ns = KernelNowNs();
  // Claimed before the flag goes up, old regions hold nothing of this recording yet.
  std::string text = process.ReadMaps();
  OpenRegions(*tracked, ParseMaps(text));
  std::vector<std::string> notices;
  const bool attached = files_.Attach(process, HasRegion(process.tgid()), &notices);
  for (std::string& notice : notices) Notice(std::move(notice));
  if (!attached) return false;
  // The kernel raises the flag a moment before the probe is in place: who announced itself in
  // between was not heard, and is asked again.
  text = process.ReadMaps();
  OpenRegions(*tracked, ParseMaps(text));
  for (const auto& region : regions_) {
    if (region->tgid() == process.tgid()) region->AskForAnnouncements();
  }
  return true;
}

Result<void> AppRingsImpl::AddProcess(uint32_t tgid, uint64_t recording_ns) {
  const std::lock_guard lock(mutex_);
  Tracked* tracked = Track(tgid);
  if (!tracked) return Error{"there is no process " + std::to_string(tgid), ""};
  if (Look(tracked) && recording_ns != 0) {
    PutBreak(tgid, recording_ns, "it ran already, and its flag was not up yet");
  }
  return {};
}

void AppRingsImpl::AddExecutable(uint32_t tgid, const std::string& path) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> notices;
  files_.AttachBeforeExec(path, tgid, &notices);
  for (std::string& notice : notices) Notice(std::move(notice));
}

void AppRingsImpl::Cut() {
  const uint64_t now_ns = KernelNowNs();
  const std::lock_guard lock(mutex_);
  if (cut_ns_ != UINT64_MAX) return;
  cut_ns_ = now_ns;
  for (const auto& region : regions_) region->Cut(cut_ns_);
}

void AppRingsImpl::Disarm() {
  AppRingsImpl::Cut();
  const std::lock_guard lock(mutex_);
  files_.Disarm();
  bpf_link__destroy(exec_link_);
  exec_link_ = nullptr;
}

std::vector<std::string> AppRingsImpl::TakeNotices() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notices_, {});
}

void AppRingsImpl::Notice(std::string text) {
  if (noticed_.size() < kMaxNotices && noticed_.insert(text).second) {
    notices_.push_back(std::move(text));
  }
}

StreamInfo AppRingsImpl::AllocateStream(uint32_t tgid) {
  StreamInfo stream;
  stream.kind = StreamKind::kApp;
  stream.tgid = tgid;
  stream.slot = slots_of_[tgid]++;
  stream.id = streams_.Allocate(stream);
  return stream;
}

void AppRingsImpl::LookAgain(uint64_t now_ns) {
  size_t looks = 0;
  std::vector<uint32_t> ended;
  for (auto& [tgid, tracked] : tracked_) {
    if (now_ns - tracked.looked_ns < kLookAgainNs || now_ns < tracked.looked_ns) continue;
    if (!tracked.process->alive()) {
      ended.push_back(tgid);
    } else if (looks++ < kLooksPerSweep) {
      Look(&tracked);
    }
  }
  for (const uint32_t tgid : ended) {
    tracked_.erase(tgid);
    files_.ForgetProcess(tgid);
  }
}

bool AppRingsImpl::Sweep(BlockSink& sink) {
  SweepContext context;
  context.begin_ns = KernelNowNs();
  context.sink = &sink;
  context.slots = &slots_;
  uint64_t final_ns = context.begin_ns;
  std::vector<DrainedBlock> blocks;
  {
    const std::lock_guard lock(mutex_);
    context.floor_ns = final_ns_;
    HearAnnouncements();
    if (cut_ns_ == UINT64_MAX) LookAgain(context.begin_ns);
    const size_t region_count = regions_.size();
    for (size_t i = 0; i < region_count; ++i) regions_[i]->ReadHeaders();
    // Who wrote what is seen now has announced itself before. A region that this opens waits for
    // the next sweep; all in it is later than its announcement, and so than this sweep's begin.
    HearAnnouncements();
    uint64_t lost = 0;
    const uint32_t zero = 0;
    if (bpf_map_lookup_elem(lost_map_fd_, &zero, &lost) == 0 && lost != 0) owners_known_ = false;
    context.owners_known = owners_known_;
    blocks = std::exchange(waiting_blocks_, {});
    for (size_t i = 0; i < region_count; ++i) {
      const uint32_t tgid = regions_[i]->tgid();
      final_ns =
          std::min(final_ns, regions_[i]->Drain(
                                 context, [this, tgid] { return AllocateStream(tgid); }, &blocks));
    }
    if (context.begin_ns - freed_ns_ > 1'000'000'000) {
      freed_ns_ = context.begin_ns;
      for (const auto& region : regions_) region->FreeRingsOfDeadThreads();
    }
    for (const auto& region : regions_) {
      if (region->finished()) region->AppendCounters(&gone_);
    }
    std::erase_if(regions_, [](const auto& region) { return region->finished(); });
    final_ns_ = std::max(final_ns_, final_ns);
  }
  for (DrainedBlock& block : blocks) sink.Put(std::move(block));
  // What still follows is bounded by FinalNs.
  return true;
}

void AppRingsImpl::AppendCounters(std::vector<RoundMark::Counter>* counters) {
  const std::lock_guard lock(mutex_);
  counters->insert(counters->end(), gone_.begin(), gone_.end());
  for (const auto& region : regions_) region->AppendCounters(counters);
}

uint64_t AppRingsImpl::FinalNs() const {
  const std::lock_guard lock(mutex_);
  return final_ns_;
}

double AppRingsImpl::Fill() const {
  const std::lock_guard lock(mutex_);
  double fill = 0;
  for (const auto& region : regions_) fill = std::max(fill, region->Fill());
  return fill;
}

uint64_t AppRingsImpl::LongestPauseNs() const {
  const std::lock_guard lock(mutex_);
  return regions_.empty() ? UINT64_MAX : kLongestPauseNs;
}

}  // namespace

Result<std::unique_ptr<AppRings>> AppRings::Open(bpf_object* object, StreamAllocator& streams,
                                                 const AppRingsOptions& options) {
  bpf_program* program = bpf_object__find_program_by_name(object, "app__ring");
  CPROF_CHECK(program);
  auto rings = std::make_unique<AppRingsImpl>(streams, options, program);
  CPROF_RETURN_IF_ERROR(rings->Start(object));
  return std::unique_ptr<AppRings>(std::move(rings));
}

}  // namespace cprof
