// Whether this process may record at all.
#ifndef CPROF_RECORD_PRIVILEGES_H_
#define CPROF_RECORD_PRIVILEGES_H_

#include "format/result.h"

namespace cprof {

// Loading tracing programs takes CAP_SYS_ADMIN, or CAP_BPF and CAP_PERFMON.
Result<void> CheckPrivileges();

}  // namespace cprof

#endif  // CPROF_RECORD_PRIVILEGES_H_
