// Two profiles against each other.
#include "report/diff.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace cprof {
namespace {

// Both sides of a kind; where one has none it points to an empty one.
struct KindPair {
  std::string name;
  const KindProfile* a = nullptr;
  const KindProfile* b = nullptr;
  double weight = 0;  // its share of all requests, the mean of both sides

  bool both() const { return a->count() > 0 && b->count() > 0; }
  bool few() const { return std::min(a->count(), b->count()) < kMinDiffRequests; }
};

// What all rows of a table are held to.
struct Judge {
  double alpha;

  void Verdict(const KindPair& pair, Change* change) const {
    change->difference = Difference(change->a, change->b);
    const bool away = change->difference.low > 0 || change->difference.high < 0;
    change->verdict = !pair.both() ? DiffVerdict::kOnlyOne
                      : pair.few() ? DiffVerdict::kTooFew
                      : away       ? DiffVerdict::kCertain
                                   : DiffVerdict::kNoise;
    change->impact_ns = change->difference.value * pair.weight;
  }

  Change Mean(const KindPair& pair, const BatchSums& a, const BatchSums& b) const {
    Change change;
    // An event of one side that the other does not know would bring as much there.
    change.a = MeanOf(a, pair.a->ruler, alpha, EventOf(b, pair.b->ruler));
    change.b = MeanOf(b, pair.b->ruler, alpha, EventOf(a, pair.a->ruler));
    Verdict(pair, &change);
    return change;
  }

