// Formats figures for people.
#include "record/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>
#include <vector>

#include "format/verb.h"

namespace cprof {
namespace {

// Streams named one by one; a machine may have hundreds of CPUs.
constexpr size_t kMaxNamedStreams = 4;

const char* WhyLost(BreakReason reason) {
  switch (reason) {
    case BreakReason::kRingFull: return "ring full";
    case BreakReason::kMissedRuns: return "the kernel skipped programs";
    case BreakReason::kRingDamaged: return "ring damaged";
    case BreakReason::kBudget: return "budget";
    case BreakReason::kWriterStalled: return "not written";
    case BreakReason::kMissing: return "missing";
    case BreakReason::kNotHeard: return "told before it was listened to";
    default: return BreakReasonName(reason);
  }
}

std::string FormatVerbs(const std::map<Verb, uint64_t>& verbs) {
  std::vector<std::pair<uint64_t, Verb>> order;
  for (const auto& [verb, count] : verbs) order.emplace_back(count, verb);
  std::sort(order.rbegin(), order.rend());
  std::string text;
  for (const auto& [count, verb] : order) {
    const VerbInfo* info = FindVerb(verb);
    if (!text.empty()) text += ", ";
    if (info != nullptr) {
      text += std::string(InfoOf(info->adapter).name) + ":" + std::string(info->name);
    } else {
      text += "verb " + std::to_string(verb);
    }
    text += " " + std::to_string(count);
  }
  return text;
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string FormatProgress(const ProgressFigures& figures) {
  char text[160];
  std::snprintf(text, sizeof(text),
                "[ cprof record: %.1f s, %" PRIu64 " events, %s, %" PRIu64 " lost ]",
                static_cast<double>(figures.elapsed_ns) / 1e9, figures.events,
                FormatBytes(figures.bytes).c_str(), figures.lost);
  return text;
}

std::string FormatSummary(const ProgressFigures& figures, const std::string& output) {
  return "[ cprof record: Captured and wrote " + FormatBytes(figures.bytes) + " " +
         (output == "-" ? "to standard output" : output) + " (" + std::to_string(figures.events) +
         " events) ]";
}

std::string FormatLosses(const LossTotals& losses, const std::map<StreamId, StreamInfo>& streams) {
  uint64_t total = 0;
  bool uncounted = false;
  std::vector<std::pair<uint64_t, LossTotals::const_iterator>> order;
  for (auto entry = losses.begin(); entry != losses.end(); ++entry) {
    total += entry->second.total;
    uncounted |= entry->second.total == 0;
    order.emplace_back(entry->second.total, entry);
  }
  if (order.empty()) return "";
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second->first < b.second->first;
  });
  const std::string number = std::to_string(total);
  std::string text = "[ cprof record: Lost " + (!uncounted   ? number + " events: "
                                                : total == 0 ? "events of unknown number: "
                                                             : "at least " + number + " events: ");
  bool ring_full = false;
  for (size_t i = 0; i < order.size() && i < kMaxNamedStreams; ++i) {
    const auto& [place, loss] = *order[i].second;
    const auto stream = streams.find(place.first);
    if (i != 0) text += "; ";
    text += stream != streams.end() ? StreamName(stream->second)
                                    : "stream " + std::to_string(place.first);
    if (loss.total != 0) text += " " + std::to_string(loss.total);
    text += std::string(" (") + WhyLost(place.second);
    if (!loss.verbs.empty()) text += ": " + FormatVerbs(loss.verbs);
    text += ")";
  }
  for (const auto& [count, entry] : order) {
    ring_full |= entry->first.second == BreakReason::kRingFull;
  }
  if (order.size() > kMaxNamedStreams) {
    text += "; and " + std::to_string(order.size() - kMaxNamedStreams) + " more";
  }
  if (ring_full) text += "; larger rings (-m) lose less";
  return text + " ]";
}

ProgressLine::ProgressLine(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO) == 1) {}

void ProgressLine::Show(const std::string& text) {
  if (!enabled_) return;
  std::string line = text;
  if (line.size() < width_) line.append(width_ - line.size(), ' ');
  width_ = text.size();
  std::fprintf(stderr, "\r%s", line.c_str());
}

void ProgressLine::Clear() {
  if (!enabled_ || width_ == 0) return;
  std::fprintf(stderr, "\r%*s\r", static_cast<int>(width_), "");
  width_ = 0;
}

}  // namespace cprof
