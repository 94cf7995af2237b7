// Two fold trees as one, with what each request of a kind had before and has now.
#ifndef CPROF_REPORT_DIFF_TREE_H_
#define CPROF_REPORT_DIFF_TREE_H_

#include <string>

#include "report/diff_profile.h"
#include "report/fold.h"

namespace cprof {

// How often a recording's part of a tree is to be counted so that both sides stand for as many
// requests: the mean of how many whole ones there were in A and in B. What no request owns is by
// all requests, and by time where one side has none.
class RequestScale {
 public:
  RequestScale(const DiffProfile& a, const DiffProfile& b) : a_(a), b_(b) {}

  // Of a frame beneath the root, by its name and kind: requests (or ns of recording) on a side, and
  // how many both are brought to. 0: there were none.
  double Own(const FoldTree::Node& top, bool is_b) const;
  double Both(const FoldTree::Node& top) const { return (Own(top, false) + Own(top, true)) / 2; }
  // Whether what no request owns is by time.
  bool ByTime() const { return a_.requests == 0 || b_.requests == 0; }

 private:
  const DiffProfile& a_;
  const DiffProfile& b_;
};

// The tree of B, with that of A as `before`, in the unit of both. Kinds of which neither side has a
// whole request are left out.
FoldTree MergePerRequest(const FoldTree& a, const FoldTree& b, const RequestScale& scale);

// The tree of both, as `cprof flame --diff` shows it; its subtitle says what was divided by what.
void WriteFlameDiff(const FlameOptions& options, const DiffProfile& a, const DiffProfile& b,
                    TextOutput& out);

}  // namespace cprof

#endif  // CPROF_REPORT_DIFF_TREE_H_
