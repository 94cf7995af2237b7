// Pass "attribute", costs: exact CPU time of threads, divided over the requests they worked for.
#ifndef CPROF_REPORT_CPU_COST_H_
#define CPROF_REPORT_CPU_COST_H_

#include <cstdint>
#include <vector>

#include "report/graph.h"
#include "report/node_map.h"
#include "report/sliding_vector.h"
#include "report/strand.h"

namespace cprof {

// The scheduler's account of a thread begins before the switch event and ends before the next one:
// what a switch costs is missing from the time between switch events. Measured: 1 to 12 us a
// switch. One switch may have cost this many times the mean of its bracket.
inline constexpr uint64_t kSwitchCostSpread = 4;
// By how much account and switch event may be apart at one switch that does not tell: the top of
// that range. A busy host takes more now and then.
inline constexpr uint64_t kSwitchErrorNs = 12'000;
// A switch that tells does so but for the least delay that occurs, which no clock shows: it is
// this, and the error between 0 and that. Measured: the least of each 100 ms is within 0.5 us of
// the least of all.
inline constexpr uint64_t kDelayUnitNs = 64;  // of what a switch tells
inline constexpr uint64_t kLeastDelayNs = 300;
inline constexpr uint64_t kDelayErrorNs = 1'500;
inline constexpr size_t kMaxBrackets = 1 << 12;  // of one thread, for requests that stay open

// Between two readings of a thread's CPU time lies a bracket: what it used is exact, and is divided
// by how long each request had the thread on a CPU in it.
class CpuCost {
 public:
  void AddSlice(const ThreadSlice& slice);
  void AddRuntime(NodeId thread, uint64_t time_ns, uint64_t runtime_ns);
  void EndThread(NodeId thread);

  // One request's part of one bracket.
  struct Use {
    NodeId thread = 0;
    uint64_t bracket = 0;   // sequence number
    uint64_t run_ns = 0;    // on a CPU for this request alone
    uint64_t switches = 0;  // times it came onto a CPU in that
    int64_t delay_ns = 0;   // what the switches of its own add to that
    uint64_t less_ns = 0;   // how much less that may be, and how much more
    uint64_t more_ns = 0;
    uint64_t unsure_ns = 0;  // possibly so: shared, in doubt, or of an unknown state
  };
  // Fills *uses with those of a request that ended; everything up to its end must be final.
  void Measure(const Ownership& graph, const std::vector<OwnPiece>& pieces, std::vector<Use>* uses);
  // Whether its bracket is closed; from then on it stays so. A thread that is gone closes its last
  // one.
  bool IsReady(const Use& use) const;
  // Adds them up, open brackets by estimate, and lets go of them.
  Cost Divide(NodeId request, const std::vector<Use>& uses);
  // Drops brackets that no use and no request begun at or after horizon_ns can need.
  void Prune(uint64_t horizon_ns);

 private:
  struct Bracket {
    uint64_t from_ns = 0;
    uint64_t to_ns = kForever;
    uint64_t runtime_ns = 0;    // at from_ns
    bool begins_exact = false;  // there was a reading at from_ns
    bool closed = false;
    uint64_t used_ns = 0;  // CPU time in it, once closed
    uint64_t run_ns = 0;   // on a CPU by switch times
    int64_t delay_ns = 0;  // what its switches add to that
    uint64_t silent = 0;   // times it left one and the delay of either switch is not known
    uint64_t unknown_ns = 0;
    uint64_t switches = 0;  // times it came onto a CPU
    uint32_t users = 0;
  };
  struct Account {
    SlidingVector<Bracket> brackets;
    uint64_t first = 0;       // sequence number of brackets.front()
    uint64_t covered_ns = 0;  // by slices
    bool gone = false;

    void Clear() { *this = Account{}; }
  };
  // What a request had of a slice: whether surely, and which of its ends with what delay.
  struct Taken {
    bool sure = false, comes = false, goes = false;
    uint16_t from_delay = 0, to_delay = 0;
  };
  void Take(Account& account, std::vector<Use>& uses, NodeId thread, uint64_t from_ns,
            uint64_t to_ns, const Taken& how);
  static void Add(const Bracket& bracket, const Use& use, Cost* cost);

  NodeMap<Account> accounts_;  // by thread
  std::vector<NodeId> done_;   // scratch
};

}  // namespace cprof

#endif  // CPROF_REPORT_CPU_COST_H_
