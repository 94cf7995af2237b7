// What the server measured of each request itself: see truth_log.h.
#include "tests/demo/truth_log.h"

#include <algorithm>
#include <cstdio>

namespace demo {

void TruthLog::Add(const Request& request) {
  lines_.push_back({request.id, request.begin_ns, request.end_ns, request.waited_ns,
                    request.question.kind, request.holders});
}

bool TruthLog::Write(const std::string& path) const {
  FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  std::fputs("id,kind,begin_ns,end_ns,waited_ns,holders\n", file);
  for (const Line& line : lines_) {
    std::fprintf(file, "%llu,%s,%llu,%llu,%llu,", static_cast<unsigned long long>(line.id),
                 kKindNames[static_cast<int>(line.kind)],
                 static_cast<unsigned long long>(line.begin_ns),
                 static_cast<unsigned long long>(line.end_ns),
                 static_cast<unsigned long long>(line.waited_ns));
    for (size_t i = 0; i < line.holders.size(); ++i) {
      std::fprintf(file, i == 0 ? "%llu" : ";%llu",
                   static_cast<unsigned long long>(line.holders[i]));
    }
    std::fputc('\n', file);
  }
  return std::fclose(file) == 0;
}

std::string TruthLog::Summary() const {
  std::string text;
  for (int kind = 0; kind < kKindCount; ++kind) {
    std::vector<uint64_t> walls;
    uint64_t wall_ns = 0, waited_ns = 0;
    for (const Line& line : lines_) {
      if (static_cast<int>(line.kind) != kind) continue;
      walls.push_back(line.end_ns - line.begin_ns);
      wall_ns += walls.back();
      waited_ns += line.waited_ns;
    }
    if (walls.empty()) continue;
    std::sort(walls.begin(), walls.end());
    const auto at = [&walls](size_t percent) {
      return static_cast<double>(walls[(walls.size() - 1) * percent / 100]) / 1e6;
    };
    char line[256];
    std::snprintf(line, sizeof(line),
                  "%-9s %7zu requests, wall p50 %.3f ms, p99 %.3f ms, max %.3f ms, waited for a "
                  "shard %.1f %%\n",
                  kKindNames[kind], walls.size(), at(50), at(99), at(100),
                  100.0 * static_cast<double>(waited_ns) / static_cast<double>(wall_ns));
    text += line;
  }
  return text;
}

}  // namespace demo
