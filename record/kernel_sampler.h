// The clocks that drive the sample adapter: one software perf event a CPU.
#ifndef CPROF_RECORD_KERNEL_SAMPLER_H_
#define CPROF_RECORD_KERNEL_SAMPLER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "format/result.h"

struct bpf_link;
struct bpf_program;

namespace cprof {

// Opens a cpu-clock event on each CPU and starts program on it, each at a random moment of its
// first period: clocks in step with each other, or with the workload, would sample one thing only.
// Takes one period. Links are the caller's to destroy, also those made before an error.
Result<void> StartSampling(bpf_program* program, std::span<const uint32_t> cpus,
                           uint32_t frequency_hz, std::vector<bpf_link*>* links);

}  // namespace cprof

#endif  // CPROF_RECORD_KERNEL_SAMPLER_H_
