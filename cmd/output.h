// Opens what a command writes: a file, or standard output.
#ifndef CPROF_CMD_OUTPUT_H_
#define CPROF_CMD_OUTPUT_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "format/result.h"
#include "format/writer.h"

namespace cprof {

struct Input;

// A ByteSink on a path; "-" and "" are standard output. Close says whether all of it arrived.
class Output {
 public:
  // Refuses to overwrite what is read, `second` too. mode: of a file that is made.
  static Result<std::unique_ptr<Output>> Open(const std::string& path, const Input& input,
                                              mode_t mode = 0666, const Input* second = nullptr);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  ByteSink& sink() { return *sink_; }
  Result<void> Close();

 private:
  Output(int fd, bool owned, std::string name);

  int fd_;
  bool owned_;
  std::string name_;
  std::unique_ptr<ByteSink> sink_;
};

// The exit code of a command that wrote to `output`: prints why it failed, but for a reader that
// went away.
int FinishOutput(Output& output, const Result<void>& written, int exit_code);

}  // namespace cprof

#endif  // CPROF_CMD_OUTPUT_H_
