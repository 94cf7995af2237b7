// Opens what a command reads: a recording, binary or text, from a file or standard input.
#ifndef CPROF_CMD_INPUT_H_
#define CPROF_CMD_INPUT_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "format/reader.h"
#include "format/result.h"
#include "report/pipeline.h"

namespace cprof {

inline constexpr const char* kDefaultInput = "cprof.data";

struct Input {
  std::unique_ptr<ByteSource> source;  // owns what it reads from
  std::string name;                    // for messages: the path, or "standard input"
  bool is_text = false;                // the text of `cprof script`, by its first bytes
  // Device and inode of a regular file.
  std::optional<std::pair<dev_t, ino_t>> file;
};

// path "-" is standard input. A path that is neither a recording nor text of one is told when it is
// read. Errors: no such file, no permission, a directory, a terminal, nothing in it.
Result<Input> OpenInput(const std::string& path);

// How to run the pass line over it: in two threads where two CPUs may be used.
PipelineOptions LineOptions();

// Prints an error and its hint to standard error, as every command does.
void PrintError(const Error& error);
// As PrintError, with the name of the input before the message.
void PrintInputError(const Input& input, const Error& error);

// One line to standard error for each entry of the loss ledger; nothing where nothing was lost.
void PrintLosses(const Input& input, const ReadSummary& summary);

}  // namespace cprof

#endif  // CPROF_CMD_INPUT_H_
