// Addresses of samples into names of functions, by the mappings and kernel symbols of a recording.
#ifndef CPROF_REPORT_SYMBOLS_H_
#define CPROF_REPORT_SYMBOLS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/recording.h"
#include "report/elf_symbols.h"

namespace cprof {

// Reads ELF files as they are asked for, each once. The answers depend on the files of this
// machine; a file that is not the one that was recorded gives no names, only its own name and the
// offset.
class Symbolizer {
 public:
  static constexpr size_t kMaxMappings = 1 << 20;

  // wall_t0_ns of the session: files without a build id must be older.
  void SetRecordingTime(uint64_t wall_ns) { wall_ns_ = wall_ns; }
  void AddMappings(std::span<const Mapping> mappings);
  void AddKernelSymbols(std::span<const KernelSymbol> symbols);

  // Changes whenever a process maps something over something else (exec, dlclose and dlopen): a
  // sample is to be named with the epoch of its arrival.
  uint32_t EpochOf(uint32_t tgid) const;

  // "operator new(unsigned long)", "[libc.so.6+0x1234]", "[unknown]". Raw: escape for the output.
  // return_address: the address is where a call returns to, so the call lies before it.
  std::string UserFrame(uint32_t tgid, uint32_t epoch, uint64_t address, bool return_address);
  std::string KernelFrame(uint64_t address, bool return_address);

 private:
  struct Place {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t file_offset = 0;
    uint32_t file = 0;  // in files_
    uint32_t epoch = 0;
  };
  struct Process {
    std::vector<Place> places;  // in order of arrival
    uint32_t epoch = 0;
  };
  struct File {
    std::string path;
    std::string build_id;
    bool loaded = false;
    std::unique_ptr<ElfSymbols> symbols;
  };

  const Place* FindPlace(uint32_t tgid, uint32_t epoch, uint64_t address) const;
  uint32_t FileOf(const Mapping& mapping);

  uint64_t wall_ns_ = 0;
  size_t mapping_count_ = 0;
  std::unordered_map<uint32_t, Process> processes_;
  std::vector<File> files_;
  std::map<std::pair<std::string, std::string>, uint32_t> file_index_;
  std::vector<KernelSymbol> kernel_;
  bool kernel_sorted_ = true;
};

}  // namespace cprof

#endif  // CPROF_REPORT_SYMBOLS_H_
