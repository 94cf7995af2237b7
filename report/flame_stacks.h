// Stacks of samples for flames: told apart by their addresses, named once at the end.
#ifndef CPROF_REPORT_FLAME_STACKS_H_
#define CPROF_REPORT_FLAME_STACKS_H_

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "report/fold.h"
#include "report/graph.h"
#include "report/symbols.h"

namespace cprof {

using StackIndex = uint32_t;

class FlameStacks {
 public:
  static constexpr size_t kMaxStacks = 1 << 19;  // told apart; further ones are "[other stacks]"

  void SetRecordingTime(uint64_t wall_ns) { symbolizer_.SetRecordingTime(wall_ns); }
  void AddMappings(std::span<const Mapping> mappings) { symbolizer_.AddMappings(mappings); }
  void AddKernelSymbols(std::span<const KernelSymbol> symbols) {
    symbolizer_.AddKernelSymbols(symbols);
  }

  StackIndex Add(const StackSample& sample);
  // What the sample stands for, in ns.
  static uint64_t Weight(const StackSample& sample);
  // The node of the stack's leaf, above `node`.
  FoldTree::NodeIndex Unfold(FoldTree* tree, FoldTree::NodeIndex node, StackIndex stack);

 private:
  static constexpr StackIndex kOther = ~StackIndex{0};

  struct RawStack {
    uint32_t tgid = 0;
    uint32_t epoch = 0;
    std::vector<uint64_t> user;  // leaf first
    std::vector<uint64_t> kernel;
    bool operator==(const RawStack&) const = default;
  };
  struct RawStackHash {
    size_t operator()(const RawStack& stack) const noexcept;
  };

  Symbolizer symbolizer_;
  std::vector<RawStack> stacks_;
  std::unordered_map<RawStack, StackIndex, RawStackHash> index_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_FLAME_STACKS_H_
