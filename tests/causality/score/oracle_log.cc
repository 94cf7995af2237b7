// Reads an oracle log: see oracle_log.h.
#include "tests/causality/score/oracle_log.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace cprof::causality {

Result<std::vector<OracleRecord>> ReadOracleLog(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return Error{"cannot open " + path + ": " + std::strerror(errno), ""};
  OracleHeader header;
  const OracleHeader expected;
  if (std::fread(&header, sizeof(header), 1, file.get()) != 1 ||
      std::memcmp(header.magic, expected.magic, sizeof(header.magic)) != 0 ||
      header.record_size != expected.record_size) {
    return Error{path + " is not an oracle log", ""};
  }
  std::vector<OracleRecord> records;
  std::vector<OracleRecord> block(4096);
  uint64_t seen = 0;
  while (true) {
    const size_t count = std::fread(block.data(), sizeof(OracleRecord), block.size(), file.get());
    for (size_t i = 0; i < count; ++i) {
      if (block[i].truth == Truth::kNone) continue;
      if (block[i].truth > Truth::kLast) return Error{path + " holds a record of no kind", ""};
      records.push_back(block[i]);
    }
    seen += count;
    if (count < block.size()) break;
  }
  if (seen != header.capacity) return Error{path + " is cut short", ""};
  return records;
}

}  // namespace cprof::causality
