// Numbers, keys and times as text.
#ifndef CPROF_REPORT_NUMBER_H_
#define CPROF_REPORT_NUMBER_H_

#include <cstdint>
#include <string>

#include "format/event.h"

namespace cprof {

// (value * factor + add) / divisor without overflow in between.
uint64_t MultiplyDivide(uint64_t value, uint64_t factor, uint64_t add, uint64_t divisor);

void AppendUnsigned(uint64_t value, std::string* out);
void AppendSigned(int64_t value, std::string* out);
// "0x" and lower-case digits without leading zeros.
void AppendHexNumber(uint64_t value, std::string* out);
void AppendKey(const Key& key, std::string* out);
// With a comma between thousands: 1,234,567.
void AppendGrouped(uint64_t value, std::string* out);
// Microseconds as milliseconds with three decimals and grouped thousands: 1,234.567.
void AppendMilliseconds(uint64_t time_us, std::string* out);
// For reading: three to four digits and a unit: 97 ns, 812.4 us, 48.21 ms, 1.203 s.
void AppendDuration(uint64_t duration_ns, std::string* out);
// part of whole in per cent with `decimals` decimals, rounded to nearest: "12.3 %"; "-" of nothing.
// A part that is neither nothing nor everything never shows as 0 or 100.
void AppendShare(uint64_t part, uint64_t whole, int decimals, std::string* out);
// Seconds with nine decimals: 4414.907900032.
void AppendSeconds(int64_t time_ns, std::string* out);
// UTC as 2026-12-01T00:46:30.123456789Z, from nanoseconds since 1970.
void AppendUtc(uint64_t wall_ns, std::string* out);

// time_ns relative to t0_ns; things born before the recording have negative times.
inline int64_t RelativeTo(uint64_t t0_ns, uint64_t time_ns) {
  return static_cast<int64_t>(time_ns - t0_ns);
}

}  // namespace cprof

#endif  // CPROF_REPORT_NUMBER_H_
