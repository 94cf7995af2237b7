// What every workload takes from its command line, and the pace at which it works.
#ifndef CPROF_TESTS_CAUSALITY_WORKLOADS_WORKLOAD_MAIN_H_
#define CPROF_TESTS_CAUSALITY_WORKLOADS_WORKLOAD_MAIN_H_

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "format/result.h"
#include "tests/causality/workloads/oracle_writer.h"
#include "tests/causality/workloads/workload_options.h"

namespace cprof::causality {

struct CommonOptions {
  std::string log = "oracle.log";
  std::string mode;
  uint64_t seed = 1, count = 10000, rate = 0;
  double seconds = 0;
  bool mark = true;
};

inline constexpr const char* kCommonHelp =
    "  --log FILE     where the truth goes (oracle.log)\n"
    "  --count N      requests in all (10000); --seconds S: or until then, or SIGTERM\n"
    "  --rate N       requests a second, at most (0: no limit)\n"
    "  --seed N       (1)   --no-marks  do not tell cprof.h\n";

// Whether SIGTERM was sent. It stays blocked, so that it ends no wait of any thread.
inline bool IsToldToStop() {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1;
}

// Gives out requests to threads: how many there will be, and when each is due.
class Pace {
 public:
  explicit Pace(const CommonOptions& options)
      : count_(options.count), rate_(options.rate), begin_ns_(NowNs()) {
    if (options.seconds > 0)
      deadline_ns_ = begin_ns_ + static_cast<uint64_t>(options.seconds * 1e9);
  }
  // When the next request is due; none where there are no more.
  std::optional<uint64_t> Next() {
    const uint64_t index = next_.fetch_add(1);
    if (index >= count_ || NowNs() >= deadline_ns_) return std::nullopt;
    if (index % kCheckedRequests == 0 && IsToldToStop()) next_ = count_;
    return rate_ == 0 ? begin_ns_ : begin_ns_ + index * 1000000000ULL / rate_;
  }

 private:
  static constexpr uint64_t kCheckedRequests = 32;  // between two looks at signals

  const uint64_t count_, rate_, begin_ns_;
  uint64_t deadline_ns_ = UINT64_MAX;
  std::atomic<uint64_t> next_{0};
};

// Adds the common switches to a reader, reads, and runs. Returns the exit status.
template <typename Run>
int RunWorkload(int argc, char** argv, const std::string& name, const std::string& help,
                OptionReader* reader, CommonOptions* options, Run run) {
  reader->Text("--log", &options->log);
  reader->Text("--mode", &options->mode);
  reader->Number("--count", &options->count);
  reader->Number("--rate", &options->rate);
  reader->Number("--seed", &options->seed);
  reader->Seconds("--seconds", &options->seconds);
  reader->Off("--no-marks", &options->mark);
  if (!reader->Read(argc, argv)) {
    std::fprintf(stderr, "usage: %s [options]\n%s%s", name.c_str(), help.c_str(), kCommonHelp);
    return 2;
  }
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  const Result<void> result = run();
  if (result) return EXIT_SUCCESS;
  std::fprintf(stderr, "%s: error: %s\n", name.c_str(), result.error().message.c_str());
  return EXIT_FAILURE;
}

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_WORKLOADS_WORKLOAD_MAIN_H_
