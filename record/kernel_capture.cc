// Opening, attaching and sweeping: the kernel's side of a recording.
#include "record/kernel_capture.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "bpf/event.h"
#include "record/kernel_btf.h"
#include "record/kernel_drain.h"
#include "record/kernel_programs.h"
#include "record/kernel_ring.h"
#include "record/kernel_sampler.h"
#include "record/kernel_skeleton.h"
#include "record/kernel_symbols.h"

namespace cprof {
namespace {

// At 4.5 million events a second, the most one CPU was seen to make, 16 MiB last 50 ms.
constexpr uint32_t kDefaultEdgeBytes = 16U << 20;
// 1 MiB holds the samples of 5 s at 99 Hz and full depth.
constexpr uint32_t kDefaultContextBytes = 1U << 20;
// All rings of a recording together. Kernel memory that cannot be swapped: no more than one part
// in eight of the machine's, and 1 GiB at the very most.
constexpr uint64_t kMaxRingBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxRingShare = 8;

uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint32_t PageBytes() { return static_cast<uint32_t>(sysconf(_SC_PAGESIZE)); }

uint32_t MaxPid() {
  uint32_t max_pid = 0;
  std::ifstream("/proc/sys/kernel/pid_max") >> max_pid;
  return max_pid != 0 ? max_pid : 4194304;
}

// "0-3,7" as numbers.
std::vector<uint32_t> OnlineCpus() {
  std::vector<uint32_t> cpus;
  std::ifstream file("/sys/devices/system/cpu/online");
  uint32_t first = 0;
  while (file >> first) {
    uint32_t last = first;
    if (file.peek() == '-') {
      file.get();
      file >> last;
    }
    for (uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (file.peek() == ',') file.get();
  }
  return cpus;
}

// Ring sizes of one recording.
struct RingSizes {
  uint32_t edge_bytes = 0;
  uint32_t context_bytes = 0;
};

Result<RingSizes> ChooseRingSizes(uint32_t pages, size_t cpu_count, bool has_context) {
  const uint64_t memory_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * uint64_t{PageBytes()};
  const uint64_t cap_bytes = std::min(kMaxRingBytes, memory_bytes / kMaxRingShare);
  RingSizes sizes{kDefaultEdgeBytes, has_context ? kDefaultContextBytes : 0};
  const auto total = [&] { return cpu_count * (uint64_t{sizes.edge_bytes} + sizes.context_bytes); };
  if (pages != 0) {
    if ((pages & (pages - 1)) != 0) {
      return Error{"-m " + std::to_string(pages) + ": not a power of two", ""};
    }
    const uint64_t bytes = uint64_t{pages} * PageBytes();
    if (bytes * cpu_count * (has_context ? 2 : 1) > cap_bytes) {
      return Error{"-m " + std::to_string(pages) + ": the rings of " + std::to_string(cpu_count) +
                       " CPUs would take more than " + std::to_string(cap_bytes >> 20) + " MiB",
                   "give fewer pages"};
    }
    sizes.edge_bytes = static_cast<uint32_t>(bytes);
    if (has_context) sizes.context_bytes = static_cast<uint32_t>(bytes);
    return sizes;
  }
  while (total() > cap_bytes && sizes.edge_bytes > PageBytes()) sizes.edge_bytes /= 2;
  while (total() > cap_bytes && sizes.context_bytes > PageBytes()) sizes.context_bytes /= 2;
  return sizes;
}

// The last complaints of libbpf; it has one print function for the whole process.
std::string& LibbpfLog() {
  static auto* const log = new std::string;
  return *log;
}

int KeepLibbpfLog(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char* line = nullptr;  // A verifier's log comes as one line of up to 16 MiB.
  const int length = vasprintf(&line, format, arguments);
  if (length < 0) return 0;
  LibbpfLog().append(line, static_cast<size_t>(length));
  std::free(line);
  return 0;
}

// The program that libbpf says it could not load, or "".
std::string FailedProgram() {
  const std::string& log = LibbpfLog();
  const size_t end = log.rfind("': failed to load");
  if (end == std::string::npos) return "";
  const size_t start = log.rfind('\'', end - 1);
  return start == std::string::npos ? "" : log.substr(start + 1, end - start - 1);
}

// Why a verifier or the kernel refused: the last line of its log that says something.
std::string LastLogLine() {
  const std::string& log = LibbpfLog();
  const size_t end = log.rfind("-- END PROG LOAD LOG --");
  if (end == std::string::npos) return "";
  size_t stop = log.rfind("processed ", end);
  if (stop == std::string::npos) stop = end;
  const size_t last = log.find_last_not_of('\n', stop - 1);
  const size_t first = log.rfind('\n', last);
  return log.substr(first + 1, last - first);
}

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
struct SkeletonDeleter {
  void operator()(cprof_bpf* skeleton) const { cprof_bpf::destroy(skeleton); }
};

class KernelCaptureImpl final : public KernelCapture {
 public:
  explicit KernelCaptureImpl(const KernelCaptureOptions& options) : options_(options) {
    if (options_.self_tgid == 0) options_.self_tgid = static_cast<uint32_t>(getpid());
  }
  ~KernelCaptureImpl() override {
    Detach();
    streams_.clear();
    if (counters_ != nullptr) munmap(counters_, counters_bytes_);
  }

  Result<void> Initialize(StreamAllocator& streams);

  Result<void> Attach() override;
  void Detach() override;
  void OpenGate() override;
  void CloseGate() override;
  Result<void> AddTarget(uint32_t tgid) override;
  void RemoveTarget(uint32_t tgid) override;
  bool Sweep(BlockSink& sink) override;
  void AppendCounters(std::vector<RoundMark::Counter>* counters) override;
  double Fill() const override;

  std::vector<FoundThread> ListThreads() override {
    return cprof::ListThreads(skeleton_->progs.inventory__threads);
  }
  std::vector<FoundRing> ListRings() override {
    return cprof::ListRings(skeleton_->progs.inventory__rings);
  }
  const std::map<std::string, std::string>& attributes() const override { return attributes_; }
  uint64_t kernel_base() const override { return kernel_base_; }
  uint64_t inherit_failures() const override {
    return __atomic_load_n(&skeleton_->bss->control.inherit_failures, __ATOMIC_RELAXED);
  }
  bpf_object* object() override { return skeleton_->obj; }

 private:
  bool IsArmed(const std::string& adapter) const {
    return std::find(options_.adapters.begin(), options_.adapters.end(), adapter) !=
           options_.adapters.end();
  }
  Result<void> CheckCpus();
  Result<void> Load(const KernelBtf& btf);
  void Configure(const KernelBtf& btf);
  void ConfigureTargets();
  Result<void> MakeStreams(StreamAllocator& streams);
  Result<void> AddStream(const StreamInfo& info, int rings_fd, uint32_t size_bytes,
                         StreamAllocator& streams);
  Result<void> AddTargetThreads();
  uint32_t PollMissedRuns(const bpf_program* program, uint64_t* told, std::vector<Break>* breaks,
                          uint64_t now_ns);
  void CollectLosses(std::vector<Break>* breaks, bool* is_complete);

  KernelCaptureOptions options_;
  std::map<std::string, std::string> attributes_;
  std::unique_ptr<cprof_bpf, SkeletonDeleter> skeleton_;
  std::vector<ChosenProgram> programs_;
  std::vector<uint64_t> missed_told_;  // by program: recursion misses already told
  std::vector<std::unique_ptr<bpf_link, LinkDeleter>> links_;
  std::vector<KernelStream> streams_;
  cprof_stream_counters* counters_ = nullptr;
  size_t counters_bytes_ = 0;
  RingSizes ring_sizes_;
  uint32_t cpu_count_ = 0;
  uint64_t kernel_base_ = 0;
  uint64_t last_poll_ns_ = 0;
  bool is_detached_ = false;
  bool is_harvest_pending_ = false;
};

Result<void> KernelCaptureImpl::CheckCpus() {
  const int possible = libbpf_num_possible_cpus();
  if (possible <= 0) return Error{"cannot read the number of CPUs", ""};
  cpu_count_ = static_cast<uint32_t>(possible);
  if (cpu_count_ > CPROF_MAX_CPUS) {
    return Error{"this machine has " + std::to_string(cpu_count_) + " CPUs, cprof knows " +
                     std::to_string(CPROF_MAX_CPUS) + " at most",
                 ""};
  }
  for (const uint32_t cpu : options_.cpus) {
    if (cpu >= cpu_count_) {
      return Error{"-C " + std::to_string(cpu) + ": there is no such CPU",
                   "CPUs are 0 to " + std::to_string(cpu_count_ - 1)};
    }
  }
  return {};
}

void KernelCaptureImpl::ConfigureTargets() {
  cprof_control& control = skeleton_->bss->control;
  control.gate = 0;
  control.single_tgid = CPROF_NO_TGID;
  if (options_.system_wide) return;
  if (!options_.tgids.empty()) control.single_tgid = options_.tgids[0];
  control.more_targets = options_.tgids.size() > 1 || !options_.tids.empty();
}

void KernelCaptureImpl::Configure(const KernelBtf& btf) {
  constexpr std::string_view kNames[] = {
      "_stext",           "eventfd_release", "ep_eventpoll_release", "io_ring_exit_work",
      "io_uring_release", "hrtimer_wakeup",  "process_timeout"};
  const auto symbols = FindKernelSymbols(kNames);
  const auto address = [&](std::string_view name) -> uint64_t {
    const auto found = symbols.find(name);
    return found == symbols.end() ? 0 : found->second;
  };
  cprof_config& config = skeleton_->rodata->config;
  config = {};
  if (!options_.raw_keys) {
    CPROF_CHECK(getrandom(config.key_secret, sizeof(config.key_secret), 0) ==
                static_cast<ssize_t>(sizeof(config.key_secret)));
    config.key_secret[1] |= 1;
    config.key_secret[2] |= 1;
    kernel_base_ = address("_stext");
  }
  config.kernel_base = kernel_base_;
  config.eventfd_release = address("eventfd_release");
  config.eventpoll_release = address("ep_eventpoll_release");
  config.io_ring_exit_work = address("io_ring_exit_work");
  config.io_uring_release = address("io_uring_release");
  config.hrtimer_wakeup = address("hrtimer_wakeup");
  config.process_timeout = address("process_timeout");
  if (options_.frequency_hz != 0) config.sample_weight_ns = 1'000'000'000 / options_.frequency_hz;
  config.self_tgid = options_.self_tgid;
  const auto runqueues = btf.PerCpuOffset("runqueues");
  const auto preempt_count = btf.PreemptCountOffset();
  if (runqueues && preempt_count) {
    config.runqueues_offset = *runqueues;
    config.preempt_count_offset = *preempt_count;
    config.cpu_number_offset = btf.PerCpuOffset("cpu_number").value_or(0);
  }
  attributes_["interrupt_level"] =
      config.preempt_count_offset != 0 ? "preempt_count" : "unavailable: no per-CPU BTF";
  config.system_wide = options_.system_wide;
  config.inherit = options_.inherit;
  config.has_rdonly_cast = btf.HasFunction("bpf_rdonly_cast");
  config.sample_user_stack = options_.call_graph;
  // Without the base, addresses of the kernel would stand in the file.
  config.sample_kernel_stack = options_.call_graph && (options_.raw_keys || kernel_base_ != 0);
  config.cpu_filter = !options_.cpus.empty();
  for (const uint32_t cpu : options_.cpus) skeleton_->rodata->cpu_wanted[cpu] = 1;
}

Result<void> KernelCaptureImpl::Load(const KernelBtf& btf) {
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_set_print(&KeepLibbpfLog);
  std::vector<std::string> adapters = options_.adapters;
  adapters.push_back("inventory");
  if (!options_.system_wide) adapters.push_back("filter");
  std::map<std::string, std::string> excluded;
  if (options_.frequency_hz == 0) excluded["sample__cpu"] = kSamplesAreOff;
  constexpr std::string_view kNeeded[] = {"io_ring_exit_work", "hrtimer_wakeup", "process_timeout"};
  constexpr const char* kNeeding[] = {"io_uring__ring_exit", "sched__hrtimer_entry",
                                      "sched__timer_entry"};
  const auto symbols = FindKernelSymbols(kNeeded);
  for (size_t i = 0; i < std::size(kNeeded); ++i) {
    if (symbols.contains(kNeeded[i])) continue;
    excluded[kNeeding[i]] = "/proc/kallsyms does not tell " + std::string(kNeeded[i]);
  }
  constexpr int kMaxRefusals = 8;  // More, and it is not the kernel's age any more.
  for (int attempt = 0;; ++attempt) {
    LibbpfLog().clear();
    skeleton_.reset(cprof_bpf::open());
    if (skeleton_ == nullptr) {
      return Error{"cannot read the BPF object inside cprof: " + std::string(strerror(errno)), ""};
    }
    Configure(btf);
    ConfigureTargets();
    std::erase_if(attributes_, [](const auto& entry) { return entry.first.starts_with("hook."); });
    programs_ = ChoosePrograms(skeleton_->obj, btf, adapters, excluded, &attributes_);
    for (const ChosenProgram& chosen : programs_) {
      bpf_program__set_autoload(chosen.program, true);
    }
    bpf_map__set_max_entries(skeleton_->maps.edge_rings, cpu_count_);
    bpf_map__set_max_entries(skeleton_->maps.context_rings, cpu_count_);
    bpf_map__set_max_entries(skeleton_->maps.counters, cpu_count_ * CPROF_PLANE_MAX);
    constexpr uint32_t kTidsPerPage = 2048;  // TOLD_PAGE_BITS of sched.bpf.c
    bpf_map__set_max_entries(skeleton_->maps.told_pages, MaxPid() / kTidsPerPage + 1);
    const int refused = cprof_bpf::load(skeleton_.get());
    if (refused == 0) return {};
    if (refused == -EPERM && geteuid() != 0) {
      return Error{"loading BPF programs is not permitted",
                   "run cprof record as root, or with the capabilities CAP_BPF and CAP_PERFMON"};
    }
    const std::string failed = FailedProgram();
    if (failed.empty() || attempt == kMaxRefusals) {
      return Error{"the kernel refuses the BPF object: " + std::string(strerror(-refused)) +
                       (failed.empty() ? "" : ", program " + failed + ": " + LastLogLine()),
                   refused == -EPERM ? "is kernel lockdown or a container in the way?" : ""};
    }
    excluded[failed] = "the kernel refuses the program: " + LastLogLine();
  }
}

Result<void> KernelCaptureImpl::AddStream(const StreamInfo& info, int rings_fd, uint32_t size_bytes,
                                          StreamAllocator& streams) {
  auto ring = KernelRing::Create("cprof_ring", size_bytes);
  if (!ring) return ring.error();
  const int fd = ring->fd();
  if (bpf_map_update_elem(rings_fd, &info.cpu, &fd, BPF_ANY) != 0) {
    return Error{"cannot hand a ring to the BPF programs: " + std::string(strerror(errno)), ""};
  }
  StreamInfo named = info;
  named.id = streams.Allocate(info);
  const size_t plane = info.kind == StreamKind::kEdgeCpu ? CPROF_PLANE_EDGE : CPROF_PLANE_CONTEXT;
  streams_.emplace_back(named, std::move(*ring), &counters_[info.cpu * CPROF_PLANE_MAX + plane]);
  return {};
}

Result<void> KernelCaptureImpl::MakeStreams(StreamAllocator& streams) {
  const size_t page = PageBytes();
  const size_t stride = sizeof(cprof_stream_counters);
  static_assert(sizeof(cprof_stream_counters) % 8 == 0, "elements of a BPF array are not padded");
  counters_bytes_ = (cpu_count_ * CPROF_PLANE_MAX * stride + page - 1) / page * page;
  void* mapped = mmap(nullptr, counters_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED,
                      bpf_map__fd(skeleton_->maps.counters), 0);
  if (mapped == MAP_FAILED) {
    return Error{"cannot map the counters of the BPF programs: " + std::string(strerror(errno)),
                 ""};
  }
  counters_ = static_cast<cprof_stream_counters*>(mapped);

  const std::vector<uint32_t> online = OnlineCpus();
  const bool has_context = IsArmed("sample") && options_.frequency_hz != 0;
  auto sizes = ChooseRingSizes(options_.ring_pages, online.size(), has_context);
  if (!sizes) return sizes.error();
  ring_sizes_ = *sizes;
  attributes_["ring_bytes.edge"] = std::to_string(ring_sizes_.edge_bytes);
  attributes_["ring_bytes.context"] = std::to_string(ring_sizes_.context_bytes);
  for (uint32_t cpu = 0; cpu < cpu_count_; ++cpu) {
    // A CPU that comes online later gets a ring too, of one page: its losses are at least counted.
    const bool is_online = std::find(online.begin(), online.end(), cpu) != online.end();
    StreamInfo info;
    info.cpu = cpu;
    info.kind = StreamKind::kEdgeCpu;
    CPROF_RETURN_IF_ERROR(AddStream(info, bpf_map__fd(skeleton_->maps.edge_rings),
                                    is_online ? ring_sizes_.edge_bytes : PageBytes(), streams));
    if (!has_context) continue;
    info.kind = StreamKind::kContextCpu;
    CPROF_RETURN_IF_ERROR(AddStream(info, bpf_map__fd(skeleton_->maps.context_rings),
                                    is_online ? ring_sizes_.context_bytes : PageBytes(), streams));
  }
  return {};
}

Result<void> KernelCaptureImpl::AddTargetThreads() {
  const uint8_t one = 1;
  for (const uint32_t tid : options_.tids) {
    if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.target_threads), &tid, &one, BPF_ANY) !=
        0) {
      return Error{
          "cannot add thread " + std::to_string(tid) + " to the targets: " + strerror(errno), ""};
    }
  }
  for (size_t i = 1; i < options_.tgids.size(); ++i) {
    CPROF_RETURN_IF_ERROR(AddTarget(options_.tgids[i]));
  }
  return {};
}

