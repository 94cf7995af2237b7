// Compares two recordings: what changed per request, why, and whether two samples can show it.
#ifndef CPROF_REPORT_DIFF_H_
#define CPROF_REPORT_DIFF_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/diff_profile.h"
#include "report/estimate.h"

namespace cprof {

// The changes that a table calls certain are all there with this confidence, however many rows it
// has: each row is held to its part of the rest.
inline constexpr double kDiffAlpha = 0.05;
// With fewer requests of a kind on either side nothing is called certain.
inline constexpr uint64_t kMinDiffRequests = 10;

enum class DiffVerdict : uint8_t {
  kCertain,  // the interval of the difference does not hold 0
  kNoise,    // it does: two such samples may differ by that much for no reason
  kTooFew,   // fewer than kMinDiffRequests on one side
  kOnlyOne,  // there are no such requests on one side, so nothing to compare with
};
std::string_view DiffVerdictName(DiffVerdict verdict);

// A figure on both sides, ns per request of its kind.
struct Change {
  Estimate a, b;
  Estimate difference;  // b - a
  DiffVerdict verdict = DiffVerdict::kNoise;
  // The difference by the kind's share of all requests: what it adds to the mean request of all.
  double impact_ns = 0;

  bool certain() const { return verdict == DiffVerdict::kCertain; }
};

struct KindChange {
  std::string kind;  // raw
  uint64_t count_a = 0, count_b = 0;
  Change mean, p50, p99;  // wall time
  Change cpu;
  std::array<Change, kWallStateCount> states;  // their differences add up to that of the mean
};

struct CauseChange {
  std::string kind;  // raw
  CauseWords words;
  Change change;                // of the mean wait of a request of the kind
  size_t resource_count = 0;    // waited for on either side; 0: not resources
  bool more_resources = false;  // there were more than could be told apart
  std::string resource;         // raw; the one whose waits changed most
  double resource_share = 0;    // of the change of all that changed in that direction
};

// CPU time of one folded path.
struct PathChange {
  std::string kind;                 // raw, of the request; "[no request]" as it is
  std::vector<std::string> frames;  // from the one beneath the request on; raw
  Change change;                    // per request of the kind, and of all for "[no request]"
};
inline constexpr size_t kMaxDiffPaths = 4096;  // the largest changes

struct Comparison {
  // Certain ones first, each part by |impact_ns|, largest first; ties by name.
  std::vector<KindChange> kinds;    // by their mean
  std::vector<CauseChange> causes;  // every wait of every kind
  std::vector<PathChange> paths;    // where both sides have samples
};
// Certain ones before others, then the one with the larger impact.
bool IsLargerChange(const Change& a, const Change& b);
std::vector<PathChange> ComparePaths(const DiffProfile& a, const DiffProfile& b,
                                     const std::vector<KindChange>& kinds);
Comparison Compare(const DiffProfile& a, const DiffProfile& b);

// What stands against comparing two recordings.
struct DiffConcern {
  bool grave = false;  // the difference would say more about the recordings than the program
  std::string text;    // one sentence without an end; printable
};
std::vector<DiffConcern> ConcernsOf(const DiffProfile& a, const DiffProfile& b);

}  // namespace cprof

#endif  // CPROF_REPORT_DIFF_H_
