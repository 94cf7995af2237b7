// Which BPF programs a recording needs, and which variant of each this kernel can run.
#ifndef CPROF_RECORD_KERNEL_PROGRAMS_H_
#define CPROF_RECORD_KERNEL_PROGRAMS_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "format/verb.h"
#include "record/kernel_btf.h"

struct bpf_object;
struct bpf_program;

namespace cprof {

struct ChosenProgram {
  bpf_program* program = nullptr;
  std::string name;     // <adapter>__<program>
  std::string hook;     // <adapter>.<hook>
  std::string variant;  // what it attaches to, for people
};

// Programs are named <adapter>__<hook>; some hooks have variants, of which the first that this
// kernel has is taken. attributes gets "hook.<adapter>.<hook>" = variant or "unavailable: why".
// excluded maps names of programs to the reason why they must not be used.
std::vector<ChosenProgram> ChoosePrograms(bpf_object* object, const KernelBtf& btf,
                                          std::span<const std::string> adapters,
                                          const std::map<std::string, std::string>& excluded,
                                          std::map<std::string, std::string>* attributes);

// The verbs whose events a program may emit, to name what its missed runs lost.
std::vector<Verb> VerbsOf(const std::string& program_name);

}  // namespace cprof

#endif  // CPROF_RECORD_KERNEL_PROGRAMS_H_
