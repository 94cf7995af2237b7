// Reads /proc/kallsyms, line by line: address, type, name, and for modules a bracketed name.
#include "record/kernel_symbols.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace cprof {

std::map<std::string, uint64_t, std::less<>> FindKernelSymbols(
    std::span<const std::string_view> names) {
  std::map<std::string, uint64_t, std::less<>> found;
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/kallsyms", "re"), &fclose);
  if (file == nullptr) return found;
  char* line = nullptr;
  size_t capacity = 0;
  while (::getline(&line, &capacity, file.get()) > 0) {
    char* end = nullptr;
    const uint64_t address = std::strtoull(line, &end, 16);
    if (address == 0 || end[0] != ' ' || end[1] == '\0' || end[2] != ' ') continue;
    const std::string_view name(end + 3, std::strcspn(end + 3, "\t\n "));
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    const auto [position, is_new] = found.emplace(name, address);
    if (!is_new && position->second != address) position->second = 0;  // Not unique.
  }
  std::free(line);
  std::erase_if(found, [](const auto& entry) { return entry.second == 0; });
  return found;
}

}  // namespace cprof
