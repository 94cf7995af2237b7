// Which BPF programs a recording needs, and which variant of each this kernel can run.
#ifndef CPROF_RECORD_KERNEL_PROGRAMS_H_
#define CPROF_RECORD_KERNEL_PROGRAMS_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/result.h"
#include "format/verb.h"
#include "record/kernel_btf.h"

struct bpf_object;
struct bpf_program;

namespace cprof {

// A reason to leave a program out that nobody needs to be told of.
inline constexpr std::string_view kSamplesAreOff = "samples are switched off";

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

// What "unavailable" among such attributes means to a user who asked for these adapters by name:
// sentences about single hooks, or the refusal of an adapter that has none left.
Result<std::vector<std::string>> TellMissingHooks(
    const std::map<std::string, std::string>& attributes, std::span<const std::string> by_name);

// The verbs whose events a program may emit, to name what its missed runs lost.
std::vector<Verb> VerbsOf(const std::string& program_name);

}  // namespace cprof

#endif  // CPROF_RECORD_KERNEL_PROGRAMS_H_