  Change Quantile(const KindPair& pair, uint32_t per_mille) const {
    Change change;
    change.a = QuantileOf(pair.a->wall_ns, pair.a->wall_order, per_mille, alpha);
    change.b = QuantileOf(pair.b->wall_ns, pair.b->wall_order, per_mille, alpha);
    Verdict(pair, &change);
    return change;
  }
};

double ShareOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<KindPair> PairUp(const DiffProfile& a, const DiffProfile& b) {
  static const KindProfile kNone;
  std::set<std::string> names;
  for (const DiffProfile* side : {&a, &b}) {
    for (const auto& [name, kind] : side->kinds) {
      if (kind.count() > 0) names.insert(name);
    }
  }
  std::vector<KindPair> pairs;
  for (const std::string& name : names) {
    const auto find = [&](const DiffProfile& side) {
      const auto found = side.kinds.find(name);
      return found == side.kinds.end() ? &kNone : &found->second;
    };
    KindPair pair{name, find(a), find(b), 0};
    pair.weight = (ShareOf(pair.a->count(), a.requests) + ShareOf(pair.b->count(), b.requests)) / 2;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

bool Occurs(const KindPair& pair, size_t state) {
  return pair.a->state_ns[state].sum + pair.b->state_ns[state].sum > 0;
}

KindChange CompareKind(const KindPair& pair, const Judge& judge) {
  KindChange change;
  change.kind = pair.name;
  change.count_a = pair.a->count();
  change.count_b = pair.b->count();
  change.mean = judge.Mean(pair, pair.a->wall_sums, pair.b->wall_sums);
  change.p50 = judge.Quantile(pair, 500);
  change.p99 = judge.Quantile(pair, 990);
  change.cpu = judge.Mean(pair, pair.a->cpu_ns, pair.b->cpu_ns);
  for (size_t i = 0; i < change.states.size(); ++i) {
    if (!Occurs(pair, i)) continue;
    change.states[i] = judge.Mean(pair, pair.a->state_ns[i], pair.b->state_ns[i]);
  }
  return change;
}

// The resource whose waits changed most, of those that changed in the direction of all.
void NameResource(const CauseSums& a, const CauseSums& b, const KindPair& pair,
                  CauseChange* change) {
  std::map<std::string, double> changes;
  for (const auto& [name, wait_ns] : a.resources) {
    changes[name] -= ShareOf(wait_ns, pair.a->count());
  }
  for (const auto& [name, wait_ns] : b.resources) {
    changes[name] += ShareOf(wait_ns, pair.b->count());
  }
  change->resource_count = changes.size();
  change->more_resources = a.resources.size() >= DiffProfile::kMaxResources ||
                           b.resources.size() >= DiffProfile::kMaxResources;
  const double sign = change->change.difference.value < 0 ? -1 : 1;
  double largest = 0, all = 0;
  for (const auto& [name, change_ns] : changes) {
    const double own = std::max(0.0, sign * change_ns);
    all += own;
    if (own <= largest) continue;
    largest = own;
    change->resource = name;
  }
  change->resource_share = all > 0 ? largest / all : 0;
}

std::vector<CauseChange> CompareCauses(const std::vector<KindPair>& pairs) {
  static const CauseSums kNone;
  std::vector<std::pair<const KindPair*, CauseWords>> rows;
  for (const KindPair& pair : pairs) {
    std::set<CauseWords> words;
    for (const auto& entry : pair.a->causes) words.insert(entry.first);
    for (const auto& entry : pair.b->causes) words.insert(entry.first);
    for (const CauseWords& cause : words) rows.emplace_back(&pair, cause);
    if (pair.a->other_causes_ns.sum + pair.b->other_causes_ns.sum > 0) {
      rows.emplace_back(&pair, CauseWords{WallState::kUnknown, "[other]", ""});
    }
  }
  const Judge judge{kDiffAlpha / static_cast<double>(std::max<size_t>(rows.size(), 1))};
  std::vector<CauseChange> changes;
  for (const auto& [pair, words] : rows) {
    const auto find = [&words = words](const KindProfile& kind) {
      const auto found = kind.causes.find(words);
      return found == kind.causes.end() ? &kNone : &found->second;
    };
    const CauseSums* a = find(*pair->a);
    const CauseSums* b = find(*pair->b);
    CauseChange change;
    change.kind = pair->name;
    change.words = words;
    const bool other = a == &kNone && b == &kNone;
    change.change = other ? judge.Mean(*pair, pair->a->other_causes_ns, pair->b->other_causes_ns)
                          : judge.Mean(*pair, a->wait_ns, b->wait_ns);
    NameResource(*a, *b, *pair, &change);
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace

std::string_view DiffVerdictName(DiffVerdict verdict) {
  switch (verdict) {
    case DiffVerdict::kCertain: return "certain";
    case DiffVerdict::kNoise: return "noise";
    case DiffVerdict::kTooFew: return "too few";
    case DiffVerdict::kOnlyOne: return "one side only";
  }
  return "noise";
}

bool IsLargerChange(const Change& a, const Change& b) {
  if (a.certain() != b.certain()) return a.certain();
  return std::abs(a.impact_ns) > std::abs(b.impact_ns);
}

Comparison Compare(const DiffProfile& a, const DiffProfile& b) {
  const std::vector<KindPair> pairs = PairUp(a, b);
  size_t rows = 0;
  for (const KindPair& pair : pairs) {
    rows += 4;
    for (size_t i = 0; i < static_cast<size_t>(kWallStateCount); ++i) rows += Occurs(pair, i);
  }
  const Judge judge{kDiffAlpha / static_cast<double>(std::max<size_t>(rows, 1))};
  Comparison comparison;
  for (const KindPair& pair : pairs) comparison.kinds.push_back(CompareKind(pair, judge));
  comparison.causes = CompareCauses(pairs);
  // Both came in the order of their names, which stays where impacts are equal.
  std::stable_sort(comparison.kinds.begin(), comparison.kinds.end(),
                   [](const auto& x, const auto& y) { return IsLargerChange(x.mean, y.mean); });
  std::stable_sort(comparison.causes.begin(), comparison.causes.end(),
                   [](const auto& x, const auto& y) { return IsLargerChange(x.change, y.change); });
  comparison.paths = ComparePaths(a, b, comparison.kinds);
  return comparison;
}

}  // namespace cprof
