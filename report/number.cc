// Integer arithmetic only, so that the same file gives the same bytes on every machine.
#include "report/number.h"

#include <array>
#include <charconv>

namespace cprof {
namespace {

void AppendPadded(uint64_t value, int digits, std::string* out) {
  std::array<char, 20> text{};
  for (int i = digits - 1; i >= 0; --i) {
    text[static_cast<size_t>(i)] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  out->append(text.data(), static_cast<size_t>(digits));
}

// value / unit with `decimals` decimals, rounded to nearest.
void AppendFraction(uint64_t value, uint64_t unit, int decimals, std::string* out) {
  uint64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  const uint64_t scaled = MultiplyDivide(value, scale, unit / 2, unit);
  AppendGrouped(scaled / scale, out);
  if (decimals > 0) {
    *out += '.';
    AppendPadded(scaled % scale, decimals, out);
  }
}

}  // namespace

uint64_t MultiplyDivide(uint64_t value, uint64_t factor, uint64_t add, uint64_t divisor) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(value) * factor + add) / divisor);
}

void AppendUnsigned(uint64_t value, std::string* out) {
  std::array<char, 20> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  out->append(text.data(), static_cast<size_t>(end - text.data()));
}

void AppendSigned(int64_t value, std::string* out) {
  std::array<char, 20> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  out->append(text.data(), static_cast<size_t>(end - text.data()));
}

void AppendHexNumber(uint64_t value, std::string* out) {
  std::array<char, 16> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, 16).ptr;
  *out += "0x";
  out->append(text.data(), static_cast<size_t>(end - text.data()));
}

void AppendKey(const Key& key, std::string* out) {
  if (key.hi == 0) {
    AppendHexNumber(key.lo, out);
    return;
  }
  AppendHexNumber(key.hi, out);
  for (int shift = 60; shift >= 0; shift -= 4) *out += "0123456789abcdef"[(key.lo >> shift) & 15];
}

void AppendGrouped(uint64_t value, std::string* out) {
  std::array<char, 20> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  const auto size = static_cast<size_t>(end - text.data());
  for (size_t i = 0; i < size; ++i) {
    if (i > 0 && (size - i) % 3 == 0) *out += ',';
    *out += text[i];
  }
}

void AppendMilliseconds(uint64_t time_us, std::string* out) {
  AppendGrouped(time_us / 1000, out);
  *out += '.';
  AppendPadded(time_us % 1000, 3, out);
}

void AppendDuration(uint64_t duration_ns, std::string* out) {
  struct Unit {
    uint64_t size_ns;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1'000'000'000, " s"}, {1'000'000, " ms"}, {1'000, " us"}};
  for (const Unit& unit : kUnits) {
    if (duration_ns < unit.size_ns) continue;
    const uint64_t whole = duration_ns / unit.size_ns;
    AppendFraction(duration_ns, unit.size_ns, whole >= 100 ? 1 : (whole >= 10 ? 2 : 3), out);
    *out += unit.name;
    return;
  }
  AppendUnsigned(duration_ns, out);
  *out += " ns";
}

void AppendShare(uint64_t part, uint64_t whole, int decimals, std::string* out) {
  if (whole == 0) {
    *out += '-';
    return;
  }
  uint64_t scale = 100;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  const uint64_t scaled = MultiplyDivide(part, scale, whole / 2, whole);
  if (scaled == 0 && part > 0) {
    *out += '<';
    AppendFraction(1, scale / 100, decimals, out);
  } else if (scaled == scale && part < whole) {
    *out += '>';
    AppendFraction(scale - 1, scale / 100, decimals, out);
  } else {
    AppendFraction(scaled, scale / 100, decimals, out);
  }
  *out += " %";
}

void AppendSeconds(int64_t time_ns, std::string* out) {
  uint64_t magnitude = static_cast<uint64_t>(time_ns);
  if (time_ns < 0) {
    *out += '-';
    magnitude = 0 - magnitude;
  }
  AppendUnsigned(magnitude / 1'000'000'000, out);
  *out += '.';
  AppendPadded(magnitude % 1'000'000'000, 9, out);
}

void AppendUtc(uint64_t wall_ns, std::string* out) {
  // Days to civil date by counting 400-year eras that begin on 1 March, so that the leap day is
  // the last day of a year.
  const uint64_t seconds = wall_ns / 1'000'000'000;
  const uint64_t days = seconds / 86400 + 719468;
  const uint64_t era = days / 146097;
  const uint64_t day_of_era = days % 146097;
  const uint64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const uint64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const uint64_t shifted_month = (5 * day_of_year + 2) / 153;
  const uint64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  const uint64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  AppendPadded(year, 4, out);
  *out += '-';
  AppendPadded(month, 2, out);
  *out += '-';
  AppendPadded(day_of_year - (153 * shifted_month + 2) / 5 + 1, 2, out);
  *out += 'T';
  AppendPadded(seconds % 86400 / 3600, 2, out);
  *out += ':';
  AppendPadded(seconds % 3600 / 60, 2, out);
  *out += ':';
  AppendPadded(seconds % 60, 2, out);
  *out += '.';
  AppendPadded(wall_ns % 1'000'000'000, 9, out);
  *out += 'Z';
}

}  // namespace cprof
