// A recording from its first check to its last byte.
#ifndef CPROF_RECORD_SESSION_H_
#define CPROF_RECORD_SESSION_H_

#include <optional>
#include <string>

#include "format/result.h"
#include "record/options.h"

namespace cprof {

// What the session is told beside the options, for the header.
struct SessionContext {
  std::string command_line;  // of cprof itself
  std::string cprof_version;
};

struct SessionOutcome {
  // The command's exit status, or 128 + its signal; 0 where there was no command.
  int exit_code = 0;
  // What ended the recording before its time: the output refused. What was written is readable.
  std::optional<Error> error;
};

// Records as options say until the targets or the command end, the time or the size is up, or
// SIGINT, SIGTERM or SIGHUP arrives; a second such signal drops what waits to be written. Progress
// and summary go to standard error. An error means that no recording was begun.
Result<SessionOutcome> RunSession(const RecordOptions& options, const SessionContext& context);

}  // namespace cprof

#endif  // CPROF_RECORD_SESSION_H_