Result<void> KernelCaptureImpl::Initialize(StreamAllocator& streams) {
  CPROF_RETURN_IF_ERROR(CheckCpus());
  auto btf = KernelBtf::Load();
  if (!btf) return btf.error();
  CPROF_RETURN_IF_ERROR(Load(*btf));
  CPROF_RETURN_IF_ERROR(MakeStreams(streams));
  if (!options_.system_wide) CPROF_RETURN_IF_ERROR(AddTargetThreads());
  missed_told_.assign(programs_.size(), 0);
  // Keys are made of distances from a place that this program finds.
  ListThreads();
  if (skeleton_->bss->control.self_address == 0) {
    return Error{"the kernel does not run a BPF iterator over its threads", ""};
  }
  return {};
}

Result<void> KernelCaptureImpl::Attach() {
  last_poll_ns_ = NowNs();
  for (const ChosenProgram& chosen : programs_) {
    if (bpf_program__type(chosen.program) == BPF_PROG_TYPE_PERF_EVENT) continue;
    if (chosen.name.starts_with("app__")) continue;  // AppRings attaches them.
    const auto type = bpf_program__expected_attach_type(chosen.program);
    if (type != BPF_TRACE_RAW_TP) continue;          // Iterators run on demand.
    if (chosen.name.starts_with("app__")) continue;  // In-process rings attach their own.
    bpf_link* link = bpf_program__attach(chosen.program);
    if (link == nullptr) {
      return Error{
          "cannot attach " + chosen.name + " to " + chosen.variant + ": " + strerror(errno), ""};
    }
    links_.emplace_back(link);
  }
  if (bpf_program__fd(skeleton_->progs.sample__cpu) >= 0) {
    std::vector<bpf_link*> clocks;
    const std::vector<uint32_t> cpus = options_.cpus.empty() ? OnlineCpus() : options_.cpus;
    const auto started =
        StartSampling(skeleton_->progs.sample__cpu, cpus, options_.frequency_hz, &clocks);
    for (bpf_link* clock : clocks) links_.emplace_back(clock);
    CPROF_RETURN_IF_ERROR(started);
  }
  return {};
}

