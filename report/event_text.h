// Recordings as text, one line a record: what `cprof script` prints and every command accepts back.
//
//   4414.907900032 edge.cpu0.17 41/40@9000 task io_uring:submit req=0x10 ring=0x20 user_data=0x2a
//   op=0x16 time_s         stream.seq   tid/tgid@start_ns level adapter:verb field=value ...
//
// Field names come from adapters.def. "thread" fields print as thread=TID/TGID@START, comm as a
// quoted string, names as name="..." domain="..." domain2="...". Zero fields are left out; numbers
// are hexadecimal with 0x or decimal. flags=0x.. where not 0. Lines that begin with '!' are the
// records that are no events (!header, !stream, !break, !mark, !map, !ksym, !sample, !footer);
// '#' begins a comment, blank lines are skipped. parse(print(x)) = x.
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

// Parses a whole text recording from source. A missing !header, !stream or !mark is supplied, so
// that fixtures can be bare event lines. Errors name the line.
Result<ReadSummary> ReadTextRecording(ByteSource& source, StringTable& strings,
                                      RecordingVisitor& visitor);

}  // namespace cprof

#endif  // CPROF_REPORT_EVENT_TEXT_H_
