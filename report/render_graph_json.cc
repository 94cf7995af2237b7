// The graph as newline-delimited JSON.
#include <array>
#include <map>
#include <string>
#include <unordered_map>

#include "report/io_uring_opcode.h"
#include "report/json_writer.h"
#include "report/node_table.h"
#include "report/render_graph.h"

namespace cprof {
namespace {

constexpr size_t kMaxStacks = 1 << 20;  // told apart; later ones get a line for each sample

std::string_view LevelName(Level level) {
  switch (level) {
    case Level::kTask: return "task";
    case Level::kSoftirq: return "softirq";
    case Level::kHardirq: return "hardirq";
    case Level::kNmi: return "nmi";
    case Level::kUnknown: break;
  }
  return "unknown";
}

std::string_view HalfName(Role half) { return half == Role::kTakeUp ? "take_up" : "hand_out"; }

// A verb's name where no other adapter has the same, else "adapter:name".
std::string VerbText(Verb verb) {
  const VerbInfo* info = FindVerb(verb);
  if (info == nullptr) return "verb_" + std::to_string(verb);
  for (const VerbInfo& other : AllVerbs()) {
    if (other.name == info->name && other.verb != verb) {
      return std::string(InfoOf(info->adapter).name) + ":" + std::string(info->name);
    }
  }
  return std::string(info->name);
}

class GraphJson : public GraphRenderer {
 public:
  GraphJson(const StringTable& strings, TextOutput& out) : strings_(strings), out_(out) {}

  void OnStream(const StreamInfo& stream) override { streams_[stream.id] = StreamName(stream); }
  void OnHeader(const SessionHeader& header) override;
  void OnNodeEnd(const Node& node) override;
  void OnEdge(const Edge& edge) override;
  void OnOrphan(const Orphan& orphan) override;
  void OnBreak(BreakId id, const Break& lost) override;
  void OnBinding(const Binding& binding) override;
  void OnOwner(const Owner& owner) override;
  void OnState(const StateSpan& span) override;
  void OnCost(const Cost& cost) override;
  void OnSample(NodeId node, NodeId thread, const StackSample& sample) override;
  void OnSummary(const GraphSummary& summary) override { summary_ = summary; }
  bool Finish(const ReadSummary& read) override;

 private:
  // A line, from { to newline.
  template <typename Fill>
  void Line(std::string_view kind, Fill fill) {
    JsonWriter json(&out_.text());
    json.BeginObject();
    json.Field("t", kind);
    fill(json);
    json.EndObject();
    out_.text() += '\n';
    out_.Drain();
  }

  int64_t Relative(uint64_t time_ns) const { return RelativeTo(t0_ns_, time_ns); }

  void Optional(JsonWriter& json, std::string_view name, NodeId node) const {
    json.Key(name);
    if (node == 0) {
      json.Null();
    } else {
      json.Number(node);
    }
  }

  void Rule(JsonWriter& json, const char* rule) const {
    json.Key("rule");
    if (rule == nullptr) {
      json.Null();
    } else {
      json.Text(rule);
    }
  }

  void Event(JsonWriter& json, std::string_view name, const EventRef& event) const {
    json.Key(name);
    std::string& text = out_.text();
    // Numbers need no escaping; this is the hot path.
    json.Raw("\"");
    AppendUnsigned(event.stream, &text);
    text += '.';
    AppendUnsigned(event.sequence, &text);
    text += '"';
  }

  void Attributes(JsonWriter& json, const Node& node) const;
  uint64_t StackId(const StackSample& sample);

