// One of two recordings that are compared.
#ifndef CPROF_CMD_RECORDING_SIDE_H_
#define CPROF_CMD_RECORDING_SIDE_H_

#include <string>
#include <vector>

#include "cmd/input.h"
#include "report/diff.h"

namespace cprof {

struct RecordingSide {
  Input input;  // for messages; what it held is in the profile
  DiffProfile profile;
};

// Reads both, and prints what was lost in them. Returns an exit code; what is wrong was printed.
int ReadSides(const std::string& path_a, const std::string& path_b, const FlameFoldOptions& fold,
              RecordingSide* a, RecordingSide* b);

// False, and an error printed, where a concern is grave. `concerns` are in their order.
bool CheckFair(const RecordingSide& a, const RecordingSide& b,
               const std::vector<DiffConcern>& concerns);

}  // namespace cprof

#endif  // CPROF_CMD_RECORDING_SIDE_H_
