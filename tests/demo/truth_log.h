// What the server measured of each request itself: one line each, and a summary.
#ifndef CPROF_TESTS_DEMO_TRUTH_LOG_H_
#define CPROF_TESTS_DEMO_TRUTH_LOG_H_

#include <string>
#include <vector>

#include "tests/demo/request.h"

namespace demo {

class TruthLog {
 public:
  void Add(const Request& request);
  size_t count() const { return lines_.size(); }
  // CSV: id,kind,begin_ns,end_ns,waited_ns,holders (ids, separated by semicolons).
  bool Write(const std::string& path) const;
  std::string Summary() const;

 private:
  struct Line {
    uint64_t id, begin_ns, end_ns, waited_ns;
    Kind kind;
    std::vector<uint64_t> holders;
  };
  std::vector<Line> lines_;
};

}  // namespace demo

#endif  // CPROF_TESTS_DEMO_TRUTH_LOG_H_
