// Gathers what one recording says of its requests.
#include "report/diff_profile.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "report/request_ledger.h"
#include "report/wait_causes.h"

namespace cprof {
namespace {

constexpr const char* kOther = "[other]";
constexpr size_t kMaxNamed = 1 << 16;  // causes whose words are kept

class ProfileGatherer : public ReportSink {
 public:
  explicit ProfileGatherer(const StringTable& strings)
      : strings_(strings), ledger_([this](const RequestRecord& record) { Take(record); }) {}

  void OnHeader(const SessionHeader& header) override { profile_.coverage.SetHeader(header); }
  void OnStream(const StreamInfo& stream) override { profile_.coverage.AddStream(stream); }
  void OnFooter(const Footer& footer) override { profile_.coverage.SetFooter(footer); }
  void OnBreak(BreakId, const Break& lost) override { profile_.coverage.AddBreak(lost); }
  void OnSummary(const GraphSummary& summary) override { profile_.coverage.SetSummary(summary); }
  void OnNode(const Node& node) override { ledger_.OnNode(node); }
  void OnNodeEnd(const Node& node) override { ledger_.OnNodeEnd(node); }
  void OnThreadName(NodeId thread, const std::array<char, 16>& comm) override {
    ledger_.OnThreadName(thread, comm);
  }
  void OnEdge(const Edge& edge) override { ledger_.OnEdge(edge); }
  void OnState(const StateSpan& span) override { ledger_.OnState(span); }
  void OnCost(const Cost& cost) override { ledger_.OnCost(cost); }
  void OnRequestEnd(const RequestEnd& end) override { ledger_.OnRequestEnd(end); }
  void OnFinal(uint64_t final_ns) override {
    profile_.coverage.SetFinal(final_ns);
    ledger_.OnFinal(final_ns);
  }

  void OnSample(NodeId, NodeId, const StackSample&) override { ++profile_.samples; }

  DiffProfile Finish(const ReadSummary& read) {
    ledger_.Finish();
    for (const auto& [name, kind] : profile_.kinds) {
      (void)name;
      profile_.requests += kind.count();
      profile_.not_whole += kind.not_whole;
      profile_.wall_ns += kind.wall_sums.sum - StateSum(kind, WallState::kInChild);
      profile_.unknown_ns += StateSum(kind, WallState::kUnknown);
    }
    profile_.coverage.SetWall(profile_.wall_ns, profile_.unknown_ns);
    profile_.coverage.SetRead(read);
    return std::move(profile_);
  }

 private:
  struct Named {
    const CauseWords* words = nullptr;    // in words_
    std::optional<std::string> resource;  // where it was one
  };

  static uint64_t StateSum(const KindProfile& kind, WallState state) {
    return kind.state_ns[static_cast<size_t>(state)].sum;
  }

  KindProfile& KindOf(const Label& label) {
    std::string name;
    AppendLabelName(label, strings_, &name);
    auto& kinds = profile_.kinds;
    return kinds.size() >= DiffProfile::kMaxKinds && !kinds.contains(name) ? kinds[kOther]
                                                                           : kinds[name];
  }

  static void Halve(KindProfile* kind) {
    kind->wall_sums.Halve();
    kind->cpu_ns.Halve();
    for (BatchSums& sums : kind->state_ns) sums.Halve();
    for (auto& entry : kind->causes) entry.second.wait_ns.Halve();
    kind->other_causes_ns.Halve();
  }

  void Take(const RequestRecord& record) {
    KindProfile& kind = KindOf(record.label);
    if (!record.whole()) {
      ++kind.not_whole;
      return;
    }
    size_t batch = 0;
    if (kind.ruler.Next(&batch)) Halve(&kind);
    kind.wall_ns.Add(record.wall_ns());
    kind.wall_order.Add(record.wall_ns());
    kind.wall_sums.Add(batch, record.wall_ns());
    kind.cpu_ns.Add(batch, record.cpu_ns);
    kind.cpu_low_ns += record.cpu_low_ns;
    kind.cpu_high_ns += record.cpu_high_ns;
    std::array<uint64_t, kWallStateCount> states = record.state_ns;
    uint64_t explained_ns = 0;
    for (const uint64_t state_ns : states) explained_ns += state_ns;
    // What no span told is unknown; so the states add up whatever came before.
    if (explained_ns < record.wall_ns()) {
      states[static_cast<size_t>(WallState::kUnknown)] += record.wall_ns() - explained_ns;
    }
    for (size_t i = 0; i < states.size(); ++i) kind.state_ns[i].Add(batch, states[i]);
    TakeWaits(record, batch, &kind);
  }

