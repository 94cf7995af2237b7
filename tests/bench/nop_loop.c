// Workload: io_uring NOPs, one at a time. Runs as many as each line on standard input says, and
// answers with the CPU time and the wall time of one, in nanoseconds.
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double NowNs(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(void) {
  struct io_uring ring;
  if (io_uring_queue_init(64, &ring, 0) != 0) {
    perror("io_uring_queue_init");
    return 1;
  }
  char line[64];
  while (fgets(line, sizeof(line), stdin) != NULL) {
    const long count = strtol(line, NULL, 10);
    if (count <= 0) break;
    const double cpu_ns = NowNs(CLOCK_THREAD_CPUTIME_ID);
    const double wall_ns = NowNs(CLOCK_MONOTONIC);
    for (long i = 0; i < count; ++i) {
      struct io_uring_cqe* cqe;
      io_uring_prep_nop(io_uring_get_sqe(&ring));
      if (io_uring_submit_and_wait(&ring, 1) < 0 || io_uring_peek_cqe(&ring, &cqe) != 0) return 1;
      io_uring_cqe_seen(&ring, cqe);
    }
    printf("%.2f %.2f\n", (NowNs(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / (double)count,
           (NowNs(CLOCK_MONOTONIC) - wall_ns) / (double)count);
    fflush(stdout);
  }
  io_uring_queue_exit(&ring);
  return 0;
}
