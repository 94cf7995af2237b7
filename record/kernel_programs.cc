// Chooses programs by what the kernel's BTF says of each tracepoint.
#include "record/kernel_programs.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <string_view>

namespace cprof {
namespace {

// Programs of one hook that exclude each other. Where several kernels share a tracepoint's name,
// the number of arguments tells them apart.
struct Variant {
  std::string_view program;
  std::string_view hook;
  int arguments;  // 0: any
};
constexpr Variant kVariants[] = {
    {"io_uring__submit_req", "io_uring.submit", 0},
    {"io_uring__submit_sqe", "io_uring.submit", 0},
    {"io_uring__complete_cqe", "io_uring.complete", 3},
    {"io_uring__complete_args", "io_uring.complete", 7},
};

struct ProgramVerbs {
  std::string_view program;
  std::vector<Verb> verbs;
};

// Only programs whose verb is not the one they are named for.
const std::vector<ProgramVerbs>& UnusualVerbs() {
  static const auto* const table = new std::vector<ProgramVerbs>{
      {"sched__switch", {verbs::kSchedSwitch, verbs::kSchedRuntime, verbs::kSchedComm}},
      {"sched__waking", {verbs::kSchedWaking, verbs::kSchedComm}},
      {"sched__comm", {verbs::kSchedComm}},
      {"io_uring__submit_req", {verbs::kIoUringSubmit}},
      {"io_uring__submit_sqe", {verbs::kIoUringSubmit}},
      {"io_uring__complete_cqe", {verbs::kIoUringComplete, verbs::kIoUringWorkRun}},
      {"io_uring__complete_args", {verbs::kIoUringComplete, verbs::kIoUringWorkRun}},
      {"io_uring__file_get", {verbs::kIoUringFileGet, verbs::kIoUringWorkRun}},
      {"futex__wait", {verbs::kFutexWait, verbs::kEventfdWait, verbs::kEpollWait}},
      {"futex__wake", {verbs::kFutexWake, verbs::kEventfdSignal}},
  };
  return *table;
}

std::string_view TracepointOf(std::string_view section) {
  constexpr std::string_view kPrefix = "tp_btf/";
  const size_t start = section.find(kPrefix);
  return start == std::string_view::npos ? std::string_view{}
                                         : section.substr(start + kPrefix.size());
}

constexpr std::string_view kUnavailable = "unavailable: ";

// Why the kernel cannot run it, or "".
std::string WhyNot(const KernelBtf& btf, const std::string& tracepoint, const Variant* variant) {
  if (tracepoint.empty()) return "";
  const auto arguments = btf.TracepointArguments(tracepoint);
  if (!arguments) return "this kernel has no tracepoint " + tracepoint;
  if (variant != nullptr && variant->arguments != 0 && *arguments != variant->arguments) {
    return "tracepoint " + tracepoint + " has " + std::to_string(*arguments) +
           " arguments, a form that cprof does not know";
  }
  return "";
}

}  // namespace

std::vector<ChosenProgram> ChoosePrograms(bpf_object* object, const KernelBtf& btf,
                                          std::span<const std::string> adapters,
                                          const std::map<std::string, std::string>& excluded,
                                          std::map<std::string, std::string>* attributes) {
  std::vector<ChosenProgram> chosen;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    const std::string name = bpf_program__name(program);
    const size_t split = name.find("__");
    if (split == std::string::npos) continue;
    const std::string adapter = name.substr(0, split);
    if (std::find(adapters.begin(), adapters.end(), adapter) == adapters.end()) continue;

    const auto* variant = std::find_if(std::begin(kVariants), std::end(kVariants),
                                       [&](const Variant& row) { return row.program == name; });
    if (variant == std::end(kVariants)) variant = nullptr;
    ChosenProgram candidate;
    candidate.program = program;
    candidate.name = name;
    candidate.hook =
        variant != nullptr ? std::string(variant->hook) : adapter + "." + name.substr(split + 2);
    const std::string tracepoint(TracepointOf(bpf_program__section_name(program)));
    candidate.variant = variant != nullptr   ? name.substr(split + 2)
                        : tracepoint.empty() ? "attached"
                                             : tracepoint;

    std::string& attribute = (*attributes)["hook." + candidate.hook];
    std::string why = WhyNot(btf, tracepoint, variant);
    if (const auto found = excluded.find(name); why.empty() && found != excluded.end()) {
      why = found->second;
    }
    if (why.empty()) {
      attribute = candidate.variant;
      chosen.push_back(std::move(candidate));
    } else if (attribute.empty()) {
      attribute = std::string(kUnavailable) + why;
    }
  }
  return chosen;
}

Result<std::vector<std::string>> TellMissingHooks(
    const std::map<std::string, std::string>& attributes, std::span<const std::string> by_name) {
  constexpr std::string_view kHook = "hook.";
  std::vector<std::string> sentences;
  std::map<std::string, std::string> gone;  // adapter -> why it has not one hook so far
  for (const auto& [name, value] : attributes) {
    if (!name.starts_with(kHook)) continue;
    const std::string hook = name.substr(kHook.size());
    const std::string adapter = hook.substr(0, hook.find('.'));
    const bool is_missing = value.starts_with(kUnavailable);
    const bool is_first = !gone.contains(adapter);
    std::string& why = gone[adapter];
    if (!is_missing) {
      why.clear();
      continue;
    }
    const std::string reason = value.substr(kUnavailable.size());
    if (is_first) why = reason;
    if (reason != kSamplesAreOff) sentences.push_back(hook + " is not recorded: " + reason);
  }
  for (const std::string& adapter : by_name) {
    const auto found = gone.find(adapter);
    if (found == gone.end() || found->second.empty() || found->second == kSamplesAreOff) continue;
    return Error{"adapter '" + adapter + "' cannot be used: " + found->second,
                 "leave it out of -e, or record on a newer kernel"};
  }
  return sentences;
}

std::vector<Verb> VerbsOf(const std::string& program_name) {
  for (const ProgramVerbs& row : UnusualVerbs()) {
    if (row.program == program_name) return row.verbs;
  }
  const size_t split = program_name.find("__");
  if (split == std::string::npos) return {};
  const VerbInfo* verb = FindVerb(program_name.substr(0, split), program_name.substr(split + 2));
  return verb == nullptr ? std::vector<Verb>{} : std::vector<Verb>{verb->verb};
}

}  // namespace cprof
