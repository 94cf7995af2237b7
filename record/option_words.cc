// Understands option values.
#include "record/option_words.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "format/verb.h"

namespace cprof {
namespace {

constexpr uint32_t kMaxCpu = 4095;
constexpr uint32_t kMaxFrequencyHz = 10000;  // the cost of a sample is some 2 us
constexpr double kMaxSeconds = 1e9;          // nanoseconds still fit

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kTimeUnits[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
constexpr Unit kSizeUnits[] = {
    {"B", 1},         {"K", 1024.0},       {"k", 1024.0},
    {"M", 1048576.0}, {"G", 1073741824.0}, {"T", 1099511627776.0},
};

Error Wrong(std::string_view option, std::string_view text, const char* why, std::string hint) {
  return {std::string(option) + " '" + std::string(text) + "': " + why, std::move(hint)};
}

template <typename T>
bool ParseWhole(std::string_view text, T* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

template <typename T>
void SortUnique(std::vector<T>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

}  // namespace

Result<std::vector<uint32_t>> ParseIdList(std::string_view option, std::string_view text) {
  std::vector<uint32_t> ids;
  for (const std::string_view part : Split(text)) {
    uint32_t id = 0;
    if (!ParseWhole(part, &id) || id == 0) {
      return Wrong(option, text, "not a list of ids",
                   "ids are numbers above 0, as in " + std::string(option) + " 17,18");
    }
    ids.push_back(id);
  }
  SortUnique(&ids);
  return ids;
}

Result<std::vector<uint32_t>> ParseCpuList(std::string_view option, std::string_view text) {
  std::vector<uint32_t> cpus;
  for (const std::string_view part : Split(text)) {
    uint32_t first = 0;
    uint32_t last = 0;
    const size_t dash = part.find('-');
    const bool valid = ParseWhole(part.substr(0, dash), &first) &&
                       (dash == std::string_view::npos || ParseWhole(part.substr(dash + 1), &last));
    if (dash == std::string_view::npos) last = first;
    if (!valid || last < first || last > kMaxCpu) {
      return Wrong(option, text, "not a list of CPUs",
                   "CPUs are numbers or ranges, as in " + std::string(option) + " 0-3,7");
    }
    for (uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  SortUnique(&cpus);
  return cpus;
}

Result<double> ParseTime(std::string_view option, std::string_view text,
                         std::string_view default_unit) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.empty()) unit = default_unit;
  const auto* known = std::find_if(std::begin(kTimeUnits), std::end(kTimeUnits),
                                   [unit](const Unit& entry) { return entry.name == unit; });
  const std::string hint = "units are ms, s, m and h, as in " + std::string(option) +
                           " 1.5s; without one it counts in " + std::string(default_unit);
  if (error != std::errc() || known == std::end(kTimeUnits)) {
    return Wrong(option, text, "not a time", hint);
  }
  const double seconds = value * known->factor;
  if (!(seconds > 0) || seconds > kMaxSeconds) {
    return Wrong(option, text, "not a time above 0 and below 30 years", hint);
  }
  return seconds;
}

Result<uint64_t> ParseSize(std::string_view option, std::string_view text) {
  const std::string hint = "units are K, M, G and T, as in " + std::string(option) + " 64M";
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.empty()) unit = "B";
  const auto* known = std::find_if(std::begin(kSizeUnits), std::end(kSizeUnits),
                                   [unit](const Unit& entry) { return entry.name == unit; });
  if (error != std::errc() || known == std::end(kSizeUnits)) {
    return Wrong(option, text, "not a size", hint);
  }
  const double bytes = value * known->factor;
  if (!(bytes >= 1) || bytes > 1e18) return Wrong(option, text, "not a size above 0", hint);
  return static_cast<uint64_t>(bytes);
}

Result<uint32_t> ParseRingPages(std::string_view option, std::string_view text,
                                uint32_t page_bytes) {
  uint32_t pages = 0;
  if (!ParseWhole(text, &pages)) {
    const auto bytes = ParseSize(option, text);
    if (!bytes) {
      return Wrong(option, text, "not a number of pages",
                   "give pages, as in " + std::string(option) + " 256, or a size, as in " +
                       std::string(option) + " 1M");
    }
    pages = static_cast<uint32_t>(std::min<uint64_t>(*bytes / page_bytes, UINT32_MAX));
  }
  if (pages == 0 || (pages & (pages - 1)) != 0) {
    const double nearest = pages == 0 ? 1 : std::exp2(std::round(std::log2(pages)));
    return Wrong(
        option, text, "the pages of a ring are a power of two",
        "try " + std::string(option) + " " + std::to_string(static_cast<uint64_t>(nearest)));
  }
  return pages;
}

Result<uint32_t> ParseFrequency(std::string_view option, std::string_view text) {
  uint32_t frequency_hz = 0;
  if (!ParseWhole(text, &frequency_hz) || frequency_hz > kMaxFrequencyHz) {
    return Wrong(
        option, text, "not a frequency",
        "samples per second and CPU, 1 to " + std::to_string(kMaxFrequencyHz) + "; 0 takes none");
  }
  return frequency_hz;
}

Result<std::vector<std::string>> ParseAdapters(std::string_view option, std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view part : Split(text)) {
    const AdapterInfo* adapter = FindAdapter(part);
    if (adapter == nullptr || adapter->id == Adapter::kRecorder) {
      return Wrong(option, text, ("no adapter is called '" + std::string(part) + "'").c_str(),
                   "'cprof record --list-adapters' lists them");
    }
    names.emplace_back(adapter->name);
  }
  SortUnique(&names);
  return names;
}

}  // namespace cprof
