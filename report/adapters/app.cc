// The app adapter: what programs tell with cprof.h. Nodes by (image, domain, kind, id, generation),
// bindings by enter and leave, and edges that are complete in themselves.
//
// An id names the life that is open. Where an id is begun again while it is open, two things have
// one name until as many ends as begins have come: what names it meanwhile is ambiguous, and both
// lives end as `superseded`. An id that was never begun is taken at first sight only where its
// begin can have been before the recording, and always for a resource, which needs no begin.
//
// Own rings lose events too. Where an end and a begin of an id may both have been lost since a life
// began, what is named by it now may be another one: nothing is joined to that life any more, and
// it ends as `superseded`. There is no attribute that could confirm it. From the first lost time
// on, what the threads of that ring are bound to is unknown, until they enter anew after the last.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/adapters/adapter.h"
#include "report/adapters/app_io.h"
#include "report/adapters/app_lives.h"
#include "report/binding.h"
#include "report/node_map.h"

namespace cprof {
namespace {

using app::AppKey;
using app::Life;

constexpr Verb kBindingVerbs[] = {verbs::kAppEnter, verbs::kAppLeave, verbs::kAppBegin,
                                  verbs::kAppEnd};
constexpr Verb kBeginVerbs[] = {verbs::kAppBegin};
constexpr Verb kEndVerbs[] = {verbs::kAppEnd};

bool IsKind(uint64_t kind) {
  return kind >= static_cast<uint64_t>(AppKind::kRequest) &&
         kind <= static_cast<uint64_t>(AppKind::kIo);
}

bool IsEdgeType(uint64_t type) {
  return type >= static_cast<uint64_t>(EdgeType::kSubmit) &&
         type <= static_cast<uint64_t>(EdgeType::kReceive);
}

const char* KindText(AppKind kind) {
  switch (kind) {
    case AppKind::kTask: return "task ";
    case AppKind::kResource: return "resource ";
    case AppKind::kIo: return "io ";
    default: return "request ";
  }
}

class AppAdapter : public JoinAdapter {
 public:
  explicit AppAdapter(JoinContext& context)
      : context_(context),
        lives_(context),
        io_(context),
        bindings_(context.sink()),
        binding_verbs_(MakeVerbSet(kBindingVerbs)),
        begin_verbs_(MakeVerbSet(kBeginVerbs)),
        end_verbs_(MakeVerbSet(kEndVerbs)) {
    context_.WatchIoRequests(this);
  }

  void Apply(const Event& event) override;
  void OnBreak(BreakId id, const Break& lost) override;
  void OnTime(uint64_t time_ns) override { ApplyDoubts(time_ns); }
  void OnFinal(uint64_t final_ns) override { ApplyDoubts(final_ns); }
  void Finish(uint64_t end_ns) override;
  void OnExec(ThreadRecord& before, ThreadRecord& after, uint64_t time_ns) override;
  void OnThreadExit(ThreadRecord& thread, uint64_t time_ns) override { Part(thread, time_ns); }
  void OnThreadGone(ThreadRecord& thread) override {
    Part(thread, thread.exited ? thread.exit_ns : last_ns_);
  }
  void OnIoRequest(const IoRequestView& view) override { io_.OnIoRequest(view); }

 private:
  // A node that an event names.
  struct Named {
    NodeId node = 0;
    NodeId rival = 0;  // ambiguous: it may also be this one
    AppKey key;
  };
  struct Doubt {
    uint64_t from_ns = 0;
    uint64_t to_ns = 0;
    StreamId stream = 0;
    uint32_t tgid = 0;  // 0: of every process
  };

