// What of the targets existed when the recorder armed: threads and io_urings, as events.
#ifndef CPROF_RECORD_ARMED_OBJECTS_H_
#define CPROF_RECORD_ARMED_OBJECTS_H_

#include <vector>

#include "format/event.h"
#include "format/result.h"

struct bpf_object;

namespace cprof {

// Runs the iterators of a loaded object (bpf/adapters/recorder.bpf.c), after the programs are
// attached and before the gate opens. The events are recorder:thread for each thread of a target
// and recorder:ring for each descriptor of an io_uring, executed by the process that holds it.
// Time, stream and sequence are left to the caller.
//
// A kernel that hides its symbols gives no rings; this is no error, and *rings_known says it.
Result<std::vector<Event>> ListArmedObjects(const bpf_object* object, bool* rings_known);

}  // namespace cprof

#endif  // CPROF_RECORD_ARMED_OBJECTS_H_
