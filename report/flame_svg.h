// A fold tree as a self-contained SVG.
#ifndef CPROF_REPORT_FLAME_SVG_H_
#define CPROF_REPORT_FLAME_SVG_H_

#include <string>
#include <string_view>

#include "report/fold.h"
#include "report/text_output.h"

namespace cprof {

// Root at the bottom, siblings by name; hovering shows name, time and share. No script. Names are
// raw and cannot act as markup.
void WriteFlameSvg(const FoldTree& tree, std::string_view title, std::string_view subtitle,
                   TextOutput& out);

}  // namespace cprof

#endif  // CPROF_REPORT_FLAME_SVG_H_
