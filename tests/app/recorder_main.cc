// A recorder of its own, to be killed: records the process that it is told, and says when it does.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/app/harness.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cprof::AppRecorder recorder;
  recorder.Add(static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10)));
  recorder.StartSweeping();
  std::puts("ready");
  std::fflush(stdout);
  for (;;) pause();
}
