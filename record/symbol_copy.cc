// Chooses out of /proc/kallsyms what sampled frames need.
#include "record/symbol_copy.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "record/procfs.h"

namespace cprof {
namespace {

// Distinct kernel addresses are few (return addresses and sampled instructions); a bound all the
// same, so that a long system-wide recording stays small.
constexpr size_t kMaxFrames = 1 << 20;

}  // namespace

std::vector<KernelSymbol> ParseKallsyms(std::string_view text, uint64_t base) {
  std::vector<KernelSymbol> symbols;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    uint64_t address = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const size_t at = static_cast<size_t>(rest - line.data());
    if (error != std::errc() || address == 0 || line.size() < at + 4) continue;
    const char type = line[at + 1];
    if (type != 't' && type != 'T' && type != 'w' && type != 'W') continue;
    // "name" or "name<tab>[module]"
    std::string name(line.substr(at + 3));
    std::replace(name.begin(), name.end(), '\t', ' ');
    symbols.push_back({address - base, std::move(name)});
  }
  std::stable_sort(symbols.begin(), symbols.end(),
                   [](const auto& a, const auto& b) { return a.offset < b.offset; });
  const auto last = std::unique(symbols.begin(), symbols.end(),
                                [](const auto& a, const auto& b) { return a.offset == b.offset; });
  symbols.erase(last, symbols.end());
  return symbols;
}

void SymbolCopy::NoticeFrames(std::span<const uint64_t> frames) {
  if (frames.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const uint64_t frame : frames) {
    if (noticed_.size() < kMaxFrames && noticed_.insert(frame).second) waiting_.push_back(frame);
  }
}

std::vector<KernelSymbol> SymbolCopy::Collect() {
  std::vector<uint64_t> frames;
  {
    const std::lock_guard lock(mutex_);
    frames.swap(waiting_);
  }
  std::vector<KernelSymbol> found;
  if (frames.empty()) return found;
  if (!loaded_) {
    loaded_ = true;
    if (const auto text = ReadSmallFile("/proc/kallsyms", 1 << 28)) {
      all_ = ParseKallsyms(*text, base_);
    }
    returned_.resize(all_.size());
  }
  for (const uint64_t frame : frames) {
    auto after = std::upper_bound(
        all_.begin(), all_.end(), frame,
        [](uint64_t offset, const KernelSymbol& symbol) { return offset < symbol.offset; });
    // A return address may be the first byte behind its function; the reader looks up one less.
    for (int step = 0; step < 2 && after != all_.begin(); ++step) {
      --after;
      const size_t index = static_cast<size_t>(after - all_.begin());
      if (!returned_[index]) found.push_back(all_[index]);
      returned_[index] = true;
      if (after->offset != frame) break;
    }
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return found;
}

}  // namespace cprof
