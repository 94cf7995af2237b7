// Reads an oracle log into memory, trusting none of its counts.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_ORACLE_LOG_H_
#define CPROF_TESTS_CAUSALITY_SCORE_ORACLE_LOG_H_

#include <string>
#include <vector>

#include "format/result.h"
#include "tests/causality/oracle.h"

namespace cprof::causality {

// Records of the log in the file's order, unused ones left out. A file that is cut short, has
// another record size or an unknown kind of record is refused: a half truth scores nobody.
Result<std::vector<OracleRecord>> ReadOracleLog(const std::string& path);

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_ORACLE_LOG_H_
