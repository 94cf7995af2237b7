// References of applications to io_uring requests: by (process, ring fd, user_data).
//
// A program names the owner of an SQE before it submits it, and what a completion resumes when it
// handles it. user_data is the program's own and may be reused, so a reference joins only where
// exactly one request can be meant.
#ifndef CPROF_REPORT_ADAPTERS_APP_IO_H_
#define CPROF_REPORT_ADAPTERS_APP_IO_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "report/adapters/adapter.h"

namespace cprof::app {

// Completions that no program took up by name yet, of one (process, ring, user_data) and in total.
inline constexpr size_t kMaxUntakenOfKey = 8;
inline constexpr size_t kMaxUntaken = 1 << 16;

// An edge of the application with one end named; the other end is an io_uring request.
struct IoReference {
  EdgeType type = EdgeType::kSubmit;
  NodeId node = 0;    // the named end
  NodeId thread = 0;  // that told it
  EventRef event;
  uint64_t time_ns = 0;
  uint32_t tgid = 0;
  uint32_t fd = 0;
  uint64_t user_data = 0;
};

class IoReferences {
 public:
  explicit IoReferences(JoinContext& context);

  // The process names its nodes: from here on its completions are kept until they are named.
  void Follow(uint32_t tgid) {
    if (tgid == last_followed_) return;
    last_followed_ = tgid;
    followed_.insert(tgid);
  }
  // The owner of the next submit; joined or an orphan later.
  void NameSubmit(const IoReference& reference);
  // What a completion resumes; joined or an orphan at once.
  void NameResume(const IoReference& reference);
  void OnIoRequest(const IoRequestView& view);
  // The image is gone, and its rings with it.
  void EndProcess(uint32_t tgid);
  void Finish();

 private:
  static constexpr uint64_t kNobody = ~uint64_t{0};  // no tgid

  struct RingKey {
    uint32_t tgid = 0;
    uint32_t fd = 0;
    uint64_t user_data = 0;
    friend auto operator<=>(const RingKey&, const RingKey&) = default;
  };
  struct Untaken {
    std::vector<IoRequestView> views;  // of which `taken` were named, nobody knows which
    size_t taken = 0;
    bool overflowed = false;  // there were more
  };
  void OnSubmit(const IoRequestView& view);
  void OnComplete(const IoRequestView& view);
  void Join(const IoReference& reference, const IoRequestView& view, const char* rule);
  void Orphaned(const IoReference& reference, OrphanReason reason, std::string proof);
  void WithoutCompletion(const IoReference& reference);
  static RingKey KeyOf(const IoReference& reference) {
    return {reference.tgid, reference.fd, reference.user_data};
  }

  JoinContext& context_;
  const VerbSet submits_;
  const VerbSet completes_;
  const VerbSet edges_;
  std::unordered_set<uint32_t> followed_;
  uint64_t last_followed_ = kNobody;
  std::map<RingKey, std::vector<IoReference>> pending_;  // submits that are named and to come
  std::map<RingKey, Untaken> untaken_;
  std::deque<RingKey> untaken_order_;
};

}  // namespace cprof::app

#endif  // CPROF_REPORT_ADAPTERS_APP_IO_H_
