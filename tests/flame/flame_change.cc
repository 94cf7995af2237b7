// Writes a flame of two weights to standard output, for the test in the browser.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "format/writer.h"
#include "report/flame_svg.h"

int main() {
  using cprof::FoldTree;
  constexpr uint64_t kMs = 1'000'000;
  const auto add = [](FoldTree* tree, const char* name, uint64_t amount_ms) {
    tree->Add(tree->Child(FoldTree::kRoot, cprof::FrameKind::kRequest, name), amount_ms * kMs);
  };
  FoldTree now, before;
  for (FoldTree* tree : {&now, &before}) add(tree, "same", 100);
  add(&now, "grew", 90);
  add(&before, "grew", 60);
  add(&now, "shrank", 10);
  add(&before, "shrank", 40);
  add(&now, "new", 30);
  add(&before, "gone", 20);
  now.AddBefore(before);
  std::string text;
  const auto sink = cprof::MakeStringSink(&text);
  cprof::TextOutput out(*sink);
  cprof::FlameSvgOptions options;
  options.title = "What changed";
  options.differential = true;
  cprof::WriteFlameSvg(now, options, out);
  if (!out.Finish()) return 1;
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
