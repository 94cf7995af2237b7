// The function names of one ELF file, by place in the file.
#ifndef CPROF_REPORT_ELF_SYMBOLS_H_
#define CPROF_REPORT_ELF_SYMBOLS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cprof {

// Taken from .symtab, and from .dynsym what .symtab does not have. Files may be hostile: anything
// that does not fit is left out.
class ElfSymbols {
 public:
  // Reads a file. Null where it cannot be read, is no ELF file, or is not the one that was mapped:
  // its build id is not `build_id` (raw bytes). Where the mapped file had no build id, the file
  // must have none either and be older than not_after_ns (CLOCK_REALTIME; 0: any age).
  static std::unique_ptr<ElfSymbols> Load(const std::string& path, std::string_view build_id,
                                          uint64_t not_after_ns);

  // The mangled name of the function that covers this offset in the file; empty where none does.
  std::string_view Find(uint64_t file_offset) const;
  size_t size() const { return symbols_.size(); }

 private:
  friend class ElfReader;
  struct Segment {
    uint64_t file_offset = 0;
    uint64_t size = 0;
    uint64_t address = 0;
  };
  struct Symbol {
    uint64_t address = 0;
    uint64_t size = 0;  // 0: not told; reaches to the next one
    uint32_t name = 0;  // in names_
    uint32_t name_size = 0;
    uint8_t rank = 0;  // among those of one address, lower is better
  };

  std::vector<Segment> segments_;  // PT_LOAD
  std::vector<Symbol> symbols_;    // by address, one each
  std::string names_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_ELF_SYMBOLS_H_
