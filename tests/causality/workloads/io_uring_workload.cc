// io_uring_workload: threads with rings of their own, and a log of what truly happened.
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/causality/workloads/io_uring_round.h"
#include "tests/causality/workloads/workload_options.h"

namespace cprof::causality {
namespace {

constexpr uint32_t kRingEntries = 128;
constexpr uint32_t kMaxBatch = 20;  // a chain takes three entries: 2 * 20 * 3 fit the ring

struct Options {
  std::string log = "oracle.log";
  std::string directory = ".";
  std::string mode = "mixed";
  std::string operations;
  uint64_t seed = 1, count = 100000, threads = 4, rate = 0, batch = 8, multishots = 1;
  double seconds = 0;
  bool mark = true, reuses_user_data = true;
};

constexpr const char* kHelp =
    "usage: io_uring_workload [options]\n"
    "  --log FILE       where the truth goes (oracle.log)\n"
    "  --dir DIR        for the files that are read (.); needs O_DIRECT\n"
    "  --mode MODE      plain, coop, defer, sqpoll, or mixed: threads in turn (mixed)\n"
    "  --ops LIST       nop,buffered,async,direct,pipe,link,skip,fail,timeout,linktimeout,cancel,\n"
    "                   multishot,failedchain,message (all)\n"
    "  --count N        operations in all (100000); --seconds S: or until then\n"
    "  --threads N      (4)   --batch N  operations in an enter, at most (8)\n"
    "  --rate N         operations a second and thread, at most (0: no limit)\n"
    "  --multishots N   live multishots with one user_data, 1 or 2 (1)\n"
    "  --seed N         (1)   --no-marks  do not tell cprof.h\n"
    "  --no-reuse       a user_data of its own for each operation\n";

// Weights that keep every kind frequent and none dominant in time.
std::array<uint32_t, kOperationCount> WeightsOf(const std::string& list) {
  constexpr std::array<uint32_t, kOperationCount> kWeights = {40, 12, 4, 2, 10, 4, 4,
                                                              2,  1,  1, 2, 3,  2, 2};
  if (list.empty()) return kWeights;
  std::array<uint32_t, kOperationCount> weights = {};
  for (size_t i = 0; i < weights.size(); ++i) {
    if (("," + list + ",").find("," + std::string(kOperationNames[i]) + ",") != std::string::npos) {
      weights[i] = kWeights[i];
    }
  }
  return weights;
}

// Writes into pipes on behalf of the rings' threads: completions that another thread causes.
void WriteForOthers(int orders_fd) {
  pthread_setname_np(pthread_self(), "truth-writer");
  const std::vector<char> bytes(1 << 16, 'w');
  WriteOrder order;
  while (read(orders_fd, &order, sizeof(order)) == sizeof(order)) {
    CPROF_CHECK(write(order.fd, bytes.data(), order.length) == static_cast<ssize_t>(order.length));
  }
}

class Workload {
 public:
  explicit Workload(const Options& options) : options_(options) {}

  Result<void> Run() {
    // Up to 5 records an operation: submit, completion, request, work; blocks of idle threads.
    CPROF_RETURN_IF_ERROR(oracle_.Create(options_.log, options_.count * 6 + (1 << 20)));
    auto files = MakeSharedFiles(options_.directory);
    if (!files) return files.error();
    files_ = *files;
    int orders[2];
    CPROF_CHECK(pipe(orders) == 0);
    orders_fd_ = orders[1];
    std::thread writer(WriteForOthers, orders[0]);
    deadline_ns_ =
        options_.seconds > 0 ? NowNs() + static_cast<uint64_t>(options_.seconds * 1e9) : UINT64_MAX;
    pthread_barrier_init(&done_, nullptr, static_cast<unsigned>(options_.threads + 1));
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < options_.threads; ++i) {
      threads.emplace_back([this, i] { RunThread(i); });
    }
    std::map<uint32_t, uint32_t> helpers;
    while (finished_.load() < options_.threads) {
      usleep(50000);
      helpers.merge(FindRingHelpers());
    }
    helpers.merge(FindRingHelpers());
    pthread_barrier_wait(&done_);
    for (std::thread& thread : threads) thread.join();
    close(orders[1]);
    writer.join();
    OracleWriter oracle(oracle_);
    for (const auto& [tid, owner] : helpers) {
      OracleRecord& record = oracle.Add();
      record.tid = tid;
      record.value = owner;
      record.truth = Truth::kHelper;
    }
    std::printf("operations %llu, helper threads %zu\n",
                static_cast<unsigned long long>(operations_.load()), helpers.size());
    return {};
  }

