// The breaks of a recording, and the question every join asks of them: can something have been lost
// in between? (cprof-causality(7), BREAKS.)
#ifndef CPROF_REPORT_BREAKS_H_
#define CPROF_REPORT_BREAKS_H_

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/graph.h"

namespace cprof {

using VerbSet = std::bitset<kVerbCount>;
VerbSet MakeVerbSet(std::span<const Verb> verbs);

// What the breaks over an interval lost of one verb set and one key.
struct Loss {
  bool any = false;
  bool countless = false;       // at least one break could not count
  uint64_t count = 0;           // events of the verbs, over all keys with that bit
  std::vector<BreakId> breaks;  // ascending
};

class BreakTable {
 public:
  // Streams must be known before their breaks.
  void AddStream(const StreamInfo& stream);
  // Returns the id; ids count from 1 in the order of the file.
  BreakId Add(const Break& lost);

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  // Breaks that overlap [from_ns, to_ns], lost one of `verbs`, and whose
  // signature holds every bit of `signature`, on any stream of the edge plane.
  Loss Lost(uint64_t from_ns, uint64_t to_ns, const VerbSet& verbs, uint64_t signature) const;
  // The same for keys of one process: what the rings of other processes lost cannot be theirs.
  Loss LostIn(uint32_t tgid, uint64_t from_ns, uint64_t to_ns, const VerbSet& verbs,
              uint64_t signature) const;
  // On one stream, whatever the key.
  Loss LostOn(StreamId stream, uint64_t from_ns, uint64_t to_ns, const VerbSet& verbs) const;
  // Quick no: nothing at all was lost after from_ns (and before to_ns).
  bool MayOverlap(uint64_t from_ns, uint64_t to_ns) const {
    return !entries_.empty() && from_ns <= latest_to_ns_ && entries_.front().from_ns <= to_ns;
  }

 private:
  struct Entry {
    uint64_t from_ns = 0;
    uint64_t to_ns = 0;
    uint64_t prefix_max_to_ns = 0;  // of this and all earlier entries
    uint64_t signature = 0;
    BreakId id = 0;
    StreamId stream = 0;
    bool countless = false;
    VerbSet verbs;
    std::vector<std::pair<Verb, uint64_t>> counts;
    uint64_t total = 0;
  };
  const VerbSet& VerbsOf(StreamKind kind);
  template <typename Accept>
  Loss Collect(uint64_t from_ns, uint64_t to_ns, const VerbSet& verbs, Accept accept) const;

  std::vector<Entry> entries_;  // by from_ns
  uint64_t latest_to_ns_ = 0;
  BreakId last_id_ = 0;
  std::vector<StreamInfo> streams_;  // by id
  std::array<VerbSet, 4> carried_;   // by StreamKind; none: not asked for yet
};

// Names of breaks in one proof. Small rings under load make thousands of breaks, and as many
// orphans that each could name them all: one recording of 1.4 MB gave 240 MB of proofs.
inline constexpr size_t kMaxNamedBreaks = 8;

// "break 3, break 7": for the proof of an orphan.
std::string BreakNames(const std::vector<BreakId>& breaks);

}  // namespace cprof

#endif  // CPROF_REPORT_BREAKS_H_
