// Means by batches, quantiles by ranks, and the bounds of both.
#include "report/estimate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cprof {
namespace {

constexpr int kBisections = 60;  // halves [0, 2^20] to less than a double tells apart

// The probability that a variable of Student's t distribution is at most t in size: the finite sum
// for a whole number of degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4).
double StudentWithin(double t, size_t degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double square = std::cos(angle) * std::cos(angle);
  double term = degrees % 2 == 0 ? 1 : std::cos(angle);
  double sum = degrees == 1 ? 0 : term;
  for (size_t i = degrees % 2 == 0 ? 2 : 3; i + 2 <= degrees; i += 2) {
    term *= square * static_cast<double>(i - 1) / static_cast<double>(i);
    sum += term;
  }
  if (degrees % 2 == 0) return std::sin(angle) * sum;
  return 2 / std::numbers::pi * (angle + std::sin(angle) * sum);
}

template <typename Within>
double BoundOf(double alpha, Within within) {
  double low = 0, high = 1 << 20;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (within(middle) < 1 - alpha ? low : high) = middle;
  }
  return high;
}

// Standard error of the mean; the batch that is not full yet is left out. 0 with fewer than two.
double ErrorOf(const BatchSums& sums, const BatchRuler& ruler) {
  const size_t full = ruler.count() / ruler.batch_items();
  if (full < 2) return 0;
  const auto items = static_cast<double>(ruler.batch_items());
  const auto mean_at = [&](size_t i) {
    return i < sums.batches.size() ? static_cast<double>(sums.batches[i]) / items : 0.0;
  };
  double mean = 0;
  for (size_t i = 0; i < full; ++i) mean += mean_at(i) / static_cast<double>(full);
  double squares = 0;
  for (size_t i = 0; i < full; ++i) squares += (mean_at(i) - mean) * (mean_at(i) - mean);
  const double variance = squares / static_cast<double>(full - 1);
  return std::sqrt(variance * items / static_cast<double>(ruler.count()));
}

}  // namespace

double StudentBound(double alpha, size_t degrees) {
  return BoundOf(alpha, [degrees](double t) { return StudentWithin(t, degrees); });
}

double NormalBound(double alpha) {
  return BoundOf(alpha, [](double z) { return std::erf(z / std::numbers::sqrt2); });
}

Estimate Difference(const Estimate& a, const Estimate& b) {
  const double value = b.value - a.value;
  return {value, value - std::hypot(b.value - b.low, a.high - a.value),
          value + std::hypot(b.high - b.value, a.value - a.low)};
}

bool BatchRuler::Next(size_t* batch) {
  const bool halve = count_ == kMaxBatches * batch_items_;
  if (halve) batch_items_ *= 2;
  *batch = count_++ / batch_items_;
  return halve;
}

void BatchSums::Add(size_t batch, uint64_t value) {
  if (value == 0) return;
  sum += value;
  ++items;
  if (batches.size() <= batch) batches.resize(batch + 1);
  batches[batch] += value;
}

void BatchSums::Halve() {
  for (size_t i = 0; i < batches.size(); ++i) {
    const uint64_t value = batches[i];
    batches[i] = 0;
    batches[i / 2] += value;
  }
  batches.resize((batches.size() + 1) / 2);
}

Estimate MeanOf(const BatchSums& sums, const BatchRuler& ruler, double alpha, double event) {
  Estimate estimate;
  if (ruler.count() == 0) return estimate;
  const auto count = static_cast<double>(ruler.count());
  estimate.value = static_cast<double>(sums.sum) / count;
  if (sums.sum == 0) {
    // More than -ln(alpha / 2) events in as many items would have shown at least one.
    estimate.low = 0;
    estimate.high = -std::log(alpha / 2) * event / count;
    return estimate;
  }
  const size_t full = ruler.count() / ruler.batch_items();
  if (full < 2) return estimate;
  const double times =
      std::exp(StudentBound(alpha, full - 1) * ErrorOf(sums, ruler) / estimate.value);
  estimate.low = estimate.value / times;
  estimate.high = estimate.value * times;
  return estimate;
}

double EventOf(const BatchSums& sums, const BatchRuler& ruler) {
  if (sums.sum == 0) return 0;
  const auto sum = static_cast<double>(sums.sum);
  const double part = ErrorOf(sums, ruler) * static_cast<double>(ruler.count()) / sum;
  return std::max(sum / static_cast<double>(sums.items), sum * part * part);
}

void ThinnedValues::Add(uint64_t value) {
  if (seen_++ % step_ != 0) return;
  values_.push_back(value);
  if (values_.size() < kMaxValues) return;
  for (size_t i = 0; i < kMaxValues / 2; ++i) values_[i] = values_[2 * i];
  values_.resize(kMaxValues / 2);
  step_ *= 2;
}

double ThinnedValues::Alikeness(uint64_t bound) const {
  BatchRuler ruler;
  BatchSums below;
  for (const uint64_t value : values_) {
    size_t batch = 0;
    if (ruler.Next(&batch)) below.Halve();
    below.Add(batch, value <= bound ? 1 : 0);
  }
  const double share = static_cast<double>(below.sum) / static_cast<double>(values_.size());
  const size_t full = ruler.count() / ruler.batch_items();
  if (full < 2 || share <= 0 || share >= 1) return 1;
  const auto items = static_cast<double>(ruler.batch_items());
  double squares = 0;
  for (size_t i = 0; i < full; ++i) {
    const double own = i < below.batches.size() ? static_cast<double>(below.batches[i]) / items : 0;
    squares += (own - share) * (own - share);
  }
  const double variance = squares / static_cast<double>(full - 1);
  return std::max(1.0, variance * items / (share * (1 - share)));
}

Estimate QuantileOf(const Histogram& values, const ThinnedValues& order, uint32_t per_mille,
                    double alpha) {
  Estimate estimate;
  if (values.count() == 0) return estimate;
  const uint64_t value = values.Quantile(per_mille, 1000);
  estimate.value = static_cast<double>(value);
  const double share = per_mille / 1000.0;
  const double independent = static_cast<double>(values.count()) / order.Alikeness(value);
  const double half = NormalBound(alpha) * std::sqrt(share * (1 - share) / independent);
  constexpr uint32_t kParts = 1'000'000;
  const auto at = [&](double where) {
    return static_cast<double>(values.Quantile(static_cast<uint32_t>(where * kParts), kParts));
  };
  // Beyond the first or last value a sample says nothing, but that no time is below 0.
  estimate.low = share - half > 0 ? at(share - half) : 0;
  if (share + half < 1) estimate.high = at(share + half);
  return estimate;
}

}  // namespace cprof