void KernelCaptureImpl::Detach() {
  if (skeleton_ == nullptr || is_detached_) return;
  if (skeleton_->bss != nullptr) CloseGate();
  links_.clear();
  is_detached_ = true;
}

void KernelCaptureImpl::OpenGate() {
  __atomic_store_n(&skeleton_->bss->control.gate, 1U, __ATOMIC_SEQ_CST);
}

void KernelCaptureImpl::CloseGate() {
  __atomic_store_n(&skeleton_->bss->control.gate, 0U, __ATOMIC_SEQ_CST);
  // Programs run under RCU: after a grace period none is left that saw the gate open.
  syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

Result<void> KernelCaptureImpl::AddTarget(uint32_t tgid) {
  const uint8_t one = 1;
  if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.target_processes), &tgid, &one, BPF_ANY) !=
      0) {
    return Error{
        "cannot add process " + std::to_string(tgid) + " to the targets: " + strerror(errno), ""};
  }
  __atomic_store_n(&skeleton_->bss->control.more_targets, 1U, __ATOMIC_RELEASE);
  return {};
}

void KernelCaptureImpl::RemoveTarget(uint32_t tgid) {
  bpf_map_delete_elem(bpf_map__fd(skeleton_->maps.target_processes), &tgid);
  uint32_t expected = tgid;
  __atomic_compare_exchange_n(&skeleton_->bss->control.single_tgid, &expected, CPROF_NO_TGID, false,
                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

uint32_t KernelCaptureImpl::PollMissedRuns(const bpf_program* program, uint64_t* told,
                                           std::vector<Break>* breaks, uint64_t now_ns) {
  bpf_prog_info info = {};
  uint32_t info_bytes = sizeof(info);
  if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &info_bytes) != 0) return 0;
  if (info.recursion_misses <= *told) return 0;
  const uint64_t missed = info.recursion_misses - std::exchange(*told, info.recursion_misses);
  // The kernel does not say on which CPU; the count is no part of any stream's sequence.
  const std::string name = bpf_program__name(program);
  for (const KernelStream& stream : streams_) {
    if (stream.info().kind != StreamKind::kEdgeCpu) continue;
    Break lost;
    lost.stream = stream.info().id;
    lost.reason = BreakReason::kMissedRuns;
    lost.from_ns = last_poll_ns_;
    lost.to_ns = now_ns;
    lost.signature = ~uint64_t{0};
    for (const Verb verb : VerbsOf(name)) lost.lost.emplace_back(verb, missed);
    lost.detail = std::to_string(missed) + " runs of " + name + " were skipped on some CPU";
    breaks->push_back(std::move(lost));
  }
  return static_cast<uint32_t>(missed);
}

