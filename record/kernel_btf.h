// What this kernel offers, read from its BTF: hooks, functions, places in the per-CPU area.
#ifndef CPROF_RECORD_KERNEL_BTF_H_
#define CPROF_RECORD_KERNEL_BTF_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "format/result.h"

struct btf;

namespace cprof {

class KernelBtf {
 public:
  static Result<KernelBtf> Load();

  // How many arguments programs get at this tracepoint; nothing where the kernel has no such one.
  std::optional<int> TracepointArguments(const std::string& tracepoint) const;
  bool HasFunction(const std::string& name) const;
  // Offset of a per-CPU variable in the per-CPU area.
  std::optional<uint32_t> PerCpuOffset(const std::string& variable) const;
  // Offset of preempt_count in the per-CPU area, wherever this kernel keeps it.
  std::optional<uint32_t> PreemptCountOffset() const;

 private:
  struct Free {
    void operator()(btf* value) const;
  };
  explicit KernelBtf(btf* value) : btf_(value) {}
  std::unique_ptr<btf, Free> btf_;
};

}  // namespace cprof

#endif  // CPROF_RECORD_KERNEL_BTF_H_
