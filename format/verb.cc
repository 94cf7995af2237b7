// The tables behind verb.h.
#include "format/verb.h"

#include <array>

namespace cprof {
namespace {

constexpr AdapterInfo kAdapters[] = {
#define CPROF_ADAPTER(id, name, default_on, description) \
  {Adapter::k##id, name, default_on, description},
#define CPROF_VERB(...)
#include "format/adapters.def"
#undef CPROF_ADAPTER
#undef CPROF_VERB
};

constexpr VerbInfo kVerbs[] = {
#define CPROF_ADAPTER(...)
#define CPROF_VERB(adapter, name, number, role, key, key2, arg, arg2) \
  {number, Adapter::k##adapter, name, Role::k##role, key, key2, arg, arg2},
#include "format/adapters.def"
#undef CPROF_ADAPTER
#undef CPROF_VERB
};

constexpr std::array<int16_t, kVerbCount> MakeIndex() {
  std::array<int16_t, kVerbCount> index{};
  for (auto& slot : index) slot = -1;
  int16_t position = 0;
  for (const VerbInfo& info : kVerbs) index[info.verb] = position++;
  return index;
}

constexpr auto kIndex = MakeIndex();

}  // namespace

std::span<const AdapterInfo> AllAdapters() { return kAdapters; }
std::span<const VerbInfo> AllVerbs() { return kVerbs; }

const VerbInfo* FindVerb(Verb verb) {
  if (verb >= kVerbCount || kIndex[verb] < 0) return nullptr;
  return &kVerbs[kIndex[verb]];
}

const VerbInfo* FindVerb(std::string_view adapter, std::string_view name) {
  for (const VerbInfo& info : kVerbs) {
    if (info.name == name && InfoOf(info.adapter).name == adapter) return &info;
  }
  return nullptr;
}

const AdapterInfo* FindAdapter(std::string_view name) {
  for (const AdapterInfo& info : kAdapters) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

const AdapterInfo& InfoOf(Adapter adapter) { return kAdapters[static_cast<size_t>(adapter)]; }

}  // namespace cprof