  // The waits of one request by cause: a cause counts once for a request, so that its sums are
  // those of requests.
  void TakeWaits(const RequestRecord& record, size_t batch, KindProfile* kind) {
    waits_.clear();
    if (named_.size() >= kMaxNamed) {
      named_.clear();
      words_.clear();
    }
    for (const ExplainedSpan& span : record.spans) {
      if (!IsWaiting(span.state)) continue;
      ForEachWaitPiece(record, span, ledger_,
                       [this](const WaitCause& cause, uint64_t from_ns, uint64_t to_ns) {
                         const Named& named = NamedOf(cause);
                         Wait& wait = waits_[named.words];
                         wait.wait_ns += to_ns - from_ns;
                         if (named.resource) wait.resources[*named.resource] += to_ns - from_ns;
                       });
    }
    for (const auto& [known_words, wait] : waits_) {
      const CauseWords& words = *known_words;
      const auto found = kind->causes.find(words);
      if (found == kind->causes.end() && causes_ >= DiffProfile::kMaxCauses) {
        kind->other_causes_ns.Add(batch, wait.wait_ns);
        continue;
      }
      if (found == kind->causes.end()) ++causes_;
      CauseSums& sums = found == kind->causes.end() ? kind->causes[words] : found->second;
      sums.wait_ns.Add(batch, wait.wait_ns);
      for (const auto& [resource, wait_ns] : wait.resources) {
        const bool full = sums.resources.size() >= DiffProfile::kMaxResources &&
                          !sums.resources.contains(resource);
        if (!full) sums.resources[resource] += wait_ns;
      }
    }
  }

  // A cause in words; making them takes far longer than looking them up.
  const Named& NamedOf(const WaitCause& cause) {
    const auto found = named_.find(cause);
    if (found != named_.end()) return found->second;
    const bool resource = cause.peer.known && cause.peer.kind == NodeKind::kResource;
    CauseWords words;
    words.state = cause.state;
    if (resource && cause.peer.domain != 0) {
      words.peer = "resource ";
      words.peer += strings_.Get(cause.peer.domain);
    } else {
      AppendWaitedFor(cause, strings_, &words.peer);
    }
    AppendHolder(cause, strings_, &words.holder);
    Named named;
    named.words = &*words_.insert(std::move(words)).first;
    if (resource) AppendLabelName(cause.peer, strings_, &named.resource.emplace());
    return named_.emplace(cause, std::move(named)).first->second;
  }

  struct ByWords {
    bool operator()(const CauseWords* a, const CauseWords* b) const { return *a < *b; }
  };
  struct Wait {
    uint64_t wait_ns = 0;
    std::map<std::string, uint64_t> resources;
  };

  const StringTable& strings_;
  DiffProfile profile_;
  size_t causes_ = 0;
  std::unordered_map<WaitCause, Named, WaitCauseHash> named_;
  std::set<CauseWords> words_;
  std::map<const CauseWords*, Wait, ByWords> waits_;  // of one request
  RequestLedger ledger_;
};

class ProfileAndTree : public ProfileSink {
 public:
  ProfileAndTree(const StringTable& strings, const FlameFoldOptions& fold)
      : gatherer_(strings), folder_(MakeFlameFolder(fold, strings)) {
    Add(&gatherer_);
    Add(folder_.get());
  }
  DiffProfile Finish(const ReadSummary& read) override {
    DiffProfile profile = gatherer_.Finish(read);
    profile.tree = folder_->Fold();
    profile.tree_title = folder_->Title();
    profile.tree_unit = folder_->unit();
    profile.tree_counted = folder_->counted();
    return profile;
  }

 private:
  ProfileGatherer gatherer_;
  std::unique_ptr<FlameFolder> folder_;
};

}  // namespace

std::unique_ptr<ProfileSink> MakeProfileSink(const StringTable& strings,
                                             const FlameFoldOptions& fold) {
  return std::make_unique<ProfileAndTree>(strings, fold);
}

}  // namespace cprof
