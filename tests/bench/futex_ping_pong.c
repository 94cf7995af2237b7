// Workload: two threads that wake each other by futex. Runs as many round trips as each line on
// standard input says, and answers with the process's CPU time and the wall time of one, in
// nanoseconds.
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int turn;  // 0: the main thread's, 1: the other's

static double NowNs(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void WaitFor(int mine) {
  while (atomic_load(&turn) != mine) {
    syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, 1 - mine, NULL, NULL, 0);
  }
}

static void Give(int to) {
  atomic_store(&turn, to);
  syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void* Answer(void* unused) {
  (void)unused;
  while (1) {
    WaitFor(1);
    Give(0);
  }
  return NULL;
}

int main(void) {
  pthread_t other;
  if (pthread_create(&other, NULL, Answer, NULL) != 0) return 1;
  char line[64];
  while (fgets(line, sizeof(line), stdin) != NULL) {
    const long count = strtol(line, NULL, 10);
    if (count <= 0) break;
    const double cpu_ns = NowNs(CLOCK_PROCESS_CPUTIME_ID);
    const double wall_ns = NowNs(CLOCK_MONOTONIC);
    for (long i = 0; i < count; ++i) {
      Give(1);
      WaitFor(0);
    }
    printf("%.2f %.2f\n", (NowNs(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) / (double)count,
           (NowNs(CLOCK_MONOTONIC) - wall_ns) / (double)count);
    fflush(stdout);
  }
  return 0;
}
