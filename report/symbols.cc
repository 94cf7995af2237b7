// Mapping by mapping, file by file.
#include "report/symbols.h"

#include <algorithm>
#include <utility>

#include "report/demangle.h"
#include "report/number.h"

namespace cprof {
namespace {

// Beyond this distance a name of the kernel's symbol table says nothing: its last entry has no end.
constexpr uint64_t kMaxKernelFunctionBytes = 1 << 20;
constexpr size_t kMaxKernelSymbols = 4'000'000;

std::string FileFrame(const std::string& path, uint64_t offset) {
  std::string frame = "[" + path.substr(path.rfind('/') + 1) + "+";
  AppendHexNumber(offset, &frame);
  return frame + "]";
}

}  // namespace

uint32_t Symbolizer::FileOf(const Mapping& mapping) {
  const auto [entry, added] = file_index_.try_emplace({mapping.path, mapping.build_id},
                                                      static_cast<uint32_t>(files_.size()));
  if (added) files_.push_back({mapping.path, mapping.build_id, false, nullptr});
  return entry->second;
}

void Symbolizer::AddMappings(std::span<const Mapping> mappings) {
  for (const Mapping& mapping : mappings) {
    if (mapping.start >= mapping.end || mapping_count_ >= kMaxMappings) continue;
    ++mapping_count_;
    Process& process = processes_[mapping.tgid];
    const Place place{mapping.start, mapping.end, mapping.file_offset, FileOf(mapping),
                      process.epoch};
    bool repeated = false;
    bool replaces = false;
    for (const Place& other : process.places) {
      if (other.epoch != process.epoch || other.start >= place.end || place.start >= other.end) {
        continue;
      }
      const bool same = other.start == place.start && other.end == place.end &&
                        other.file == place.file && other.file_offset == place.file_offset;
      (same ? repeated : replaces) = true;
    }
    if (repeated && !replaces) continue;
    if (replaces) ++process.epoch;
    process.places.push_back(place);
    process.places.back().epoch = process.epoch;
  }
}

void Symbolizer::AddKernelSymbols(std::span<const KernelSymbol> symbols) {
  if (kernel_.size() + symbols.size() > kMaxKernelSymbols) return;
  kernel_.insert(kernel_.end(), symbols.begin(), symbols.end());
  kernel_sorted_ = false;
}

uint32_t Symbolizer::EpochOf(uint32_t tgid) const {
  const auto found = processes_.find(tgid);
  return found == processes_.end() ? 0 : found->second.epoch;
}

// The latest mapping that was there at the epoch; else the first that came later, since the
// recorder sees a mapping after its first use.
const Symbolizer::Place* Symbolizer::FindPlace(uint32_t tgid, uint32_t epoch,
                                               uint64_t address) const {
  const auto found = processes_.find(tgid);
  if (found == processes_.end()) return nullptr;
  const Place* best = nullptr;
  for (const Place& place : found->second.places) {
    if (address < place.start || address >= place.end) continue;
    if (place.epoch <= epoch || best == nullptr) best = &place;
  }
  return best;
}

std::string Symbolizer::UserFrame(uint32_t tgid, uint32_t epoch, uint64_t address,
                                  bool return_address) {
  if (address == 0) return "[unknown]";
  const uint64_t inside = return_address ? address - 1 : address;
  const Place* place = FindPlace(tgid, epoch, inside);
  if (place == nullptr) return "[unknown]";
  File& file = files_[place->file];
  if (!file.loaded) {
    file.loaded = true;
    file.symbols = ElfSymbols::Load(file.path, file.build_id, wall_ns_);
  }
  const uint64_t offset = inside - place->start + place->file_offset;
  if (file.symbols != nullptr) {
    const std::string_view name = file.symbols->Find(offset);
    if (!name.empty()) return Demangle(name);
  }
  return FileFrame(file.path, address - place->start + place->file_offset);
}

std::string Symbolizer::KernelFrame(uint64_t address, bool return_address) {
  if (!kernel_sorted_) {
    std::stable_sort(kernel_.begin(), kernel_.end(),
                     [](const auto& a, const auto& b) { return a.offset < b.offset; });
    kernel_sorted_ = true;
  }
  const uint64_t inside = return_address && address > 0 ? address - 1 : address;
  auto found = std::upper_bound(kernel_.begin(), kernel_.end(), inside,
                                [](uint64_t a, const KernelSymbol& b) { return a < b.offset; });
  if (found == kernel_.begin()) return "[kernel]";
  --found;
  // Of several names of one address the first is taken, whatever the address is.
  while (found != kernel_.begin() && std::prev(found)->offset == found->offset) --found;
  if (inside - found->offset > kMaxKernelFunctionBytes) return "[kernel]";
  return found->name;
}

}  // namespace cprof
