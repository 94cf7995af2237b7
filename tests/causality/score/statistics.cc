// Intervals around what was measured: see statistics.h.
#include "tests/causality/score/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cprof::causality {
namespace {

// The regularized incomplete beta function by Lentz's continued fraction; it converges fast where
// x is below the mean of the distribution, and the other half follows by symmetry.
double BetaFraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  const auto guard = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / guard(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int i = 1; i <= 500; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guard(1 + even * d);
    c = guard(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guard(1 + odd * d);
    c = guard(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return result;
}

double Beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(x, a, b) / a;
  return 1 - front * BetaFraction(1 - x, b, a) / b;
}

double BetaQuantile(double share, double a, double b) {
  double low = 0, high = 1;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (Beta(middle, a, b) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

// 97.5 % quantiles of Student's t, by degrees of freedom.
double StudentFactor(size_t degrees) {
  static constexpr std::array<double, 30> kFactors = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  return degrees <= kFactors.size() ? kFactors[degrees - 1] : 1.96;
}

}  // namespace

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Interval MeanInterval(const std::vector<double>& values) {
  const double mean = Mean(values);
  if (values.size() < 2) return {mean, mean};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  const double half = StudentFactor(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
  return {mean - half, mean + half};
}

Interval ProportionInterval(uint64_t count, uint64_t total) {
  if (total == 0) return {0, 1};
  const auto hits = static_cast<double>(count);
  const auto misses = static_cast<double>(total - count);
  Interval interval;
  if (count > 0) interval.low = BetaQuantile(count == total ? 0.05 : 0.025, hits, misses + 1);
  interval.high = count == total ? 1 : BetaQuantile(count == 0 ? 0.95 : 0.975, hits + 1, misses);
  return interval;
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double part = rank - static_cast<double>(below);
  if (part <= 0 || values[below] == values[above]) return values[below];
  return values[below] + part * (values[above] - values[below]);
}

}  // namespace cprof::causality
