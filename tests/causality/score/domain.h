// Where the truth is complete: what a graph reports there beyond it is invented.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_DOMAIN_H_
#define CPROF_TESTS_CAUSALITY_SCORE_DOMAIN_H_

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tests/causality/oracle.h"
#include "tests/causality/score/brackets.h"

namespace cprof::causality {

class Domains {
 public:
  explicit Domains(const std::vector<OracleRecord>& records) {
    for (uint32_t i = 0; i < records.size(); ++i) {
      const OracleRecord& record = records[i];
      if (record.truth == Truth::kWaits) {
        waits_[record.tid].Add(record.before_ns, record.after_ns, i);
      } else if (record.truth == Truth::kDomain &&
                 record.kind <= static_cast<uint32_t>(EdgeKind::kLast)) {
        declared_[record.tid][record.kind].Add(record.before_ns, record.after_ns, i);
      }
    }
  }

  // All hand-overs of this kind from and to the thread at that instant are in the log. kNone: those
  // of every kind, which is what submits and completions need.
  bool Cover(uint32_t tid, EdgeKind kind, uint64_t time_ns) const {
    const auto found = declared_.find(tid);
    if (found == declared_.end()) return false;
    return found->second[0].Hold(time_ns) || found->second[static_cast<size_t>(kind)].Hold(time_ns);
  }
  // All blocking waits of the thread at that instant are in the log.
  bool HoldWaits(uint32_t tid, uint64_t time_ns) const {
    const auto found = waits_.find(tid);
    return found != waits_.end() && found->second.Hold(time_ns);
  }

 private:
  static constexpr size_t kKinds = static_cast<size_t>(EdgeKind::kLast) + 1;
  std::unordered_map<uint32_t, Brackets> waits_;
  std::unordered_map<uint32_t, std::array<Brackets, kKinds>> declared_;
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_DOMAIN_H_
