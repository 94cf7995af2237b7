// What was truly lost: see losses.h.
#include "tests/causality/score/losses.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace cprof::causality {
namespace {

struct Script {
  // Events of each stream, by sequence, with their times.
  std::map<std::string, std::map<uint64_t, uint64_t>> streams;
  std::map<std::string, std::string> ids;  // of streams, by name
  uint32_t cpus = 1;
};

std::string FieldOf(const std::string& line, const std::string& name) {
  const size_t at = line.find(" " + name + "=");
  if (at == std::string::npos) return "";
  const size_t from = at + name.size() + 2;
  return line.substr(from, line.find(' ', from) - from);
}

// "SECONDS.NANOSECONDS STREAM.SEQUENCE ..."; false for a line that is no event.
bool ReadEvent(const std::string& line, Script* script) {
  char* rest = nullptr;
  const uint64_t seconds = std::strtoull(line.c_str(), &rest, 10);
  if (*rest != '.') return false;
  const uint64_t nanoseconds = std::strtoull(rest + 1, &rest, 10);
  if (*rest != ' ') return false;
  const size_t from = static_cast<size_t>(rest - line.c_str()) + 1;
  const size_t to = line.find(' ', from);
  if (to == std::string::npos) return false;
  const std::string event = line.substr(from, to - from);
  const size_t dot = event.rfind('.');
  if (dot == std::string::npos) return false;
  script->streams[event.substr(0, dot)][std::strtoull(event.c_str() + dot + 1, nullptr, 10)] =
      seconds * 1000000000 + nanoseconds;
  return true;
}

Script ReadScript(std::istream& input) {
  Script script;
  for (std::string line; std::getline(input, line);) {
    if (line.starts_with("!header")) {
      const std::string cpus = FieldOf(line, "cpus");
      script.cpus = std::max(1U, static_cast<uint32_t>(std::strtoul(cpus.c_str(), nullptr, 10)));
    } else if (line.starts_with("!stream")) {
      script.ids[FieldOf(line, "name")] = FieldOf(line, "id");
    } else if (!line.empty() && line[0] >= '0' && line[0] <= '9') {
      ReadEvent(line, &script);
    }
  }
  return script;
}

}  // namespace

Result<Losses> FindLosses(std::istream& whole_text, std::istream& kept_text) {
  const Script whole = ReadScript(whole_text);
  const Script kept = ReadScript(kept_text);
  if (whole.streams.empty()) return Error{"the whole recording holds no event", ""};
  Losses losses;
  losses.cpus = whole.cpus;
  for (const auto& [stream, events] : whole.streams) {
    if (stream == "recorder") continue;
    const auto left = kept.streams.find(stream);
    const auto id = whole.ids.find(stream);
    const std::string prefix = (id == whole.ids.end() ? stream : id->second) + ".";
    uint64_t last_kept_ns = 0;
    bool in_loss = false;
    const auto close = [&](uint64_t until_ns) {
      if (!in_loss) return;
      in_loss = false;
      losses.lossy_ns += static_cast<double>(until_ns - std::min(until_ns, last_kept_ns));
      losses.spans.Add(last_kept_ns, until_ns, 0);
    };
    for (const auto& [sequence, time_ns] : events) {
      if (last_kept_ns == 0) last_kept_ns = time_ns;
      if (left != kept.streams.end() && left->second.contains(sequence)) {
        close(time_ns);
        last_kept_ns = time_ns;
        continue;
      }
      in_loss = true;
      ++losses.count;
      losses.events.insert(prefix + std::to_string(sequence));
    }
    close(events.rbegin()->second);
  }
  return losses;
}

}  // namespace cprof::causality