  const StringTable& strings_;
  TextOutput& out_;
  uint64_t t0_ns_ = 0;
  std::map<StreamId, std::string> streams_;
  std::unordered_map<uint64_t, uint64_t> stacks_;  // by hash of the frames
  uint64_t last_stack_ = 0;
  GraphSummary summary_;
};

void GraphJson::OnHeader(const SessionHeader& header) {
  t0_ns_ = header.t0_ns;
  Line("header", [&](JsonWriter& json) {
    json.Field("version", 1);
    json.Field("t0_ns", std::to_string(header.t0_ns));
    std::string wall;
    AppendUtc(header.wall_t0_ns, &wall);
    json.Field("wall_t0", wall);
    json.Field("wall_t0_ns", std::to_string(header.wall_t0_ns));
    const auto list = [&](std::string_view name, std::string_view prefix) {
      json.Key(name);
      json.BeginArray();
      for (const auto& [key, value] : header.attributes) {
        if (!key.starts_with(prefix)) continue;
        json.BeginObject();
        json.Field("name", std::string_view(key).substr(prefix.size()));
        json.Field("value", value);
        json.EndObject();
      }
      json.EndArray();
    };
    list("hooks", "hook.");
    list("filters", "filter.");
    json.Key("budget");
    json.BeginObject();
    for (const auto& [key, value] : header.attributes) {
      if (key.starts_with("budget.")) json.Field(std::string_view(key).substr(7), value);
    }
    json.EndObject();
    json.Key("targets");
    json.BeginArray();
    for (const uint32_t tgid : header.target_tgids) json.Number(tgid);
    json.EndArray();
    json.Key("adapters");
    json.BeginArray();
    for (const std::string& adapter : header.adapters) json.Text(adapter);
    json.EndArray();
    json.Field("system_wide", header.system_wide);
  });
}

void GraphJson::OnNodeEnd(const Node& node) {
  Line("node", [&](JsonWriter& json) {
    json.Field("id", node.id);
    json.Field("kind", NodeKindName(node.kind));
    json.Field("scope", FormatScope(node.scope, strings_));
    json.Key("key");
    json.HexKey(node.key);
    json.Field("gen", node.generation);
    Label label = LabelOf(node);
    std::string text;
    AppendLabelName(label, strings_, &text);
    if (node.kind == NodeKind::kThread) text += "/" + std::to_string(node.attributes.thread.tid);
    json.Field("label", text);
    json.Field("born_ns", Relative(node.born_ns));
    json.Key("died_ns");
    if (node.end == NodeEnd::kOpen) {
      json.Null();
    } else {
      json.Number(Relative(node.died_ns));
    }
    json.Field("end", NodeEndName(node.end));
    json.Field("birth_seen", node.birth_seen);
    Optional(json, "birth_thread", node.birth_thread);
    Optional(json, "death_thread", node.death_thread);
    json.Key("attrs");
    json.BeginObject();
    Attributes(json, node);
    json.EndObject();
  });
}

void GraphJson::Attributes(JsonWriter& json, const Node& node) const {
  const NodeAttributes& attributes = node.attributes;
  switch (node.kind) {
    case NodeKind::kThread:
      json.Field("tid", attributes.thread.tid);
      json.Field("tgid", attributes.thread.tgid);
      json.Field("comm", CommText(attributes));
      json.Field("start_ns", std::to_string(attributes.thread.start_time_ns));
      return;
    case NodeKind::kIoRequest:
      json.Key("user_data");
      json.Hex(attributes.user_data);
      json.Key("opcode");
      if (node.birth_seen) {
        std::string name;
        AppendIoUringOpcode(attributes.opcode, &name);
        json.Text(name);
      } else {
        json.Null();
      }
      json.Key("result");
      if (attributes.has_result) {
        json.Number(attributes.result);
      } else {
        json.Null();
      }
      json.Field("tgid", attributes.tgid);
      return;
    case NodeKind::kRuntimeTask:
    case NodeKind::kResource:
    case NodeKind::kRequest:
      json.Key("id");
      json.HexKey(node.key);
      json.Field("name", strings_.Get(attributes.name));
      json.Field("domain", strings_.Get(attributes.domain));
      json.Field("tgid", attributes.tgid);
      return;
    default: return;
  }
}

void GraphJson::OnEdge(const Edge& edge) {
  Line("edge", [&](JsonWriter& json) {
    json.Field("id", edge.id);
    json.Field("type", EdgeTypeName(edge.type));
    json.Field("src", edge.src);
    json.Field("dst", edge.dst);
    json.Field("src_time_ns", Relative(edge.src_time_ns));
    json.Field("dst_time_ns", Relative(edge.dst_time_ns));
    Event(json, "src_event", edge.src_event);
    Event(json, "dst_event", edge.dst_event);
    Optional(json, "src_thread", edge.src_thread);
    Optional(json, "dst_thread", edge.dst_thread);
    json.Field("ctx", LevelName(edge.level));
    json.Field("source", SourceName(edge.source));
    json.Field("confidence", ConfidenceName(edge.confidence));
    Rule(json, edge.rule);
    json.Key("breaks");
    json.BeginArray();
    for (const BreakId id : edge.breaks) json.Number(id);
    json.EndArray();
    if (edge.wanted_ns != 0) json.Field("wanted_ns", Relative(edge.wanted_ns));
  });
}

void GraphJson::OnOrphan(const Orphan& orphan) {
  Line("orphan", [&](JsonWriter& json) {
    json.Field("id", orphan.id);
    json.Field("type", EdgeTypeName(orphan.type));
    json.Field("half", HalfName(orphan.half));
    Optional(json, "node", orphan.node);
    Event(json, "event", orphan.event);
    Optional(json, "thread", orphan.thread);
    json.Field("time_ns", Relative(orphan.time_ns));
    json.Field("reason", OrphanReasonName(orphan.reason));
    json.Field("proof", orphan.proof);
  });
}

void GraphJson::OnBreak(BreakId id, const Break& lost) {
  Line("break", [&](JsonWriter& json) {
    json.Field("id", id);
    const auto stream = streams_.find(lost.stream);
    json.Field("stream",
               stream == streams_.end() ? "stream" + std::to_string(lost.stream) : stream->second);
    json.Field("from_ns", Relative(lost.from_ns));
    json.Field("to_ns", Relative(lost.to_ns));
    json.Key("lost");
    json.BeginObject();
    for (const auto& [verb, count] : lost.lost) json.Field(VerbText(verb), count);
    json.EndObject();
    json.Key("signature");
    json.Hex(lost.signature);
    json.Field("reason", BreakReasonName(lost.reason));
    json.Field("total", lost.total);
    json.Field("detail", lost.detail);
  });
}

void GraphJson::OnBinding(const Binding& binding) {
  Line("binding", [&](JsonWriter& json) {
    json.Field("thread", binding.thread);
    Optional(json, "node", binding.node);
    json.Field("from_ns", Relative(binding.from_ns));
    json.Field("to_ns", Relative(binding.to_ns));
    json.Field("depth", binding.depth);
    json.Field("source", SourceName(binding.source));
    json.Field("confidence", ConfidenceName(binding.confidence));
  });
}

void GraphJson::OnOwner(const Owner& owner) {
  Line("owner", [&](JsonWriter& json) {
    json.Field("node", owner.node);
    json.Key("requests");
    json.BeginArray();
    for (const NodeId request : owner.requests) json.Number(request);
    json.EndArray();
    json.Field("from_ns", Relative(owner.from_ns));
    json.Field("to_ns", Relative(owner.to_ns));
    json.Field("source", SourceName(owner.source));
    json.Field("confidence", ConfidenceName(owner.confidence));
    Rule(json, owner.rule);
  });
}

void GraphJson::OnState(const StateSpan& span) {
  Line("state", [&](JsonWriter& json) {
    json.Field("request", span.request);
    json.Field("state", WallStateName(span.state));
    json.Field("from_ns", Relative(span.from_ns));
    json.Field("to_ns", Relative(span.to_ns));
    json.Key("edge");
    if (span.edge == 0) {
      json.Null();
    } else {
      json.Number(span.edge);
    }
    Optional(json, "node", span.node);
    Optional(json, "cause", span.cause);
    json.Field("confidence", ConfidenceName(span.confidence));
  });
}

void GraphJson::OnCost(const Cost& cost) {
  Line("cost", [&](JsonWriter& json) {
    json.Field("request", cost.request);
    json.Field("kind", cost.kind);
    json.Field("value", cost.value);
    json.Field("low", cost.low);
    json.Field("high", cost.high);
  });
}

uint64_t GraphJson::StackId(const StackSample& sample) {
  uint64_t hash = sample.event.tgid;
  for (const auto* frames : {&sample.user_frames, &sample.kernel_frames}) {
    hash = (hash ^ frames->size()) * 0x9e3779b97f4a7c15ULL;
    for (const uint64_t frame : *frames) {
      hash = (hash ^ (hash >> 29) ^ frame) * 0xbf58476d1ce4e5b9ULL;
    }
  }
  if (const auto found = stacks_.find(hash); found != stacks_.end()) return found->second;
  const uint64_t id = ++last_stack_;
  if (stacks_.size() < kMaxStacks) stacks_[hash] = id;
  Line("stack", [&](JsonWriter& json) {
    json.Field("id", id);
    json.Field("tgid", sample.event.tgid);
    const auto list = [&](std::string_view name, const std::vector<uint64_t>& frames) {
      json.Key(name);
      json.BeginArray();
      for (const uint64_t frame : frames) json.Hex(frame);
      json.EndArray();
    };
    list("user", sample.user_frames);
    list("kernel", sample.kernel_frames);
  });
  return id;
}

void GraphJson::OnSample(NodeId node, NodeId thread, const StackSample& sample) {
  const uint64_t stack = StackId(sample);
  Line("sample", [&](JsonWriter& json) {
    json.Field("node", node);
    Optional(json, "thread", thread);
    json.Field("time_ns", Relative(sample.event.time_ns));
    json.Field("stack", stack);
    json.Field("weight_ns", sample.event.arg);
    json.Key("p");
    json.Probability(sample.probability);
    json.Field("stratum", sample.event.verb == verbs::kSampleCpu ? "cpu" : "unknown");
  });
}

bool GraphJson::Finish(const ReadSummary& read) {
  Line("summary", [&](JsonWriter& json) {
    json.Field("events", summary_.events);
    json.Field("half_edges", summary_.half_edges);
    json.Field("joined", summary_.joined);
    json.Field("orphans", summary_.orphans);
    json.Field("lifecycle", summary_.lifecycle);
    json.Field("edges", summary_.edges);
    json.Field("breaks", summary_.breaks);
    json.Field("samples", summary_.samples);
    json.Field("edges_observed", summary_.edges_observed);
    json.Field("edges_reconstructed", summary_.edges_reconstructed);
    json.Field("edges_unknown", summary_.edges_unknown);
    json.Key("orphans_by_reason");
    json.BeginObject();
    for (size_t i = 0; i < summary_.orphans_by_reason.size(); ++i) {
      json.Field(OrphanReasonName(static_cast<OrphanReason>(i)), summary_.orphans_by_reason[i]);
    }
    json.EndObject();
    json.Field("clean_end", read.clean_end);
    json.Key("damage");
    json.BeginArray();
    for (const LossEntry& entry : read.losses) {
      json.BeginObject();
      json.Field("name", entry.name);
      json.Field("count", entry.count);
      json.Field("records", entry.records);
      json.Field("bytes", entry.bytes);
      json.EndObject();
    }
    json.EndArray();
  });
  return true;
}

}  // namespace

std::unique_ptr<GraphRenderer> MakeGraphJsonRenderer(const StringTable& strings, TextOutput& out) {
  return std::make_unique<GraphJson>(strings, out);
}

}  // namespace cprof
