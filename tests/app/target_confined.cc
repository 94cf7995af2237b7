// Emits where the system refuses what it usually grants.
#include <cprof/cprof.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "tests/app/target.h"

namespace {

// Refuses mmap, madvise and memfd_create from here on: with an error, or with death.
void Refuse(uint32_t action) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, action),
  };
  sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

}  // namespace

std::string RunConfined(const std::string& how) {
  if (how == "errno") Refuse(SECCOMP_RET_ERRNO | 1);
  if (how == "kill") Refuse(SECCOMP_RET_KILL_PROCESS);
  if (how == "strict") {
    // In a child that can be waited for: after this even exit_group is death.
    const pid_t child = fork();
    if (child == 0) {
      usleep(100'000);
      Emit(9, 10);
      cprof_silence();
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
      Emit(9, 100);
      syscall(SYS_exit, 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? std::to_string(child) : "the child died";
  }
  return "0";
}

// Takes every descriptor that the process may have, and emits for the first time.
std::string RunOutOfFiles() {
  rlimit limit = {64, 64};
  setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<int> taken;
  for (int fd = 0; (fd = open("/dev/null", O_RDONLY)) >= 0;) taken.push_back(fd);
  Emit(1, 100);
  for (const int fd : taken) close(fd);
  return "100";
}
