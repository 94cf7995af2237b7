// Recordings as text, one line a record: what `cprof script` prints and every command accepts back.
//
//   4414.907900032 edge.cpu0.17 41/40@9000 task io_uring:submit req=0x10 ring=0x20 user_data=0x2a
//
// The words are: time in seconds, stream.sequence, tid/tgid@start_ns of the executing thread,
// level, adapter:verb, then field=value. Field names come from adapters.def. Packed fields print as
// their parts: op, sqe_flags, fd; result (signed), cqe_flags; head, tail; from_kind, to_kind, edge
// (these three and kind are words: request, queue ...). "thread" fields print as
// thread=TID/TGID@START, comm as quoted text, names as name="..." domain="..." domain2="...". Zero
// fields are left out; numbers are hexadecimal with 0x or decimal; keys may have 128 bits.
// flags=0x.. where not 0. A field that the verb does not have is key=, key2=, arg= or arg2=; a verb
// of the future is verb:N.
//
// Lines that begin with '!' are the records that are no events:
//   !header session_id=HEX t0_ns=N wall_t0_ns=N cpus=N [raw_keys=1] [system_wide=1] target=TGID...
//           adapter="..."... name="..." value="..."...
//   !stream id=N name=edge.cpu0|context.cpu0|app.TGID.SLOT|recorder
//   !break stream=NAME|every reason=ring_full from_ns=N to_ns=N total=N signature=0x.
//          lost=adapter:verb:N... detail="..."
//   !mark final_ns=N count=STREAM:ATTEMPTED:LOST...
//   !map tgid=N time_ns=N start=0x. end=0x. offset=0x. path="..." build_id=HEX
//   !ksym offset=0x. name="..."
//   !sample EVENT p=0.5 user=0x.,0x. kernel=0x.,0x.
//   !footer end_ns=N final_ns=N count=...  name="..." value="..."...
// '#' begins a comment, blank lines are skipped. parse(print(x)) = x.
//
// For fixtures a time may also be "5ns", a thread just TID, and streams need no announcement. A
// text without !header is taken for a fixture: header (all adapters, t0 = 0), mark and footer are
// supplied.
#ifndef CPROF_REPORT_EVENT_TEXT_H_
#define CPROF_REPORT_EVENT_TEXT_H_

#include <memory>
#include <string>
#include <string_view>

#include "format/reader.h"
#include "format/result.h"

namespace cprof {

// Appends text to *out as it visits. `strings` outlives it.
std::unique_ptr<RecordingVisitor> MakeTextPrinter(const StringTable& strings, std::string* out);

// Parses a whole text recording from source. Errors name the line.
Result<ReadSummary> ReadTextRecording(ByteSource& source, StringTable& strings,
                                      RecordingVisitor& visitor);

// Reads a recording of either form: its first bytes say which.
Result<ReadSummary> ReadAnyRecording(ByteSource& source, StringTable& strings,
                                     RecordingVisitor& visitor);

}  // namespace cprof

#endif  // CPROF_REPORT_EVENT_TEXT_H_
