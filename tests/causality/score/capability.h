// The committed table of what the hooks of each mechanism can see at all.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_CAPABILITY_H_
#define CPROF_TESTS_CAUSALITY_SCORE_CAPABILITY_H_

#include <istream>
#include <string>
#include <vector>

#include "format/result.h"
#include "tests/causality/score/verdict.h"

namespace cprof::causality {

// One row: mechanism, fault ("*": any), type of true edge ("*": any), what is seen, and why. Types
// are those of TrueTypeName, and "multishot": one of several completions of one operation.
class Capability {
 public:
  enum class Sight {
    kYes,
    kNo,         // no hook can tell it, or the rules forbid to join it
    kNoAdapter,  // a hook could, but cprof has no adapter for it yet
  };
  // Lines of five words separated by blanks, the last one the rest of the line; # begins a comment.
  static Result<Capability> Read(std::istream& input);

  // The row for this very fault wins over that for any, then that of this type over that for any.
  // Without a row: kYes, nothing is excused that nobody wrote down.
  Sight Of(const std::string& mechanism, const std::string& fault, std::string_view type) const;
  // Of the mechanism as a whole: what its row for any type says.
  bool HasAdapter(const std::string& mechanism, const std::string& fault) const;

 private:
  struct Row {
    std::string mechanism, fault, type, why;
    Sight sight = Sight::kYes;
  };
  std::vector<Row> rows_;
};

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_CAPABILITY_H_
