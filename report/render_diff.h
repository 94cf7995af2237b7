// `cprof diff`: what changed between two recordings, the cause of it first.
#ifndef CPROF_REPORT_RENDER_DIFF_H_
#define CPROF_REPORT_RENDER_DIFF_H_

#include <string>
#include <vector>

#include "report/diff.h"

namespace cprof {

// Everything that either output is made of. The profiles outlive the call.
struct DiffView {
  std::string name_a, name_b;  // raw; the files
  const DiffProfile* a = nullptr;
  const DiffProfile* b = nullptr;
  std::vector<DiffConcern> concerns;
  Comparison comparison;
  size_t limit = 12;  // text: rows of a table beneath the first
};

// One sentence without an end about the largest certain change and why; printable.
void AppendDiffHeadline(const DiffView& view, std::string* out);
// The same of the largest certain change of waits for what somebody held: who held it can be
// changed, while waits for a queue or a CPU may come from whatever else the machine did. Nothing
// where there is none.
void AppendDiffHeldUp(const DiffView& view, std::string* out);
void AppendDiffText(const DiffView& view, std::string* out);
void AppendDiffJson(const DiffView& view, std::string* out);

// "one of 8 resources cache, held by ..., mostly shard-3"; raw.
void AppendCauseChangeWords(const CauseChange& cause, std::string* out);

}  // namespace cprof

#endif  // CPROF_REPORT_RENDER_DIFF_H_
