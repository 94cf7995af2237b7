// Reads /sys/kernel/btf/vmlinux by libbpf.
#include "record/kernel_btf.h"

#include <bpf/btf.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace cprof {

void KernelBtf::Free::operator()(btf* value) const { btf__free(value); }

Result<KernelBtf> KernelBtf::Load() {
  btf* loaded = btf__load_vmlinux_btf();
  if (loaded == nullptr) {
    return Error{"cannot read the kernel's type information (BTF): " + std::string(strerror(errno)),
                 "cprof needs a kernel built with CONFIG_DEBUG_INFO_BTF=y; look for "
                 "/sys/kernel/btf/vmlinux"};
  }
  return KernelBtf(loaded);
}

std::optional<int> KernelBtf::TracepointArguments(const std::string& tracepoint) const {
  const std::string name = "btf_trace_" + tracepoint;
  const int id = btf__find_by_name_kind(btf_.get(), name.c_str(), BTF_KIND_TYPEDEF);
  if (id < 0) return std::nullopt;
  const btf_type* type = btf__type_by_id(btf_.get(), btf__type_by_id(btf_.get(), id)->type);
  if (type == nullptr || !btf_is_ptr(type)) return std::nullopt;
  type = btf__type_by_id(btf_.get(), type->type);
  if (type == nullptr || !btf_is_func_proto(type)) return std::nullopt;
  return btf_vlen(type) - 1;  // The first one is the tracepoint's own.
}

bool KernelBtf::HasFunction(const std::string& name) const {
  return btf__find_by_name_kind(btf_.get(), name.c_str(), BTF_KIND_FUNC) > 0;
}

std::optional<uint32_t> KernelBtf::PerCpuOffset(const std::string& variable) const {
  const int id = btf__find_by_name_kind(btf_.get(), ".data..percpu", BTF_KIND_DATASEC);
  if (id < 0) return std::nullopt;
  const btf_type* section = btf__type_by_id(btf_.get(), id);
  const btf_var_secinfo* info = btf_var_secinfos(section);
  for (int i = 0; i < btf_vlen(section); ++i, ++info) {
    const btf_type* entry = btf__type_by_id(btf_.get(), info->type);
    if (variable == btf__name_by_offset(btf_.get(), entry->name_off)) return info->offset;
  }
  return std::nullopt;
}

std::optional<uint32_t> KernelBtf::PreemptCountOffset() const {
  // A variable of its own until 6.2 and again from 6.15; between, a member of pcpu_hot.
  if (const auto own = PerCpuOffset("__preempt_count")) return own;
  const auto hot = PerCpuOffset("pcpu_hot");
  const int id = btf__find_by_name_kind(btf_.get(), "pcpu_hot", BTF_KIND_STRUCT);
  if (!hot || id < 0) return std::nullopt;
  // pcpu_hot is a union of padding and one anonymous struct with the members.
  const btf_type* type = btf__type_by_id(btf_.get(), id);
  for (int depth = 0; depth < 3; ++depth) {
    const btf_type* inner = nullptr;
    const btf_member* member = btf_members(type);
    for (int i = 0; i < btf_vlen(type); ++i, ++member) {
      const std::string_view name = btf__name_by_offset(btf_.get(), member->name_off);
      if (name == "preempt_count")
        return *hot + btf_member_bit_offset(type, static_cast<uint32_t>(i)) / 8;
      const btf_type* candidate = btf__type_by_id(btf_.get(), member->type);
      if (name.empty() && btf_is_composite(candidate)) inner = candidate;
    }
    // The first member starts the anonymous struct, so offsets inside it need no addition.
    if (inner == nullptr) break;
    if (btf_is_union(inner) || btf_is_struct(inner)) type = inner;
  }
  return std::nullopt;
}

}  // namespace cprof
