// Binary search that begins where the last one ended.
#ifndef CPROF_REPORT_NEAR_SEARCH_H_
#define CPROF_REPORT_NEAR_SEARCH_H_

#include <algorithm>
#include <cstddef>

namespace cprof {

// The first index in [0, count) that is not before what is sought, or count; is_before(index) holds
// for a beginning of the list and no further. Takes the logarithm of the distance from hint.
template <typename IsBefore>
size_t SearchNear(size_t count, size_t hint, IsBefore is_before) {
  size_t low = 0;       // all below are before
  size_t high = count;  // this and all above are not
  hint = std::min(hint, count);
  if (hint < count && is_before(hint)) {
    low = hint + 1;
    for (size_t step = 1; low < count; step *= 2) {
      const size_t probe = std::min(hint + step, count - 1);
      if (!is_before(probe)) {
        high = probe;
        break;
      }
      low = probe + 1;
    }
  } else {
    high = hint;
    for (size_t step = 1; high > 0; step *= 2) {
      const size_t probe = hint > step ? hint - step : 0;
      if (is_before(probe)) {
        low = probe + 1;
        break;
      }
      high = probe;
    }
  }
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace cprof

#endif  // CPROF_REPORT_NEAR_SEARCH_H_
