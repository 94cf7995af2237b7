// The values of record's options as words: numbers, lists, times and sizes with their units.
#ifndef CPROF_RECORD_OPTION_WORDS_H_
#define CPROF_RECORD_OPTION_WORDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/result.h"

namespace cprof {

// All name the option and the word in their errors, and what would be right in the hint.

// "17" or "17,18"; ids are above 0.
Result<std::vector<uint32_t>> ParseIdList(std::string_view option, std::string_view text);
// "0", "0-3", "0-1,5"
Result<std::vector<uint32_t>> ParseCpuList(std::string_view option, std::string_view text);
// "10", "1.5s", "500ms", "2m", "1h"; a bare number counts in units of default_unit. In seconds,
// above 0.
Result<double> ParseTime(std::string_view option, std::string_view text,
                         std::string_view default_unit);
// "4096", "64K", "10M", "2G": powers of 1024. In bytes, above 0.
Result<uint64_t> ParseSize(std::string_view option, std::string_view text);
// Pages of a ring: a power of two, or a size that is so many pages.
Result<uint32_t> ParseRingPages(std::string_view option, std::string_view text,
                                uint32_t page_bytes);
// 0 (none) to 10000.
Result<uint32_t> ParseFrequency(std::string_view option, std::string_view text);
// Names of adapters.def that can be asked for.
Result<std::vector<std::string>> ParseAdapters(std::string_view option, std::string_view text);

}  // namespace cprof

#endif  // CPROF_RECORD_OPTION_WORDS_H_
