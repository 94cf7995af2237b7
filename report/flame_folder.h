// The folders of `cprof flame`, and what those that fold samples have in common.
#ifndef CPROF_REPORT_FLAME_FOLDER_H_
#define CPROF_REPORT_FLAME_FOLDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/flame_paths.h"
#include "report/flame_stacks.h"
#include "report/render_flame.h"

namespace cprof {

std::unique_ptr<FlameFolder> MakeRequestCpuFolder(const StringTable& strings);
std::unique_ptr<FlameFolder> MakeRequestWallFolder(FlameWeight weight, const StringTable& strings);
std::unique_ptr<FlameFolder> MakeThreadFolder(FlameWeight weight, const StringTable& strings);
std::unique_ptr<FlameFolder> MakeIoFolder(FlameWeight weight, const StringTable& strings);

// Samples of one group, by causal frames (the thread's label last) and stack.
struct SampleKey {
  uint32_t group = 0;
  FramesIndex frames = 0;
  StackIndex stack = 0;
  Confidence confidence = Confidence::kObserved;
  friend auto operator<=>(const SampleKey&, const SampleKey&) = default;
};
// An ordered map, so that the output is one too.
using GatheredSamples = std::map<SampleKey, uint64_t>;  // weight in ns

// Adds `amount` to node, of which `reconstructed` is that.
void AddPart(FoldTree* tree, FoldTree::NodeIndex node, uint64_t amount, uint64_t reconstructed);

FrameKind KindOfState(WallState state);
// "running", "io": the frame of a wall state above `node`.
FoldTree::NodeIndex StateFrame(FoldTree* tree, FoldTree::NodeIndex node, WallState state);

// A folder that takes samples.
class SampleFolder : public FlameFolder {
 public:
  SampleFolder(bool keep_history, const StringTable& strings)
      : strings_(strings), paths_(keep_history) {}

  void OnHeader(const SessionHeader& header) override {
    stacks_.SetRecordingTime(header.wall_t0_ns);
  }
  void OnMappings(std::span<const Mapping> mappings) override { stacks_.AddMappings(mappings); }
  void OnKernelSymbols(std::span<const KernelSymbol> symbols) override {
    stacks_.AddKernelSymbols(symbols);
  }
  void OnNode(const Node& node) override { paths_.OnNode(node); }
  void OnNodeEnd(const Node& node) override { paths_.OnNodeEnd(node); }
  void OnThreadName(NodeId thread, const std::array<char, 16>& comm) override {
    paths_.OnThreadName(thread, comm);
  }
  void OnEdge(const Edge& edge) override { paths_.OnEdge(edge); }
  void OnBindingStack(NodeId thread, uint64_t time_ns,
                      std::span<const OpenBinding> stack) override {
    paths_.OnBindingStack(thread, time_ns, stack);
  }

 protected:
  // The frames from `begin` to `end` of a list.
  FoldTree::NodeIndex Unfold(FoldTree* tree, FoldTree::NodeIndex node, FramesIndex frames) const;
  std::string SampleCount() const;  // "208 samples"

  const StringTable& strings_;
  FlamePaths paths_;
  FlameStacks stacks_;
  uint64_t samples_ = 0;
};

// One that sorts samples by kind of request once it is known whether the request was seen whole.
class RequestSampleFolder : public SampleFolder {
 public:
  using SampleFolder::SampleFolder;

  void OnNode(const Node& node) override;
  void OnRequestEnd(const RequestEnd& end) override;
  void OnSample(NodeId node, NodeId thread, const StackSample& sample) override;

 protected:
  static constexpr size_t kMaxGroups = 1 << 12;  // kinds of request; further ones share one
  static constexpr uint32_t kNobody = 0;

  struct Group {
    Label request;  // not known: no request
    bool whole = true;
    uint64_t exact_ns = 0;
    uint64_t certain_ns = 0;  // part of exact_ns
    bool has_exact = false;
  };

  uint32_t GroupOf(const Label& request, bool whole);
  FoldTree::NodeIndex GroupFrame(FoldTree* tree, const Group& group) const;
  // A request ended, all its samples are in.
  virtual void OnSettled(uint32_t /*group*/, const RequestEnd&) {}

  std::vector<Group> groups_{Group{}};
  GatheredSamples gathered_;

 private:
  struct Open {
    Label label;
    std::vector<std::pair<SampleKey, uint64_t>> samples;  // their group is still to be set
  };

  std::map<std::pair<Label, bool>, uint32_t> group_index_;
  std::unordered_map<NodeId, Open> open_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_FLAME_FOLDER_H_
