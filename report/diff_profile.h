// What one recording says of its requests, by words instead of ids, so that two can be compared.
#ifndef CPROF_REPORT_DIFF_PROFILE_H_
#define CPROF_REPORT_DIFF_PROFILE_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "report/coverage.h"
#include "report/estimate.h"
#include "report/fold.h"
#include "report/histogram.h"
#include "report/render_flame.h"
#include "report/sink_fan_out.h"

namespace cprof {

// Why requests of a kind waited, in words that mean the same in every recording: a resource by its
// domain alone (names and ids of single ones may be new in each run).
struct CauseWords {
  WallState state = WallState::kUnknown;
  std::string peer;    // "io READ", "resource cache", "a CPU"; raw
  std::string holder;  // ", held by request GET cold while it waited for io READ", or nothing; raw
  friend auto operator<=>(const CauseWords&, const CauseWords&) = default;
};

struct CauseSums {
  BatchSums wait_ns;                          // of each request of the kind
  std::map<std::string, uint64_t> resources;  // waited for, ns; where it was resources
};

// All whole requests of one kind.
struct KindProfile {
  BatchRuler ruler;
  Histogram wall_ns;
  ThinnedValues wall_order;
  BatchSums wall_sums;
  BatchSums cpu_ns;
  std::array<BatchSums, kWallStateCount> state_ns;
  std::map<CauseWords, CauseSums> causes;
  BatchSums other_causes_ns;  // beyond the bound
  uint64_t cpu_low_ns = 0, cpu_high_ns = 0;
  uint64_t not_whole = 0;  // in no other figure

  uint64_t count() const { return ruler.count(); }
};

struct DiffProfile {
  static constexpr size_t kMaxKinds = 1024;
  static constexpr size_t kMaxCauses = 4096;    // of all kinds
  static constexpr size_t kMaxResources = 256;  // told apart of one cause

  std::map<std::string, KindProfile> kinds;  // by raw name; those beyond the bound are "[other]"
  Coverage coverage;
  uint64_t requests = 0;  // whole ones
  uint64_t not_whole = 0;
  uint64_t wall_ns = 0;  // of all whole requests, each instant once
  uint64_t unknown_ns = 0;
  FoldTree tree;  // as `cprof flame` folds it
  std::string tree_title;
  FlameUnit tree_unit = FlameUnit::kNanoseconds;
  std::string tree_counted;
  uint64_t samples = 0;
};

// Gathers a profile from the pipeline; Finish gives it.
class ProfileSink : public SinkFanOut {
 public:
  virtual DiffProfile Finish(const ReadSummary& read) = 0;
};
// `fold`: of the tree; CPU time by request is what Compare wants.
std::unique_ptr<ProfileSink> MakeProfileSink(const StringTable& strings,
                                             const FlameFoldOptions& fold = {});

}  // namespace cprof

#endif  // CPROF_REPORT_DIFF_PROFILE_H_
