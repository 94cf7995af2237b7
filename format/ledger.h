// The loss ledger while it is being written: what reading found wrong, by name.
#ifndef CPROF_FORMAT_LEDGER_H_
#define CPROF_FORMAT_LEDGER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/reader.h"

namespace cprof {

enum class LossKind {
  kDamagedPreamble,
  kUnreadableBytes,
  kMissingChunk,
  kDamagedChunk,
  kForeignChunk,
  kRepeatedChunk,
  kUnknownChunk,
  kTornTail,
  kReadError,
};

class Ledger {
 public:
  void Add(LossKind loss, uint64_t count, uint64_t records, uint64_t bytes);
  std::vector<LossEntry> Entries() const;

 private:
  std::map<std::string, LossEntry> entries_;
};

}  // namespace cprof

#endif  // CPROF_FORMAT_LEDGER_H_