 private:
  void RunThread(uint64_t index) {
    constexpr const char* kModes[] = {"plain", "defer", "sqpoll", "coop"};
    const std::string mode = options_.mode == "mixed" ? kModes[index % 4] : options_.mode;
    pthread_setname_np(pthread_self(), ("truth-" + mode).c_str());
    OracleWriter oracle(oracle_);
    Ring ring;
    if (auto opened = ring.Open(*FindRingMode(mode), kRingEntries); !opened) {
      std::fprintf(stderr, "io_uring_workload: error: %s\n", opened.error().message.c_str());
      std::exit(EXIT_FAILURE);
    }
    RoundOptions options;
    options.weights = WeightsOf(options_.operations);
    options.max_batch = static_cast<uint32_t>(options_.batch);
    options.multishot_count = static_cast<uint32_t>(options_.multishots);
    options.unique_user_data = !options_.reuses_user_data;
    options.mark_requests = options_.mark;
    options.writer_fd = orders_fd_;
    const uint64_t begin_ns = NowNs();
    {
      Rounds rounds(options, files_, ring, oracle, options_.seed * 1000 + index);
      uint64_t own = 0;
      while (operations_.load() < options_.count && NowNs() < deadline_ns_) {
        const uint64_t count = rounds.Run();
        operations_ += count;
        own += count;
        if (options_.rate > 0) SleepUntil(begin_ns + own * 1000000000ULL / options_.rate);
      }
    }
    OracleRecord& watched = oracle.Add();
    watched.before_ns = begin_ns;
    watched.after_ns = NowNs();
    watched.truth = Truth::kWatched;
    // The ring stays until its helper threads have been listed.
    ++finished_;
    pthread_barrier_wait(&done_);
  }

  static void SleepUntil(uint64_t time_ns) {
    const timespec until = {static_cast<time_t>(time_ns / 1000000000ULL),
                            static_cast<long>(time_ns % 1000000000ULL)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }

  const Options options_;
  OracleFile oracle_;
  SharedFiles files_;
  int orders_fd_ = -1;
  uint64_t deadline_ns_ = UINT64_MAX;
  std::atomic<uint64_t> operations_{0}, finished_{0};
  pthread_barrier_t done_;
};

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  using cprof::causality::OptionReader;
  cprof::causality::Options options;
  OptionReader reader;
  reader.Text("--log", &options.log);
  reader.Text("--dir", &options.directory);
  reader.Text("--mode", &options.mode);
  reader.Text("--ops", &options.operations);
  reader.Number("--count", &options.count);
  reader.Number("--threads", &options.threads);
  reader.Number("--batch", &options.batch);
  reader.Number("--rate", &options.rate);
  reader.Number("--seed", &options.seed);
  reader.Number("--multishots", &options.multishots);
  reader.Seconds("--seconds", &options.seconds);
  reader.Off("--no-marks", &options.mark);
  reader.Off("--no-reuse", &options.reuses_user_data);
  const bool is_mode_known =
      reader.Read(argc, argv) &&
      (options.mode == "mixed" || cprof::causality::FindRingMode(options.mode).has_value());
  if (!is_mode_known || options.threads == 0 || options.batch == 0 ||
      options.batch > cprof::causality::kMaxBatch || options.multishots == 0 ||
      options.multishots > 2) {
    std::fputs(cprof::causality::kHelp, stderr);
    return 2;
  }
  const auto result = cprof::causality::Workload(options).Run();
  if (!result) {
    std::fprintf(stderr, "io_uring_workload: error: %s\n", result.error().message.c_str());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
