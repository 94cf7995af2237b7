// The rules of the io_uring adapter (cprof-causality(7), IO_URING), declared apart from their
// bodies: io_uring.cc joins by the request object, io_uring_user_data.cc where the kernel gives
// none, io_uring_resume.cc says who took a completion up in user space.
#ifndef CPROF_REPORT_ADAPTERS_IO_URING_H_
#define CPROF_REPORT_ADAPTERS_IO_URING_H_

#include <memory>
#include <string>
#include <vector>

#include "report/adapters/io_uring_lives.h"

namespace cprof::io_uring {

inline constexpr uint32_t kCqeMore = 1U << 1;
inline constexpr uint32_t kCqeNotification = 1U << 3;
inline constexpr uint8_t kSqeSkipSuccess = 1U << 6;

// Opcodes that a rule needs to know; numbers of the kernel's ABI.
enum Opcode : uint8_t {
  kPollAdd = 6,
  kPollRemove = 7,
  kRecvmsg = 10,
  kTimeout = 11,
  kAccept = 13,
  kRecv = 27,
  kMsgRing = 40,
  kUringCmd = 46,
  kSendZc = 47,
  kSendmsgZc = 48,
  kReadMultishot = 49,
  kRecvZc = 58,
};

inline uint32_t CqeFlags(const Event& event) { return static_cast<uint32_t>(event.arg2 >> 32); }
inline int32_t CqeResult(const Event& event) { return static_cast<int32_t>(event.arg2); }

// Whether a join may be made, and how sure it is.
struct Verdict {
  bool join = true;
  Confidence confidence = Confidence::kObserved;
  const char* rule = nullptr;
  std::vector<BreakId> breaks;
  // Where it may not:
  OrphanReason reason = OrphanReason::kUnexplained;
  std::string proof;
};

class IoUringAdapter : public JoinAdapter, public IoRequestIndex {
 public:
  explicit IoUringAdapter(JoinContext& context);

  void Apply(const Event& event) override;
  bool MustSwap(const Event& first, const Event& second) override;
  void OnExistingRing(const Event& event) override;
  void OnWatchedThread(ThreadRecord& thread, const Event& event) override;
  void OnThreadGone(ThreadRecord& thread) override;
  void Finish(uint64_t end_ns) override;
  std::vector<IoRequestView> FindIoRequests(uint32_t tgid, uint32_t fd,
                                            uint64_t user_data) override;

 private:
  // --- io_uring.cc: rings, births, ends, joins by the object ---
  RingIndex RingOf(uint64_t key, uint64_t time_ns);
  Ring& AddRing(uint64_t key, uint64_t time_ns);
  void Create(const Event& event);
  void Submit(const Event& event);
  void Failed(const Event& event);
  void Complete(const Event& event);
  void WorkRun(const Event& event);
  // The request object is in use again (or its ring is gone), so the older life is over.
  void CloseOlder(LifeIndex index, const Event& event);
  // Why a submit half never met its completion up to `until_ns`; the life is not yet ended.
  Verdict WhyOpen(const Life& life, uint64_t until_ns, bool must_have_ended);
  Verdict CheckObject(const Life& life, const Event& event);
  bool AttributesAgree(const Life& life, const Event& event);
  void Join(LifeIndex index, const Event& event, const Verdict& verdict);
  void End(LifeIndex index, uint64_t time_ns, NodeEnd end, NodeId death_thread);
  void StopWorker(Life& life, uint64_t time_ns);
  void AddSubmitOrphans(const Life& life, const Verdict& verdict);
  void AddTakeUpOrphan(const Event& event, NodeId node, OrphanReason reason, std::string proof);
  void OrphanWithoutLife(const Event& event, const LifeTable::Object& object);
  Node NodeOf(const Life& life) const;
  IoRequestView ViewOf(const Life& life) const;

  // --- io_uring_user_data.cc ---
  void CompleteWithoutObject(const Event& event);
  void CompleteNotification(const Event& event);
  void CompletePost(const Event& event);
  void Overflow(const Event& event);
  Verdict CheckUserData(const Life& life, const Event& event, const char* rule);
  void OrphanWithoutCandidate(const Event& event);
  void OrphanAmbiguous(const Event& event, const std::vector<LifeIndex>& candidates,
                       const char* also);

  // --- io_uring_resume.cc ---
  // node: whose completion it was, 0 where not known.
  void NoteCompletion(Ring& ring, const Event& event, NodeId node);
  void CqWait(const Event& event);
  void Resume(Ring& ring, uint64_t now_ns);
  void DropEmptyPoint(Ring& ring);

  JoinContext& context_;
  const VerbSet births_, completions_, overflows_, creates_, runs_, queue_;
  LifeTable lives_;
  std::vector<std::unique_ptr<Ring>> rings_;
  tsl::robin_map<uint64_t, RingIndex, RawHash> ring_of_key_;
  tsl::robin_map<uint32_t, uint32_t> rings_of_fd_;  // how many were created with that fd
  uint64_t last_ring_key_ = 0;
  RingIndex last_ring_ = kNone;
  tsl::robin_map<const ThreadRecord*, LifeIndex> workers_;
  std::vector<LifeIndex> open_posts_;  // live MSG_RING requests
  bool saw_post_request_ = false;
  bool saw_poll_update_ = false;
  std::vector<RingIndex> awaiting_resume_;
};

}  // namespace cprof::io_uring

#endif  // CPROF_REPORT_ADAPTERS_IO_URING_H_
