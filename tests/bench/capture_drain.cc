// Records into nothing: opens the kernel capture, says "ready", drains until standard input ends,
// and prints what it counted. For measuring capture without encoding and writing.
//   capture_drain ADAPTER[,ADAPTER...] [PID]      without a PID: the whole system
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "record/kernel_capture.h"

namespace {

class CountingAllocator final : public cprof::StreamAllocator {
 public:
  cprof::StreamId Allocate(const cprof::StreamInfo& /*stream*/) override { return next_++; }

 private:
  cprof::StreamId next_ = 0;
};

class CountingSink final : public cprof::BlockSink {
 public:
  void Put(cprof::DrainedBlock block) override { kept_ += block.events.size(); }
  cprof::StringId Intern(std::string_view /*text*/) override { return 0; }
  uint64_t kept() const { return kept_; }

 private:
  uint64_t kept_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  cprof::KernelCaptureOptions options;
  std::stringstream words(argv[1]);
  for (std::string word; std::getline(words, word, ',');) options.adapters.push_back(word);
  if (argc > 2) {
    options.tgids.push_back(static_cast<uint32_t>(std::atoi(argv[2])));
  } else {
    options.system_wide = true;
  }
  CountingAllocator streams;
  CountingSink sink;
  auto capture = cprof::KernelCapture::Open(options, streams);
  if (!capture) {
    std::fprintf(stderr, "%s\n%s\n", capture.error().message.c_str(), capture.error().hint.c_str());
    return 1;
  }
  if (const auto attached = (*capture)->Attach(); !attached) {
    std::fprintf(stderr, "%s\n", attached.error().message.c_str());
    return 1;
  }
  (*capture)->OpenGate();
  std::printf("ready\n");
  std::fflush(stdout);
  constexpr int kSweepPauseMs = 10;
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  while (poll(&input, 1, kSweepPauseMs) == 0) (*capture)->Sweep(sink);
  (*capture)->Detach();
  (*capture)->Sweep(sink);
  std::vector<cprof::RoundMark::Counter> counters;
  (*capture)->AppendCounters(&counters);
  uint64_t attempted = 0;
  uint64_t lost = 0;
  for (const auto& counter : counters) {
    attempted += counter.attempted;
    lost += counter.lost;
  }
  std::printf("attempted %lu kept %lu lost %lu\n", attempted, sink.kept(), lost);
  return 0;
}
