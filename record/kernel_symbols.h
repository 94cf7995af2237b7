// Addresses of kernel functions, read from /proc/kallsyms.
#ifndef CPROF_RECORD_KERNEL_SYMBOLS_H_
#define CPROF_RECORD_KERNEL_SYMBOLS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace cprof {

// The addresses of those of the names that are known; a name that several functions share is left
// out, and so is everything where the kernel hides addresses (kptr_restrict).
std::map<std::string, uint64_t, std::less<>> FindKernelSymbols(
    std::span<const std::string_view> names);

}  // namespace cprof

#endif  // CPROF_RECORD_KERNEL_SYMBOLS_H_
