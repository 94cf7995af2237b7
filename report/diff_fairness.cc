// Whether two recordings can be compared at all: what was hooked, lost and known on each side.
#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "report/diff.h"
#include "report/escape.h"
#include "report/number.h"

namespace cprof {
namespace {

// More lost events than one in so many: whole classes of waits may be missing on that side.
constexpr uint64_t kGraveLossParts = 100;
// Unknown shares that are further apart, in per cent of the wall time, are told.
constexpr double kUnknownApart = 2;

// Samples add stacks, not states; without them only the paths of CPU time are missing.
constexpr std::string_view kSampleAdapter = "sample";

std::string Attribute(const DiffProfile& side, const std::string& name) {
  const auto& attributes = side.coverage.header().attributes;
  const auto found = attributes.find(name);
  return found == attributes.end() ? "" : found->second;
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    AppendPrintable(word, &text);
  }
  return text;
}

// What one side has and the other has not.
std::vector<std::string> Without(std::vector<std::string> all, std::vector<std::string> taken) {
  std::sort(all.begin(), all.end());
  std::sort(taken.begin(), taken.end());
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), taken.begin(), taken.end(), std::back_inserter(rest));
  return rest;
}

class Concerns {
 public:
  void Add(bool grave, std::string text) { concerns_.push_back({grave, std::move(text)}); }

  // Things that one side has and the other has not.
  void AddMissing(const std::vector<std::string>& a, const std::vector<std::string>& b,
                  std::string_view what, bool grave) {
    const std::vector<std::string> only[] = {Without(a, b), Without(b, a)};
    for (int side = 0; side < 2; ++side) {
      if (only[side].empty()) continue;
      std::string text(what);
      text += " only in ";
      text += side == 0 ? "A: " : "B: ";
      Add(grave, text + JoinWords(only[side]));
    }
  }

  // One fact that should be the same.
  void AddDifferent(const DiffProfile& a, const DiffProfile& b, const std::string& name,
                    std::string_view what) {
    const std::string values[] = {Attribute(a, name), Attribute(b, name)};
    if (values[0] == values[1] || values[0].empty() || values[1].empty()) return;
    std::string text(what);
    text += " differs: ";
    AppendPrintable(values[0], &text);
    text += " in A, ";
    AppendPrintable(values[1], &text);
    Add(false, text + " in B");
  }

  void AddLosses(const DiffProfile& profile, const std::string& side) {
    const Coverage::Lost lost = profile.coverage.LostInAll();
    const uint64_t events = profile.coverage.summary().events;
    if (lost.breaks > 0) {
      std::string text = side + " lost ";
      AppendGrouped(lost.events, &text);
      text += lost.countable ? " events" : " events or more";
      text += " (";
      AppendShare(lost.events, lost.events + events, 2, &text);
      text += "): waits that they explain are unknown on that side";
      Add(lost.events * kGraveLossParts > lost.events + events, text);
    }
    if (!profile.coverage.read().clean_end) Add(false, side + " ends before its time");
    if (!profile.coverage.read().losses.empty()) Add(false, "the file of " + side + " is damaged");
  }

  std::vector<DiffConcern> Take() {
    std::stable_sort(concerns_.begin(), concerns_.end(),
                     [](const auto& x, const auto& y) { return x.grave && !y.grave; });
    return std::move(concerns_);
  }

 private:
  std::vector<DiffConcern> concerns_;
};

double UnknownPercent(const DiffProfile& profile) {
  if (profile.wall_ns == 0) return 0;
  return 100 * static_cast<double>(profile.unknown_ns) / static_cast<double>(profile.wall_ns);
}

// The recordings' own words about what was let in; which process it was is another in each.
std::vector<std::string> Filters(const DiffProfile& profile) {
  std::vector<std::string> filters;
  for (const auto& [name, value] : profile.coverage.header().attributes) {
    if (!name.starts_with("filter.")) continue;
    filters.push_back(value.starts_with("tgid ") ? "tgid ..." : value);
  }
  return filters;
}

std::vector<std::string> EdgeAdapters(const DiffProfile& profile) {
  std::vector<std::string> adapters = profile.coverage.header().adapters;
  std::erase(adapters, kSampleAdapter);
  return adapters;
}

bool HasSamples(const DiffProfile& profile) {
  const std::vector<std::string>& adapters = profile.coverage.header().adapters;
  return std::find(adapters.begin(), adapters.end(), kSampleAdapter) != adapters.end();
}

}  // namespace

std::vector<DiffConcern> ConcernsOf(const DiffProfile& a, const DiffProfile& b) {
  Concerns concerns;
  const DiffProfile* sides[] = {&a, &b};
  const std::string names[] = {"A", "B"};
  for (int i = 0; i < 2; ++i) {
    if (sides[i]->requests > 0) continue;
    concerns.Add(true, names[i] + " holds no whole request");
  }
  concerns.AddMissing(EdgeAdapters(a), EdgeAdapters(b), "these adapters were armed", true);
  for (int i = 0; i < 2; ++i) concerns.AddLosses(*sides[i], names[i]);
  if (std::abs(UnknownPercent(a) - UnknownPercent(b)) > kUnknownApart) {
    std::string text = "the unknown share of the wall time differs: ";
    AppendShare(a.unknown_ns, a.wall_ns, 2, &text);
    text += " in A, ";
    AppendShare(b.unknown_ns, b.wall_ns, 2, &text);
    concerns.Add(false, text + " in B; what is unknown on one side may be known on the other");
  }
  concerns.AddMissing(a.coverage.UnavailableHooks(), b.coverage.UnavailableHooks(),
                      "these hooks were unavailable", false);
  concerns.AddMissing(Filters(a), Filters(b), "these filters were set", false);
  if (a.coverage.header().system_wide != b.coverage.header().system_wide) {
    concerns.Add(false, "one is system-wide, the other of chosen processes");
  }
  if (HasSamples(a) != HasSamples(b)) {
    concerns.Add(false, std::string("only ") + (HasSamples(a) ? "A" : "B") + " holds samples");
  }
  concerns.AddDifferent(a, b, "hostname", "the machine");
  concerns.AddDifferent(a, b, "kernel", "the kernel");
  concerns.AddDifferent(a, b, "frequency_hz", "the sampling frequency");
  if (a.coverage.header().cpu_count != b.coverage.header().cpu_count) {
    concerns.Add(false, "the number of CPUs differs");
  }
  if (a.coverage.header().session_id == b.coverage.header().session_id) {
    concerns.Add(false, "both are the same recording");
  }
  return concerns.Take();
}

}  // namespace cprof
