// The file that a recording goes to: opened with care, appended to, cut at the last whole chunk.
#ifndef CPROF_RECORD_OUTPUT_H_
#define CPROF_RECORD_OUTPUT_H_

#include <atomic>
#include <memory>
#include <string>

#include "format/result.h"
#include "format/writer.h"

namespace cprof {

// Refuses early, before anything is loaded or moved, what OpenOutput would refuse: a terminal, a
// link, a directory, somebody else's file, a folder that cannot be written. "-" is standard output.
Result<void> CheckOutput(const std::string& path);

// An existing recording is kept as path.old. The new one is created 0600 and never through a link.
// A FIFO or a device is opened as it is.
//
// The sink takes whole chunks. Where one does not fit (disk full, file size limit) and the output
// is a regular file, what was written of it is cut off again. *refused outlives the sink and turns
// true when the system refuses a write.
Result<std::unique_ptr<ByteSink>> OpenOutput(const std::string& path, std::atomic<bool>* refused);

}  // namespace cprof

#endif  // CPROF_RECORD_OUTPUT_H_
