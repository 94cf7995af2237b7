// Gathers the facts of the header.
#include "record/session_header.h"

#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <algorithm>
#include <string_view>

#include "format/verb.h"
#include "record/clock.h"
#include "record/procfs.h"

namespace cprof {
namespace {

std::string Joined(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (const uint32_t number : numbers) {
    if (!text.empty()) text += ',';
    text += std::to_string(number);
  }
  return text;
}

std::string FirstLine(const std::string& path) {
  const auto text = ReadSmallFile(path, 4096);
  return text ? text->substr(0, text->find('\n')) : "";
}

// What was left out on purpose, as "filter.<n>", so that a missing peer can be explained.
void AddFilters(const RecordOptions& options, const std::vector<uint32_t>& tgids,
                std::map<std::string, std::string>* attributes) {
  std::vector<std::string> filters;
  if (!options.system_wide) {
    if (!tgids.empty()) filters.push_back("tgid in " + Joined(tgids));
    if (!options.tids.empty()) filters.push_back("tid in " + Joined(options.tids));
  }
  if (!options.cpus.empty()) filters.push_back("cpu in " + Joined(options.cpus));
  if (!options.inherit) filters.push_back("children left out");
  for (size_t i = 0; i < filters.size(); ++i) {
    (*attributes)["filter." + std::to_string(i)] = filters[i];
  }
}

}  // namespace

std::vector<std::string> ChooseAdapters(const RecordOptions& options) {
  std::vector<std::string> names;
  for (const AdapterInfo& adapter : AllAdapters()) {
    if (adapter.id == Adapter::kRecorder) continue;
    const std::string name(adapter.name);
    const bool wanted = options.adapters.empty()
                            ? adapter.default_on
                            : std::find(options.adapters.begin(), options.adapters.end(), name) !=
                                  options.adapters.end();
    if (!wanted || (adapter.id == Adapter::kSample && options.frequency_hz == 0)) continue;
    names.push_back(name);
  }
  return names;
}

SessionHeader MakeSessionHeader(const RecordOptions& options, const SessionContext& context,
                                const std::vector<uint32_t>& target_tgids,
                                const std::map<std::string, std::string>& hooks) {
  SessionHeader header;
  if (getrandom(header.session_id.data(), header.session_id.size(), 0) < 0) {
    const uint64_t now_ns = ReadClockNs(CLOCK_REALTIME);
    std::copy_n(reinterpret_cast<const uint8_t*>(&now_ns), sizeof(now_ns),
                header.session_id.begin());
  }
  header.cpu_count = static_cast<uint32_t>(get_nprocs_conf());
  header.raw_keys = options.raw_keys;
  header.system_wide = options.system_wide;
  header.target_tgids = target_tgids;
  header.adapters = ChooseAdapters(options);
  header.attributes = hooks;
  auto& attributes = header.attributes;
  utsname system{};
  if (uname(&system) == 0) {
    attributes["hostname"] = system.nodename;
    attributes["kernel"] = system.release;
    attributes["machine"] = system.machine;
  }
  attributes["boot_id"] = FirstLine("/proc/sys/kernel/random/boot_id");
  attributes["cmdline"] = context.command_line;
  attributes["cprof_version"] = context.cprof_version;
  attributes["clock"] = "monotonic";
  attributes["frequency_hz"] = std::to_string(options.frequency_hz);
  AddFilters(options, target_tgids, &attributes);
  header.t0_ns = MonotonicNs();
  header.wall_t0_ns = ReadClockNs(CLOCK_REALTIME);
  return header;
}

}  // namespace cprof
