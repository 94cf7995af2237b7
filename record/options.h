// What the user asked `cprof record` to do, after the words have been understood.
#ifndef CPROF_RECORD_OPTIONS_H_
#define CPROF_RECORD_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cprof {

struct RecordOptions {
  std::vector<uint32_t> pids;         // -p
  std::vector<uint32_t> tids;         // -t
  bool system_wide = false;           // -a
  std::vector<std::string> command;   // -- command args...
  std::string output = "cprof.data";  // -o; "-": standard output
  double duration_s = 0;              // --duration; 0: until stopped
  uint32_t frequency_hz = 99;         // -F; 0: no samples
  bool call_graph = true;             // -g: stacks with samples
  uint32_t ring_pages = 0;            // -m: pages per CPU and plane; 0: default
  std::vector<uint32_t> cpus;         // -C; empty: all
  uint32_t delay_ms = 0;              // -D
  std::vector<std::string> adapters;  // -e; empty: those on by default
  uint64_t max_size_bytes = 0;        // --max-size
  bool inherit = true;                // --no-inherit clears it
  bool raw_keys = false;              // --raw-keys
  bool quiet = false;
  int verbosity = 0;
};

}  // namespace cprof

#endif  // CPROF_RECORD_OPTIONS_H_
