// Sums and ratios of scores: see score.h.
#include "tests/causality/score/score.h"

namespace cprof::causality {
namespace {

void AddTo(EdgeScore* sum, const EdgeScore& other) {
  sum->reported += other.reported;
  sum->right += other.right;
  sum->wrong += other.wrong;
  sum->duplicate += other.duplicate;
  sum->undecided += other.undecided;
  sum->foreign += other.foreign;
}

void AddTo(TruthScore* sum, const TruthScore& other) {
  sum->outside += other.outside;
  sum->inside += other.inside;
  sum->found += other.found;
  sum->undecided += other.undecided;
  sum->missing += other.missing;
  sum->with_orphan += other.with_orphan;
  sum->with_break += other.with_break;
  sum->shown += other.shown;
  sum->visible += other.visible;
  sum->visible_found += other.visible_found;
  sum->kept += other.kept;
  sum->kept_found += other.kept_found;
  sum->sure += other.sure;
  sum->sure_observed += other.sure_observed;
}

void AddTo(uint64_t* sum, uint64_t other) { *sum += other; }

template <typename Value>
void AddEach(std::map<std::string, Value>* sum, const std::map<std::string, Value>& other) {
  for (const auto& [name, value] : other) AddTo(&(*sum)[name], value);
}

void Append(std::vector<double>* list, const std::vector<double>& other) {
  list->insert(list->end(), other.begin(), other.end());
}

double Ratio(uint64_t part, uint64_t whole, double of_nothing) {
  return whole == 0 ? of_nothing : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double EdgeScore::Precision() const { return Ratio(right, right + wrong + duplicate, 1); }

void OwnerScore::Add(const OwnerScore& other) {
  attributed_ns += other.attributed_ns;
  right_ns += other.right_ns;
  wrong_ns += other.wrong_ns;
  unknown_ns += other.unknown_ns;
  undecided_ns += other.undecided_ns;
  watched_ns += other.watched_ns;
  AddEach(&attributed_by, other.attributed_by);
  AddEach(&wrong_by, other.wrong_by);
}

void QuantityScore::Add(const QuantityScore& other) {
  Append(&errors, other.errors);
  unreported += other.unreported;
  intervals += other.intervals;
  covering += other.covering;
  Append(&widths, other.widths);
}

uint64_t Scores::FalseJoins() const {
  uint64_t wrong = 0;
  for (const auto& [confidence, score] : edges) wrong += score.wrong;
  return wrong;
}

uint64_t Scores::Reported() const {
  uint64_t reported = 0;
  for (const auto& [confidence, score] : edges) reported += score.reported;
  return reported;
}

uint64_t Scores::Judged() const {
  uint64_t judged = 0;
  for (const auto& [confidence, score] : edges)
    judged += score.right + score.wrong + score.duplicate;
  return judged;
}

double Scores::Precision(const std::string& confidence) const {
  const auto score = edges.find(confidence);
  return score == edges.end() ? 1 : score->second.Precision();
}

TruthScore Scores::AllTruths() const {
  TruthScore sum;
  for (const auto& [type, score] : truths) AddTo(&sum, score);
  return sum;
}

OwnerScore Scores::AllOwners() const {
  OwnerScore sum = threads;
  sum.Add(operations_owner);
  return sum;
}

double Scores::Recall() const {
  const TruthScore all = AllTruths();
  return Ratio(all.found, all.found + all.missing, 0);
}

void Scores::Add(const Scores& other) {
  AddEach(&edges, other.edges);
  AddEach(&edges_by_type, other.edges_by_type);
  AddEach(&edges_by_rule, other.edges_by_rule);
  AddEach(&truths, other.truths);
  AddEach(&outside_domain, other.outside_domain);
  silent_operations += other.silent_operations;
  half_edges += other.half_edges;
  orphans += other.orphans;
  AddEach(&orphans_by_reason, other.orphans_by_reason);
  unexplained += other.unexplained;
  orphans_without_proof += other.orphans_without_proof;
  accounts_off += other.accounts_off;
  breaks += other.breaks;
  lost_reported += other.lost_reported;
  break_cpu_ns += other.break_cpu_ns;
  lost_truly += other.lost_truly;
  lossy_cpu_ns += other.lossy_cpu_ns;
  runs_with_losses += other.runs_with_losses;
  threads.Add(other.threads);
  operations_owner.Add(other.operations_owner);
  requests += other.requests;
  requests_matched += other.requests_matched;
  requests_off += other.requests_off;
  states_not_adding += other.states_not_adding;
  wall_ns += other.wall_ns;
  AddEach(&state_ns, other.state_ns);
  wall.Add(other.wall);
  Append(&wall_open, other.wall_open);
  cpu.Add(other.cpu);
  resource.Add(other.resource);
  has_adapter &= other.has_adapter;
  runs += other.runs;
}

}  // namespace cprof::causality