// Turns the epoch and takes the old slots of all streams. Losses older than the turn are all in
// them: a producer takes its time after it has entered a slot of the epoch. A slot that a producer
// is in stays for the next sweep, and the epoch with it.
void KernelCaptureImpl::CollectLosses(std::vector<Break>* breaks, bool* is_complete) {
  uint32_t* epoch = &skeleton_->bss->control.epoch;
  const bool is_turn = !is_harvest_pending_;
  if (is_turn) __atomic_fetch_add(epoch, 1U, __ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  const int old_slot = static_cast<int>((__atomic_load_n(epoch, __ATOMIC_SEQ_CST) + 1) & 1);
  is_harvest_pending_ = false;
  for (KernelStream& stream : streams_) {
    if (!stream.HarvestLoss(old_slot, breaks)) is_harvest_pending_ = true;
    if (is_detached_ && !stream.HarvestLoss(1 - old_slot, breaks)) is_harvest_pending_ = true;
  }
  if (is_harvest_pending_ || !is_turn) *is_complete = false;
}

bool KernelCaptureImpl::Sweep(BlockSink& sink) {
  bool is_complete = true;
  DrainedBlock losses;
  CollectLosses(&losses.breaks, &is_complete);
  for (KernelStream& stream : streams_) {
    if (!stream.Drain(sink)) is_complete = false;
  }
  const uint64_t now_ns = NowNs();
  for (size_t i = 0; i < programs_.size(); ++i) {
    PollMissedRuns(programs_[i].program, &missed_told_[i], &losses.breaks, now_ns);
  }
  if (is_detached_) {
    for (KernelStream& stream : streams_) {
      stream.CloseLoss(last_poll_ns_, now_ns, &losses.breaks);
    }
  }
  last_poll_ns_ = now_ns;
  if (!losses.breaks.empty()) {
    losses.stream = losses.breaks.front().stream;
    sink.Put(std::move(losses));
  }
  return is_complete;
}

void KernelCaptureImpl::AppendCounters(std::vector<RoundMark::Counter>* counters) {
  for (const KernelStream& stream : streams_) {
    // Lost first: then the two never say that more was lost than attempted.
    const uint64_t lost = stream.lost();
    counters->push_back({stream.info().id, stream.attempted(), lost});
  }
}

double KernelCaptureImpl::Fill() const {
  double fullest = 0;
  for (const KernelStream& stream : streams_) {
    const auto waiting = static_cast<double>(stream.ring().waiting_bytes());
    fullest = std::max(fullest, waiting / stream.ring().size_bytes());
  }
  return fullest;
}

}  // namespace

Result<std::unique_ptr<KernelCapture>> KernelCapture::Open(const KernelCaptureOptions& options,
                                                           StreamAllocator& streams) {
  auto capture = std::make_unique<KernelCaptureImpl>(options);
  CPROF_RETURN_IF_ERROR(capture->Initialize(streams));
  return std::unique_ptr<KernelCapture>(std::move(capture));
}

}  // namespace cprof
