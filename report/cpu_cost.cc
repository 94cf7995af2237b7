// Brackets between two readings of a thread's CPU time, and each request's part of them.
//
// sum_exec_runtime is exact but read only now and then; switch times are there for every slice but
// are another figure. A bracket used D ns of CPU and ran N ns by switch times, and a request had
// the thread for x of the N, coming onto the CPU s of S times. Where D is more than N, the rest is
// what switches cost, and the request gets x and its s of the S switches; where D is less,
// interrupts or a hypervisor took part of the N, and it gets D * x / N. A bracket that one request
// filled alone is exact.
//
// Any other is known only within what each switch may have been off by: the account turns before
// the event does, so coming onto the CPU adds to N and leaving it takes away. Most switch events
// tell how long before; the others may be off by up to kSwitchErrorNs. That D is close to N says
// nothing of one request, for over a bracket the two cancel.
#include "report/cpu_cost.h"

#include <algorithm>

namespace cprof {
namespace {

uint64_t Overlap(uint64_t from_a, uint64_t to_a, uint64_t from_b, uint64_t to_b) {
  const uint64_t from = std::max(from_a, from_b);
  const uint64_t to = std::min(to_a, to_b);
  return from < to ? to - from : 0;
}

uint64_t SaturatingSub(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// The delay of a switch as it stands in a slice, in nanoseconds.
int64_t DelayNs(uint16_t delay) {
  return delay == 0 ? 0 : static_cast<int64_t>((delay - 1) * kDelayUnitNs + kLeastDelayNs);
}

// Of a slice with one end known, a bracket counts neither: what is not known of both cancels
// roughly.
bool TellsBoth(const ThreadSlice& slice) { return slice.from_delay != 0 && slice.to_delay != 0; }

// How much smaller and how much larger than that it may be.
uint64_t LessNs(uint16_t delay) { return delay == 0 ? 0 : kLeastDelayNs; }
uint64_t MoreNs(uint16_t delay) {
  return delay == 0 ? kSwitchErrorNs : kDelayErrorNs - kLeastDelayNs;
}

// Time on a CPU by switch times, with what the switches add.
uint64_t WithDelay(uint64_t run_ns, int64_t delay_ns) {
  if (delay_ns >= 0) return run_ns + static_cast<uint64_t>(delay_ns);
  return SaturatingSub(run_ns, static_cast<uint64_t>(-delay_ns));
}

}  // namespace

void CpuCost::AddSlice(const ThreadSlice& slice) {
  Account& account = accounts_.FindOrAdd(slice.thread);
  account.covered_ns = std::max(account.covered_ns, slice.to_ns);
  const bool running = slice.state == ThreadState::kRunning;
  if (!running && slice.state != ThreadState::kUnknown) return;
  if (account.brackets.empty()) account.brackets.push_back({});
  for (auto bracket = account.brackets.rbegin(); bracket != account.brackets.rend(); ++bracket) {
    const uint64_t part_ns = Overlap(slice.from_ns, slice.to_ns, bracket->from_ns, bracket->to_ns);
    if (part_ns != 0) {
      (running ? bracket->run_ns : bracket->unknown_ns) += part_ns;
    }
    if (running && bracket->from_ns <= slice.from_ns && slice.from_ns < bracket->to_ns) {
      ++bracket->switches;
      if (TellsBoth(slice)) bracket->delay_ns += DelayNs(slice.from_delay);
    }
    if (running && bracket->from_ns < slice.to_ns && slice.to_ns <= bracket->to_ns) {
      if (TellsBoth(slice)) {
        bracket->delay_ns -= DelayNs(slice.to_delay);
      } else {
        ++bracket->silent;
      }
    }
    if (bracket->from_ns <= slice.from_ns) break;
  }
}

void CpuCost::AddRuntime(NodeId thread, uint64_t time_ns, uint64_t runtime_ns) {
  Account& account = accounts_.FindOrAdd(thread);
  if (account.brackets.empty()) account.brackets.push_back({});
  Bracket& open = account.brackets.back();
  if (open.closed || time_ns < open.from_ns) return;
  Bracket next;
  next.from_ns = time_ns;
  next.runtime_ns = runtime_ns;
  next.begins_exact = true;
  open.to_ns = time_ns;
  open.closed = open.begins_exact && runtime_ns >= open.runtime_ns;
  if (open.closed) open.used_ns = runtime_ns - open.runtime_ns;
  account.brackets.push_back(next);
}

void CpuCost::EndThread(NodeId thread) {
  if (Account* account = accounts_.Find(thread)) account->gone = true;
}

void CpuCost::Take(Account& account, std::vector<Use>& uses, NodeId thread, uint64_t from_ns,
                   uint64_t to_ns, const Taken& how) {
  for (size_t index = account.brackets.size(); index-- > 0;) {
    Bracket& bracket = account.brackets[index];
    const uint64_t part_ns = Overlap(from_ns, to_ns, bracket.from_ns, bracket.to_ns);
    if (part_ns != 0) {
      const uint64_t number = account.first + index;
      auto use = std::find_if(uses.rbegin(), uses.rend(), [&](const Use& entry) {
        return entry.thread == thread && entry.bracket == number;
      });
      if (use == uses.rend()) {
        uses.push_back({.thread = thread, .bracket = number});
        ++bracket.users;
        use = uses.rbegin();
      }
      (how.sure ? use->run_ns : use->unsure_ns) += part_ns;
      if (how.comes && bracket.from_ns <= from_ns) {
        ++use->switches;
        use->delay_ns += DelayNs(how.from_delay);
        use->less_ns += LessNs(how.from_delay);
        use->more_ns += MoreNs(how.from_delay);
      }
      if (how.goes && to_ns <= bracket.to_ns) {
        use->delay_ns -= DelayNs(how.to_delay);
        use->less_ns += MoreNs(how.to_delay);
        use->more_ns += LessNs(how.to_delay);
      }
    }
    if (bracket.from_ns <= from_ns) return;
  }
}

void CpuCost::Measure(const Ownership& graph, const std::vector<OwnPiece>& pieces,
                      std::vector<Use>* uses) {
  uses->clear();
  for (const OwnPiece& piece : pieces) {
    const ThreadHistory* thread = graph.FindThread(piece.thread);
    if (thread == nullptr) continue;
    Account& account = accounts_.FindOrAdd(piece.thread);
    if (account.brackets.empty()) account.brackets.push_back({});
    const size_t first = thread->FindSlice(
        [&piece](const ThreadSlice& entry) { return entry.to_ns <= piece.from_ns; });
    const bool sure = piece.certain && !piece.shared;
    for (auto slice = thread->slices.begin() + first;
         slice != thread->slices.end() && slice->from_ns < piece.to_ns; ++slice) {
      const bool running = slice->state == ThreadState::kRunning;
      if (!running && slice->state != ThreadState::kUnknown) continue;
      Take(account, *uses, piece.thread, std::max(slice->from_ns, piece.from_ns),
           std::min(slice->to_ns, piece.to_ns),
           {.sure = sure && running,
            .comes = running && slice->from_ns >= piece.from_ns,
            .goes = running && slice->to_ns <= piece.to_ns,
            .from_delay = slice->from_delay,
            .to_delay = slice->to_delay});
    }
    // The slice that is still open; see StepSlice in wall.cc.
    if (thread->covered_ns < piece.to_ns && thread->last_state == ThreadState::kRunnable) {
      Take(account, *uses, piece.thread, std::max(thread->covered_ns, piece.from_ns), piece.to_ns,
           {.sure = sure, .comes = thread->covered_ns >= piece.from_ns});
    }
  }
}

bool CpuCost::IsReady(const Use& use) const {
  const Account* account = accounts_.Find(use.thread);
  if (account == nullptr || account->gone) return true;
  if (use.bracket < account->first) return true;
  const Bracket& bracket = account->brackets[use.bracket - account->first];
  return bracket.to_ns != kForever && account->covered_ns >= bracket.to_ns;
}

void CpuCost::Add(const Bracket& bracket, const Use& use, Cost* cost) {
  const uint64_t run_ns = WithDelay(use.run_ns, use.delay_ns);
  if (!bracket.closed) {
    cost->value += run_ns;
    cost->high += run_ns + use.unsure_ns + use.more_ns;
    return;
  }
  const uint64_t used_ns = bracket.used_ns;
  const uint64_t others_ns = SaturatingSub(bracket.run_ns, use.run_ns) + bracket.unknown_ns;
  if (others_ns == 0 && use.run_ns != 0) {
    cost->value += used_ns;
    cost->low += used_ns;
    cost->high += used_ns;
    return;
  }
  const uint64_t ran_ns = std::max(WithDelay(bracket.run_ns, bracket.delay_ns), run_ns);
  uint64_t value_ns = run_ns, spread_ns = use.more_ns, taken_ns = 0;
  if (used_ns >= ran_ns) {
    const auto rest_ns = static_cast<double>(SaturatingSub(used_ns, ran_ns + bracket.unknown_ns));
    const uint64_t all = std::max({bracket.switches, use.switches, uint64_t{1}});
    const double share = static_cast<double>(use.switches) / static_cast<double>(all);
    value_ns += static_cast<uint64_t>(rest_ns * share);
    const double most_ns = rest_ns * std::min(1.0, share * kSwitchCostSpread);
    spread_ns = std::max(spread_ns, static_cast<uint64_t>(most_ns));
  } else {
    const double share = static_cast<double>(run_ns) / static_cast<double>(ran_ns);
    value_ns = static_cast<uint64_t>(share * static_cast<double>(used_ns));
    // What the switches that do not tell explain was not taken from anybody.
    taken_ns = ran_ns - used_ns;
    if (taken_ns <= bracket.silent * kSwitchErrorNs) taken_ns = 0;
  }
  const uint64_t high_ns = std::min(used_ns, run_ns + use.unsure_ns + spread_ns);
  const uint64_t low_ns = std::min(SaturatingSub(run_ns, use.less_ns + taken_ns), high_ns);
  cost->value += std::clamp(value_ns, low_ns, high_ns);
  cost->low += low_ns;
  cost->high += high_ns;
}

Cost CpuCost::Divide(NodeId request, const std::vector<Use>& uses) {
  Cost cost;
  cost.request = request;
  cost.kind = "cpu_ns";
  const Bracket forgotten;
  for (const Use& use : uses) {
    Account* account = accounts_.Find(use.thread);
    if (account == nullptr || use.bracket < account->first) {
      Add(forgotten, use, &cost);
      continue;
    }
    Bracket& bracket = account->brackets[use.bracket - account->first];
    --bracket.users;
    Add(bracket, use, &cost);
  }
  return cost;
}

void CpuCost::Prune(uint64_t horizon_ns) {
  done_.clear();
  accounts_.ForEach([this, horizon_ns](NodeId thread, Account& account) {
    while (!account.brackets.empty()) {
      const Bracket& oldest = account.brackets.front();
      const bool over = account.brackets.size() > kMaxBrackets;
      const bool past = oldest.to_ns <= horizon_ns && account.covered_ns >= oldest.to_ns;
      if (!over && (oldest.users != 0 || (!past && !account.gone))) break;
      if (account.gone && !over && oldest.from_ns > horizon_ns) break;
      account.brackets.pop_front();
      ++account.first;
    }
    if (account.gone && account.brackets.empty()) done_.push_back(thread);
  });
  for (NodeId thread : done_) accounts_.Erase(thread);
}

}  // namespace cprof