  AppKey KeyOf(ThreadRecord& thread, uint64_t kind, StringId domain, const Key& id) const;
  Named Resolve(ThreadRecord& thread, const AppKey& key, const Event& event);
  bool MayPredate(ThreadRecord& thread) const;
  Life* FindUntouched(const AppKey& key, uint64_t time_ns);
  void Begin(ThreadRecord& thread, const AppKey& key, const Event& event);
  void End(ThreadRecord& thread, const AppKey& key, const Event& event);
  void EndLife(const AppKey& key, uint64_t time_ns, NodeId thread, NodeEnd end);
  void EdgeBetween(ThreadRecord& thread, const Event& event);
  void NameIo(ThreadRecord& thread, const Event& event, EdgeType type, bool from_io);
  void AddOrphan(const Event& event, EdgeType type, NodeId node, NodeId thread, OrphanReason reason,
                 std::string proof);
  void OrphanUnnamed(const Event& event, EdgeType type, NodeId thread, const Named& named);
  void ApplyDoubts(uint64_t before_ns);
  bool MayLoseLeave(const Event& enter) const;
  void Part(ThreadRecord& thread, uint64_t time_ns);
  static uint64_t TagOf(const AppKey& key) { return app::AppKeyHash{}(key) | 1; }

  JoinContext& context_;
  app::LifeTable lives_;
  app::IoReferences io_;
  BindingTable bindings_;
  const VerbSet binding_verbs_;
  const VerbSet begin_verbs_;
  const VerbSet end_verbs_;
  struct Stream {
    StreamId id = 0;
    void Clear() {}
  };
  NodeMap<Stream> streams_;                      // the ring of each thread that has told something
  std::vector<Doubt> doubts_;                    // to come, by from_ns
  std::map<StreamId, uint64_t> doubtful_until_;  // last lost time of those that have come
  uint64_t last_ns_ = 0;
};

AppKey AppAdapter::KeyOf(ThreadRecord& thread, uint64_t kind, StringId domain,
                         const Key& id) const {
  return {context_.ImageScope(thread, domain), static_cast<AppKind>(kind), id};
}

// Whether the process image can have told something before the recording began.
bool AppAdapter::MayPredate(ThreadRecord& thread) const {
  if (context_.threads().ImageOf(thread.key.tgid) != 0) return false;
  const ThreadRecord* leader = context_.threads().FindByTid(thread.key.tgid);
  return leader == nullptr || !leader->birth_seen;
}

void AppAdapter::Apply(const Event& event) {
  last_ns_ = std::max(last_ns_, event.time_ns);
  ApplyDoubts(event.time_ns);
  // The ring itself is announced by the kernel's side; what it says counts for the recorder.
  if (event.verb == verbs::kAppRing) return;
  ThreadRecord& thread = context_.Current(event);
  const NodeId node = context_.NodeOf(thread);
  streams_.FindOrAdd(node).id = event.stream;
  io_.Follow(event.tgid);
  if (event.verb == verbs::kAppEdge) {
    EdgeBetween(thread, event);
    return;
  }
  if (!IsKind(event.arg) || event.arg == static_cast<uint64_t>(AppKind::kIo)) return;
  const AppKey key = KeyOf(thread, event.arg, event.domain, event.key);
  switch (event.verb) {
    case verbs::kAppBegin: Begin(thread, key, event); break;
    case verbs::kAppEnd: End(thread, key, event); break;
    case verbs::kAppEnter: {
      const Named named = Resolve(thread, key, event);
      if (named.node != 0 && named.rival == 0) {
        bindings_.Enter(node, named.node, event.time_ns, Source::kApplication,
                        MayLoseLeave(event) ? Confidence::kUnknown : Confidence::kObserved);
      } else {
        bindings_.EnterUnknown(node, TagOf(key), event.time_ns);
      }
      break;
    }
    case verbs::kAppLeave: {
      const Life* life = lives_.Find(key);
      const bool left = life != nullptr && bindings_.Leave(node, life->node, event.time_ns);
      if (!left) bindings_.LeaveUnknown(node, TagOf(key), event.time_ns);
      break;
    }
    default: break;
  }
  if (const AppKey* excess = lives_.Excess()) {
    EndLife(AppKey(*excess), event.time_ns, 0, NodeEnd::kEvicted);
  }
}

// The open life of an id, or null where there is none, or none that is certain; that one ends here.
Life* AppAdapter::FindUntouched(const AppKey& key, uint64_t time_ns) {
  Life* life = lives_.Find(key);
  const BreakTable& breaks = context_.breaks();
  if (life == nullptr || !breaks.MayOverlap(life->checked_ns, time_ns)) return life;
  const uint64_t signature = SignatureBit(key.id.lo);
  life->end_lost |=
      breaks.LostIn(key.scope.a, life->checked_ns, time_ns, end_verbs_, signature).any;
  life->begin_lost |=
      breaks.LostIn(key.scope.a, life->checked_ns, time_ns, begin_verbs_, signature).any;
  life->checked_ns = time_ns;
  if (!life->end_lost || !life->begin_lost) return life;
  bindings_.LoseNode(life->node, TagOf(key), time_ns);
  lives_.End(key, time_ns, 0, NodeEnd::kSuperseded);
  return nullptr;
}

AppAdapter::Named AppAdapter::Resolve(ThreadRecord& thread, const AppKey& key, const Event& event) {
  Named named;
  named.key = key;
  if (const Life* life = FindUntouched(key, event.time_ns)) {
    named.node = life->node;
    named.rival = life->contested ? life->rival : 0;
    return named;
  }
  if (key.kind == AppKind::kResource || MayPredate(thread)) {
    named.node = lives_.Begin(key, event.time_ns, 0, 0, false).node;
  }
  return named;
}

void AppAdapter::EndLife(const AppKey& key, uint64_t time_ns, NodeId thread, NodeEnd end) {
  const Life* life = lives_.Find(key);
  if (life == nullptr) return;
  bindings_.EndNode(life->node, time_ns);
  lives_.End(key, time_ns, thread, end);
}

void AppAdapter::Begin(ThreadRecord& thread, const AppKey& key, const Event& event) {
  uint32_t open = 1;
  NodeId rival = 0;
  if (const Life* life = lives_.Find(key)) {
    // A resource that was seen before it was begun: one life all the same.
    if (key.kind == AppKind::kResource && !life->birth_seen) return;
    const Loss loss = context_.breaks().LostIn(key.scope.a, life->born_ns, event.time_ns,
                                               end_verbs_, SignatureBit(key.id.lo));
    if (!loss.any) {
      open = life->open + 1;
      rival = life->node;
    }
    bindings_.LoseNode(life->node, TagOf(key), event.time_ns);
    lives_.End(key, event.time_ns, 0, NodeEnd::kSuperseded);
  }
  Life& life = lives_.Begin(key, event.time_ns, context_.NodeOf(thread), event.name, true);
  life.open = open;
  life.contested = open > 1;
  life.rival = rival;
}

void AppAdapter::End(ThreadRecord& thread, const AppKey& key, const Event& event) {
  Life* life = FindUntouched(key, event.time_ns);
  if (life == nullptr) return;
  if (life->open > 1) {
    --life->open;
    return;
  }
  const NodeEnd end = life->contested ? NodeEnd::kSuperseded : NodeEnd::kObserved;
  EndLife(key, event.time_ns, context_.NodeOf(thread), end);
}

void AppAdapter::AddOrphan(const Event& event, EdgeType type, NodeId node, NodeId thread,
                           OrphanReason reason, std::string proof) {
  Orphan orphan;
  orphan.type = type;
  orphan.half = Role::kHandOut;
  orphan.node = node;
  orphan.thread = thread;
  orphan.event = {event.stream, event.sequence};
  orphan.time_ns = event.time_ns;
  orphan.reason = reason;
  orphan.proof = std::move(proof);
  context_.AddOrphan(&orphan);
}

// One end of the edge is no node that can be told.
void AppAdapter::OrphanUnnamed(const Event& event, EdgeType type, NodeId thread,
                               const Named& named) {
  std::string what = KindText(named.key.kind);
  if (named.key.id.hi != 0) what += std::to_string(named.key.id.hi) + ":";
  what += std::to_string(named.key.id.lo);
  if (named.node != 0) {
    AddOrphan(event, type, 0, thread, OrphanReason::kAmbiguous,
              what + " was begun again while it was open: node " + std::to_string(named.rival) +
                  ", node " + std::to_string(named.node));
    return;
  }
  const Loss loss =
      context_.breaks().LostIn(named.key.scope.a, context_.header().t0_ns, event.time_ns,
                               begin_verbs_, SignatureBit(named.key.id.lo));
  if (loss.any) {
    AddOrphan(event, type, 0, thread, OrphanReason::kInCoverageBreak, BreakNames(loss.breaks));
  } else {
    AddOrphan(event, type, 0, thread, OrphanReason::kPeerNotRecorded,
              what + " is not open in this process image");
  }
}

void AppAdapter::EdgeBetween(ThreadRecord& thread, const Event& event) {
  const uint64_t from_kind = event.arg & 0xff;
  const uint64_t to_kind = (event.arg >> 8) & 0xff;
  const uint64_t raw_type = (event.arg >> 16) & 0xff;
  const NodeId thread_node = context_.NodeOf(thread);
  const bool valid = IsKind(from_kind) && IsKind(to_kind) && IsEdgeType(raw_type);
  const EdgeType type = valid ? static_cast<EdgeType>(raw_type) : EdgeType::kSubmit;
  const bool from_io = from_kind == static_cast<uint64_t>(AppKind::kIo);
  const bool to_io = to_kind == static_cast<uint64_t>(AppKind::kIo);
  if (!valid || (from_io && to_io)) {
    AddOrphan(event, type, 0, thread_node, OrphanReason::kPeerNotRecorded,
              "an edge of type " + std::to_string(raw_type) + " from kind " +
                  std::to_string(from_kind) + " to kind " + std::to_string(to_kind) +
                  " names no two nodes");
    return;
  }
  if (from_io || to_io) {
    NameIo(thread, event, type, from_io);
    return;
  }
  const Named from = Resolve(thread, KeyOf(thread, from_kind, event.domain, event.key), event);
  const Named to = Resolve(thread, KeyOf(thread, to_kind, event.domain2, event.key2), event);
  for (const Named* end : {&from, &to}) {
    if (end->node != 0 && end->rival == 0) continue;
    OrphanUnnamed(event, type, thread_node, *end);
    return;
  }
  Edge edge;
  edge.type = type;
  edge.src = from.node;
  edge.dst = to.node;
  edge.src_time_ns = edge.dst_time_ns = event.time_ns;
  edge.src_event = edge.dst_event = {event.stream, event.sequence};
  edge.src_thread = edge.dst_thread = thread_node;
  edge.source = Source::kApplication;
  if (type == EdgeType::kAcquire && event.arg2 < event.time_ns) edge.wanted_ns = event.arg2;
  context_.CountJoined(1);
  context_.AddEdge(&edge);
}

void AppAdapter::NameIo(ThreadRecord& thread, const Event& event, EdgeType type, bool from_io) {
  const Key& io = from_io ? event.key : event.key2;
  const Named named =
      from_io ? Resolve(thread, KeyOf(thread, (event.arg >> 8) & 0xff, event.domain2, event.key2),
                        event)
              : Resolve(thread, KeyOf(thread, event.arg & 0xff, event.domain, event.key), event);
  const NodeId thread_node = context_.NodeOf(thread);
  if (named.node == 0 || named.rival != 0) {
    OrphanUnnamed(event, type, thread_node, named);
    return;
  }
  app::IoReference reference;
  reference.type = type;
  reference.node = named.node;
  reference.thread = thread_node;
  reference.event = {event.stream, event.sequence};
  reference.time_ns = event.time_ns;
  reference.tgid = event.tgid;
  reference.fd = static_cast<uint32_t>(io.hi);
  reference.user_data = io.lo;
  if (from_io) {
    io_.NameResume(reference);
  } else {
    io_.NameSubmit(reference);
  }
}

void AppAdapter::OnBreak(BreakId, const Break& lost) {
  Doubt doubt;
  doubt.from_ns = lost.from_ns;
  doubt.to_ns = lost.to_ns;
  doubt.stream = lost.stream;
  if (lost.stream != kEveryStream) {
    const StreamInfo* stream = context_.StreamOf(lost.stream);
    if (stream == nullptr || stream->kind != StreamKind::kApp) return;
    doubt.tgid = stream->tgid;
  }
  const bool binds = lost.lost.empty() ||
                     std::any_of(lost.lost.begin(), lost.lost.end(), [this](const auto& entry) {
                       return entry.first < kVerbCount && binding_verbs_.test(entry.first);
                     });
  if (!binds) return;
  doubts_.insert(
      std::upper_bound(doubts_.begin(), doubts_.end(), doubt,
                       [](const Doubt& a, const Doubt& b) { return a.from_ns < b.from_ns; }),
      doubt);
  context_.CallAt(doubt.from_ns);
}

// Breaks are told before the events around them; each takes effect at its first lost time.
void AppAdapter::ApplyDoubts(uint64_t before_ns) {
  size_t applied = 0;
  for (; applied < doubts_.size() && doubts_[applied].from_ns <= before_ns; ++applied) {
    const Doubt& doubt = doubts_[applied];
    uint64_t& until_ns = doubtful_until_[doubt.stream];
    until_ns = std::max(until_ns, doubt.to_ns);
    for (ThreadRecord* thread : context_.threads().Sorted()) {
      if (thread->node == 0 || (doubt.tgid != 0 && thread->key.tgid != doubt.tgid)) continue;
      // A thread that has told nothing yet may have lost all it told on that ring.
      const Stream* stream = streams_.Find(thread->node);
      const bool own =
          doubt.stream == kEveryStream || stream == nullptr || stream->id == doubt.stream;
      if (own) bindings_.Doubt(thread->node, doubt.from_ns);
    }
  }
  doubts_.erase(doubts_.begin(), doubts_.begin() + static_cast<ptrdiff_t>(applied));
  if (!doubts_.empty()) context_.CallAt(doubts_.front().from_ns);
}

// Some events between a break's first and last lost time may have been kept: the leave of this
// enter need not be among them.
bool AppAdapter::MayLoseLeave(const Event& enter) const {
  for (const StreamId stream : {enter.stream, kEveryStream}) {
    const auto found = doubtful_until_.find(stream);
    if (found != doubtful_until_.end() && enter.time_ns <= found->second) return true;
  }
  return false;
}

void AppAdapter::Part(ThreadRecord& thread, uint64_t time_ns) {
  if (thread.node == 0) return;
  bindings_.EndThread(thread.node, time_ns);
  streams_.Erase(thread.node);
}

void AppAdapter::OnExec(ThreadRecord& before, ThreadRecord& after, uint64_t time_ns) {
  last_ns_ = std::max(last_ns_, time_ns);
  ApplyDoubts(time_ns);
  Part(before, time_ns);
  Part(after, time_ns);
  const uint32_t tgid = after.key.tgid;
  io_.EndProcess(tgid);
  for (const AppKey& key : lives_.OfProcess(tgid)) {
    EndLife(key, time_ns, 0, NodeEnd::kSuperseded);
  }
}

void AppAdapter::Finish(uint64_t end_ns) {
  ApplyDoubts(end_ns);
  bindings_.Finish(end_ns);
  io_.Finish();
  for (const AppKey& key : lives_.All()) lives_.End(key, end_ns, 0, NodeEnd::kOpen);
}

}  // namespace

std::unique_ptr<JoinAdapter> MakeAppAdapter(JoinContext& context) {
  return std::make_unique<AppAdapter>(context);
}

}  // namespace cprof
