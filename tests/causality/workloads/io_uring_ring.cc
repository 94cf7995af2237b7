// One thread's io_uring: see io_uring_ring.h.
#include "tests/causality/workloads/io_uring_ring.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/causality/workloads/oracle_writer.h"

#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1U << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1U << 13)
#endif

namespace cprof::causality {
std::optional<RingMode> FindRingMode(std::string_view name) {
  if (name == "plain") return RingMode::kPlain;
  if (name == "coop") return RingMode::kCooperative;
  if (name == "defer") return RingMode::kDefer;
  if (name == "sqpoll") return RingMode::kSqPoll;
  return std::nullopt;
}

Ring::~Ring() {
  if (is_open_) io_uring_queue_exit(&ring_);
}

Result<void> Ring::Open(RingMode mode, uint32_t entries) {
  io_uring_params params = {};
  // SUBMIT_ALL: an operation that fails at once does not end the batch.
  params.flags = IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
  params.cq_entries = entries * 8;
  if (mode == RingMode::kCooperative) params.flags |= IORING_SETUP_COOP_TASKRUN;
  if (mode == RingMode::kDefer) {
    params.flags |= IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  }
  if (mode == RingMode::kSqPoll) {
    params.flags |= IORING_SETUP_SQPOLL;
    params.sq_thread_idle = 20;
  }
  const int result = io_uring_queue_init_params(entries, &ring_, &params);
  if (result < 0) return Error{std::string("io_uring_setup: ") + std::strerror(-result), ""};
  is_open_ = true;
  is_polled_ = mode == RingMode::kSqPoll;
  submitter_tid_ = OwnTid();
  if (!is_polled_) return {};
  // The thread gives itself its name once it runs.
  for (int attempt = 0; attempt < 1000 && submitter_tid_ == OwnTid(); ++attempt) {
    for (const auto& [tid, owner] : FindRingHelpers()) {
      if (owner == OwnTid()) submitter_tid_ = tid;
    }
    if (submitter_tid_ == OwnTid()) usleep(1000);
  }
  if (submitter_tid_ == OwnTid()) return Error{"the SQPOLL thread was not found", ""};
  return {};
}

io_uring_sqe* Ring::Next() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  CPROF_CHECK(sqe != nullptr);
  return sqe;
}

void Ring::Submit() {
  const int result = io_uring_submit(&ring_);
  CPROF_CHECK(result >= 0);
  if (!is_polled_) return;
  while (io_uring_sq_ready(&ring_) != 0) sched_yield();
}

int32_t Ring::WaitResult(bool* more) {
  io_uring_cqe* cqe = nullptr;
  int status = 0;
  do {
    status = io_uring_wait_cqe(&ring_, &cqe);
  } while (status == -EINTR);
  CPROF_CHECK(status == 0);
  const int32_t result = cqe->res;
  *more = (cqe->flags & IORING_CQE_F_MORE) != 0;
  io_uring_cqe_seen(&ring_, cqe);
  return result;
}

std::map<uint32_t, uint32_t> FindRingHelpers() {
  std::map<uint32_t, uint32_t> helpers;
  std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), closedir);
  if (tasks == nullptr) return helpers;
  while (const dirent* entry = readdir(tasks.get())) {
    const std::string path = std::string("/proc/self/task/") + entry->d_name + "/comm";
    std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "r"), std::fclose);
    char comm[64] = {};
    if (file == nullptr || std::fgets(comm, sizeof(comm), file.get()) == nullptr) continue;
    uint32_t owner = 0;
    if (std::sscanf(comm, "iou-wrk-%u", &owner) == 1 ||
        std::sscanf(comm, "iou-sqp-%u", &owner) == 1) {
      helpers[static_cast<uint32_t>(std::strtoul(entry->d_name, nullptr, 10))] = owner;
    }
  }
  // Workers of an SQPOLL thread carry its tid, and it carries the owner's.
  for (auto& [tid, owner] : helpers) {
    if (const auto found = helpers.find(owner); found != helpers.end()) owner = found->second;
  }
  return helpers;
}

}  // namespace cprof::causality
