// Log-linear buckets: octave o >= 1 holds [2^(o+6), 2^(o+7)) in 128 equal parts, octave 0 the
// values below 128 one by one.
#include "report/histogram.h"

#include <algorithm>
#include <bit>

#include "report/number.h"

namespace cprof {

void Histogram::Add(uint64_t value) {
  ++count_;
  sum_ += value;
  max_ = std::max(max_, value);
  if (spilled_) {
    AddToBuckets(value, 1);
    return;
  }
  exact_.push_back(value);
  if (exact_.size() > kExactCount) SpillExact();
}

void Histogram::Merge(const Histogram& other) {
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  if (!spilled_ && !other.spilled_ && exact_.size() + other.exact_.size() <= kExactCount) {
    exact_.insert(exact_.end(), other.exact_.begin(), other.exact_.end());
    return;
  }
  SpillExact();
  for (const uint64_t value : other.exact_) AddToBuckets(value, 1);
  octaves_.resize(std::max(octaves_.size(), other.octaves_.size()));
  for (size_t octave = 0; octave < other.octaves_.size(); ++octave) {
    const std::vector<uint64_t>& theirs = other.octaves_[octave];
    if (theirs.empty()) continue;
    octaves_[octave].resize(kSubCount);
    for (size_t i = 0; i < kSubCount; ++i) octaves_[octave][i] += theirs[i];
  }
}

void Histogram::SpillExact() {
  for (const uint64_t value : exact_) AddToBuckets(value, 1);
  exact_.clear();
  exact_.shrink_to_fit();
  spilled_ = true;
}

void Histogram::AddToBuckets(uint64_t value, uint64_t times) {
  const int width = static_cast<int>(std::bit_width(value));
  const size_t octave = width <= kSubBits ? 0 : static_cast<size_t>(width - kSubBits);
  const uint64_t bucket = octave == 0 ? value : (value >> (octave - 1)) - kSubCount;
  if (octave >= octaves_.size()) octaves_.resize(octave + 1);
  if (octaves_[octave].empty()) octaves_[octave].resize(kSubCount);
  octaves_[octave][bucket] += times;
}

uint64_t Histogram::Quantile(uint32_t numerator, uint32_t denominator) const {
  if (count_ == 0) return 0;
  const uint64_t needed = MultiplyDivide(count_, numerator, denominator - 1, denominator);
  const uint64_t rank = std::clamp<uint64_t>(needed, 1, count_);
  if (!spilled_) {
    std::vector<uint64_t> sorted = exact_;
    const auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(sorted.begin(), nth, sorted.end());
    return *nth;
  }
  uint64_t seen = 0;
  for (size_t octave = 0; octave < octaves_.size(); ++octave) {
    for (size_t bucket = 0; bucket < octaves_[octave].size(); ++bucket) {
      seen += octaves_[octave][bucket];
      if (seen < rank) continue;
      if (octave == 0) return bucket;
      const uint64_t low = (bucket + kSubCount) << (octave - 1);
      return std::min(low + ((uint64_t{1} << (octave - 1)) >> 1), max_);
    }
  }
  return max_;
}

}  // namespace cprof
