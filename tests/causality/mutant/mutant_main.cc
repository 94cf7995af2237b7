// cprof_mutant RULE FILE: the graph text of a recording, by a joiner that lacks one of its rules.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "report/mutation.h"
#include "report/pipeline.h"
#include "report/render_graph.h"

namespace cprof {
namespace {

RemovableRule removed = RemovableRule::kNone;

constexpr std::array<std::pair<const char*, RemovableRule>, 6> kRules = {{
    {"none", RemovableRule::kNone},
    {"generation", RemovableRule::kGeneration},
    {"break", RemovableRule::kBreak},
    {"interrupt", RemovableRule::kInterrupt},
    {"binding_end", RemovableRule::kBindingEnd},
    {"ownership_flow", RemovableRule::kOwnershipFlow},
}};

int Run(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    std::perror(path);
    return EXIT_FAILURE;
  }
  const auto source = MakeFdSource(fd, path);
  const auto sink = MakeFdSink(STDOUT_FILENO, "standard output");
  StringTable strings;
  TextOutput out(*sink);
  const auto renderer = MakeGraphJsonRenderer(strings, out);
  const auto read = RunPipeline(*source, strings, {}, *renderer);
  close(fd);
  if (!read) {
    std::fprintf(stderr, "cprof_mutant: error: %s\n", read.error().message.c_str());
    return EXIT_FAILURE;
  }
  renderer->Finish(*read);
  return out.Finish() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

bool IsRuleRemoved(RemovableRule rule) { return rule == removed; }

}  // namespace cprof

int main(int argc, char** argv) {
  if (argc == 3) {
    for (const auto& [name, rule] : cprof::kRules) {
      if (std::strcmp(argv[1], name) != 0) continue;
      cprof::removed = rule;
      return cprof::Run(argv[2]);
    }
  }
  std::fputs("usage: cprof_mutant none", stderr);
  for (size_t i = 1; i < cprof::kRules.size(); ++i) {
    std::fprintf(stderr, "|%s", cprof::kRules[i].first);
  }
  std::fputs(" FILE\n", stderr);
  return 2;
}
