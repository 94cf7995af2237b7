// The part of the kernel's symbol table that sampled frames need.
#ifndef CPROF_RECORD_SYMBOL_COPY_H_
#define CPROF_RECORD_SYMBOL_COPY_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/recording.h"

namespace cprof {

// Text symbols of /proc/kallsyms with offsets from base, ascending; of several at one address the
// first. Empty where the kernel hides its addresses.
std::vector<KernelSymbol> ParseKallsyms(std::string_view text, uint64_t base);

// A recording needs the symbols of the frames that were sampled, hundreds out of a hundred
// thousand. Looking up "the last symbol at or below" in the part gives the same answer as in the
// whole. NoticeFrames comes from the drain thread, the rest from the control thread.
class SymbolCopy {
 public:
  explicit SymbolCopy(uint64_t base) : base_(base) {}
  void NoticeFrames(std::span<const uint64_t> frames);
  // The symbols that frames need and that were not returned before, ascending.
  std::vector<KernelSymbol> Collect();

 private:
  const uint64_t base_;
  std::mutex mutex_;
  std::vector<uint64_t> waiting_;  // guarded by mutex_
  std::set<uint64_t> noticed_;     // guarded by mutex_
  bool loaded_ = false;
  std::vector<KernelSymbol> all_;
  std::vector<bool> returned_;
};

}  // namespace cprof

#endif  // CPROF_RECORD_SYMBOL_COPY_H_
