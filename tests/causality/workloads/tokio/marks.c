/* The marks of cprof.h as functions that the Tokio workload can call. */
#include "cprof/cprof.h"

static cprof_node node(uint64_t handle) { return cprof_request("tokio", handle); }

void mark_begin(uint64_t handle) { cprof_begin(node(handle), "request"); }
void mark_end(uint64_t handle) { cprof_end(node(handle)); }
void mark_enter(uint64_t handle) { cprof_enter(node(handle)); }
void mark_leave(uint64_t handle) { cprof_leave(node(handle)); }
