// The header of a recording: who, where, when, and what was armed.
#ifndef CPROF_RECORD_SESSION_HEADER_H_
#define CPROF_RECORD_SESSION_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/recording.h"
#include "record/options.h"
#include "record/session.h"

namespace cprof {

// The adapters that options ask for, in the order of adapters.def: those of -e, or those on by
// default; without a frequency no samples.
std::vector<std::string> ChooseAdapters(const RecordOptions& options);

// target_tgids are those recorded at first, a command that is the target included; hooks are the
// attributes of the kernel's capture.
SessionHeader MakeSessionHeader(const RecordOptions& options, const SessionContext& context,
                                const std::vector<uint32_t>& target_tgids,
                                const std::map<std::string, std::string>& hooks);

}  // namespace cprof

#endif  // CPROF_RECORD_SESSION_HEADER_H_
