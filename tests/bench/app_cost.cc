// What a call of cprof.h costs: while nobody records, and while a recorder drains. Prints figures.
#include <cprof/cprof.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kRounds = 31;

// ns a call, of `calls` calls that begin with an empty ring.
double Round(uint64_t calls) {
  const cprof_node request = cprof_request("http", 1);
  const uint64_t begin_ns = cprof_now();
  for (uint64_t i = 0; i < calls; i += 2) {
    cprof_enter(request);
    cprof_leave(request);
  }
  return static_cast<double>(cprof_now() - begin_ns) / static_cast<double>(calls);
}

double Median(uint64_t calls, unsigned pause_us) {
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    rounds.push_back(Round(calls));
    if (pause_us != 0) usleep(pause_us);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[kRounds / 2];
}

}  // namespace

// With an argument: waits up to that many seconds for a recorder.
int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("nobody records: %.2f ns a call\n", Median(1'000'000, 0));
    return 0;
  }
  for (int i = 0; !cprof_live() && i < std::atoi(argv[1]) * 1000; ++i) usleep(1000);
  if (!cprof_live()) {
    std::puts("nobody records");
    return 1;
  }
  Round(2000);
  usleep(300'000);
  // Fewer events than a ring holds, with time to drain it in between.
  std::printf("recorded: %.1f ns an event\n", Median(3000, 150'000));
  std::printf("the clock alone: %.1f ns\n", [] {
    const uint64_t begin_ns = cprof_now();
    for (int i = 0; i < 1'000'000; ++i) (void)cprof_now();
    return static_cast<double>(cprof_now() - begin_ns) / 1e6;
  }());
  return 0;
}
