// block_workload: requests that read from the disk past the page cache, several threads at once.
//
// Each read is one block request of one thread. The disk answers in any order, from an interrupt
// that runs on top of whoever is on that CPU.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/causality/workloads/truth_thread.h"
#include "tests/causality/workloads/workload_main.h"

namespace cprof::causality {
namespace {

struct Options : CommonOptions {
  std::string directory = ".";
  uint64_t threads = 4, work = 20, reads = 3;
};

constexpr size_t kBlockBytes = 4096;
constexpr uint64_t kBlockCount = 2048;

class Workload {
 public:
  explicit Workload(const Options& options) : options_(options), pace_(options) {}

  Result<void> Run() {
    CPROF_RETURN_IF_ERROR(
        oracle_.Create(options_.log, options_.count * (16 + options_.reads * 16) + (1 << 18)));
    CPROF_RETURN_IF_ERROR(MakeFile());
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < options_.threads; ++i) {
      threads.emplace_back([this, i] { RunThread(i); });
    }
    for (std::thread& thread : threads) thread.join();
    close(file_);
    return {};
  }

 private:
  Result<void> MakeFile() {
    std::string path = options_.directory + "/causality.XXXXXX";
    const int fd = mkstemp(path.data());
    if (fd < 0) return Error{"cannot create " + path + ": " + std::strerror(errno), ""};
    const std::vector<char> block(kBlockBytes * kBlockCount, 'b');
    const bool is_written =
        write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size()) &&
        fsync(fd) == 0;
    file_ = open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    const int reason = errno;
    unlink(path.c_str());
    close(fd);
    if (!is_written) return Error{"cannot write " + path, ""};
    if (file_ < 0) return Error{"no O_DIRECT for " + path + ": " + std::strerror(reason), ""};
    return {};
  }

  void RunThread(uint64_t index) {
    pthread_setname_np(pthread_self(), ("truth-disk-" + std::to_string(index)).c_str());
    TruthThread self(oracle_, "block", options_.mark);
    std::mt19937_64 random(options_.seed * 1000 + index);
    void* memory = std::aligned_alloc(kBlockBytes, kBlockBytes);
    CPROF_CHECK(memory != nullptr);
    while (const auto due_ns = pace_.Next()) {
      if (*due_ns > NowNs()) self.SleepTo(*due_ns);
      const Life request = self.Start(handles_, true);
      const uint64_t reads = 1 + random() % options_.reads;
      for (uint64_t i = 0; i < reads; ++i) {
        self.Spin(random() % (options_.work * 1000 + 1));
        Read(self, request, memory, random() % kBlockCount);
      }
      self.Finish(request, handles_);
    }
    std::free(memory);
  }

  void Read(TruthThread& self, const Life& request, void* memory, uint64_t block) const {
    const auto offset = static_cast<off_t>(block * kBlockBytes);
    const Wait wait =
        self.Block([&] { CPROF_CHECK(pread(file_, memory, kBlockBytes, offset) == kBlockBytes); });
    OracleRecord& read = self.Edge(EdgeKind::kBlock, self.tid(), wait.clock, 0, wait.clock);
    read.owner = request.id;
    read.operation = self.NewId();
    // What woke the thread is the disk's interrupt; when it came, only the kernel knows.
    self.WokenByClock(wait, wait.clock.before_ns, WallState::kIo);
  }

  const Options options_;
  OracleFile oracle_;
  Pace pace_;
  Handles handles_;
  int file_ = -1;
};

}  // namespace
}  // namespace cprof::causality

int main(int argc, char** argv) {
  using namespace cprof::causality;
  Options options;
  OptionReader reader;
  reader.Text("--dir", &options.directory);
  reader.Number("--threads", &options.threads);
  reader.Number("--work", &options.work);
  reader.Number("--reads", &options.reads);
  return RunWorkload(argc, argv, "block_workload",
                     "  --dir DIR      on a disk (.)\n"
                     "  --threads N    (4)\n"
                     "  --work N       microseconds before a read, at most (20)\n"
                     "  --reads N      of a request, at most (3)\n",
                     &reader, &options, [&options]() -> cprof::Result<void> {
                       if (options.reads == 0) return cprof::Error{"--reads takes 1 or more", ""};
                       return Workload(options).Run();
                     });
}
