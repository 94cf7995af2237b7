// Reads the graph text: see graph_text.h.
#include "tests/causality/score/graph_text.h"

#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace cprof::causality {
namespace {

using Json = nlohmann::json;

// Ids are numbers, or text: decimal or 0x..., as large as 128 bits; the low half identifies here.
uint64_t NumberOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return 0;
  if (found->is_number_unsigned() || found->is_number_integer()) return found->get<uint64_t>();
  if (!found->is_string()) return 0;
  const std::string& text = found->get_ref<const std::string&>();
  if (text.size() > 18 && text.starts_with("0x")) {
    return std::strtoull(text.substr(text.size() - 16).c_str(), nullptr, 16);
  }
  return std::strtoull(text.c_str(), nullptr, 0);
}

std::string TextOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return "";
  return found->get<std::string>();
}

class Parser {
 public:
  explicit Parser(Graph* graph) : graph_(*graph) {}

  // False where the line is not what its kind must be.
  bool Line(const std::string& line) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.is_object()) return false;
    const std::string kind = TextOf(json, "t");
    if (kind.empty()) return false;
    if (kind == "header") {
      graph_.t0_ns = t0_ns_ = NumberOf(json, "t0_ns");
      has_header_ = true;
      return true;
    }
    if (!has_header_) return false;
    if (kind == "node") return Node(json);
    if (kind == "edge") return Edge(json);
    if (kind == "orphan") return Orphan(json);
    if (kind == "binding") return Binding(json);
    if (kind == "owner") return Owner(json);
    if (kind == "state") return State(json);
    if (kind == "cost") return Cost(json);
    if (kind == "break") return Break(json);
    if (kind == "summary") Summary(json);
    return true;
  }

 private:
  uint64_t Time(const Json& json, const char* name) const {
    return json.contains(name) ? t0_ns_ + NumberOf(json, name) : 0;
  }

  bool Node(const Json& json) {
    const uint64_t id = NumberOf(json, "id");
    GraphNode node;
    node.kind = TextOf(json, "kind");
    node.born_ns = Time(json, "born_ns");
    const auto died = json.find("died_ns");
    if (died != json.end() && died->is_number()) node.died_ns = Time(json, "died_ns");
    node.end_seen = node.died_ns != 0 && TextOf(json, "end") == "observed";
    if (const auto attrs = json.find("attrs"); attrs != json.end() && attrs->is_object()) {
      node.tid = static_cast<uint32_t>(NumberOf(*attrs, "tid"));
      node.comm = TextOf(*attrs, "comm");
      node.handle = NumberOf(*attrs, "id");
      node.name = TextOf(*attrs, "name");
    }
    graph_.nodes[id] = std::move(node);
    return id != 0;
  }

  bool Edge(const Json& json) {
    GraphEdge edge;
    edge.type = TextOf(json, "type");
    edge.src = NumberOf(json, "src");
    edge.dst = NumberOf(json, "dst");
    edge.src_time_ns = Time(json, "src_time_ns");
    edge.dst_time_ns = Time(json, "dst_time_ns");
    edge.src_event = TextOf(json, "src_event");
    edge.dst_event = TextOf(json, "dst_event");
    edge.src_thread = NumberOf(json, "src_thread");
    edge.dst_thread = NumberOf(json, "dst_thread");
    edge.source = TextOf(json, "source");
    edge.confidence = TextOf(json, "confidence");
    edge.rule = TextOf(json, "rule");
    const bool whole = !edge.type.empty() && !edge.confidence.empty();
    graph_.edges.push_back(std::move(edge));
    return whole;
  }

  bool Orphan(const Json& json) {
    GraphOrphan orphan;
    orphan.type = TextOf(json, "type");
    orphan.half = TextOf(json, "half");
    orphan.event = TextOf(json, "event");
    orphan.reason = TextOf(json, "reason");
    orphan.proof = TextOf(json, "proof");
    orphan.node = NumberOf(json, "node");
    orphan.thread = NumberOf(json, "thread");
    orphan.time_ns = Time(json, "time_ns");
    const bool whole = !orphan.type.empty() && !orphan.reason.empty();
    graph_.orphans.push_back(std::move(orphan));
    return whole;
  }

  bool Binding(const Json& json) {
    GraphBinding binding{NumberOf(json, "thread"), NumberOf(json, "node"),
                         Time(json, "from_ns"),    Time(json, "to_ns"),
                         TextOf(json, "source"),   TextOf(json, "confidence")};
    const bool whole = binding.thread != 0 && binding.from_ns <= binding.to_ns;
    graph_.bindings.push_back(std::move(binding));
    return whole;
  }

  bool Owner(const Json& json) {
    GraphOwner owner;
    owner.node = NumberOf(json, "node");
    owner.from_ns = Time(json, "from_ns");
    owner.to_ns = Time(json, "to_ns");
    owner.source = TextOf(json, "source");
    owner.confidence = TextOf(json, "confidence");
    if (const auto found = json.find("requests"); found != json.end() && found->is_array()) {
      for (const Json& request : *found) {
        if (request.is_number()) owner.requests.push_back(request.get<uint64_t>());
      }
    }
    const bool whole = owner.node != 0 && owner.from_ns <= owner.to_ns;
    graph_.owners.push_back(std::move(owner));
    return whole;
  }

  bool State(const Json& json) {
    GraphState state{NumberOf(json, "request"), Time(json, "from_ns"), Time(json, "to_ns"),
                     TextOf(json, "state")};
    const bool whole = state.request != 0 && state.from_ns <= state.to_ns;
    graph_.states.push_back(std::move(state));
    return whole;
  }

  // A limit that is no number is none: a profiler that cannot say how sure it is, or that says
  // "anything".
  static double Amount(const Json& json, const char* name, double otherwise) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number() ? found->get<double>() : otherwise;
  }

  bool Cost(const Json& json) {
    GraphCost cost;
    cost.request = NumberOf(json, "request");
    cost.kind = TextOf(json, "kind");
    cost.value = Amount(json, "value", 0);
    cost.has_interval = json.contains("low") && json.contains("high");
    cost.low = Amount(json, "low", -std::numeric_limits<double>::infinity());
    cost.high = Amount(json, "high", std::numeric_limits<double>::infinity());
    const bool whole = cost.request != 0 && !cost.kind.empty() && json.contains("value");
    graph_.costs.push_back(std::move(cost));
    return whole;
  }

  bool Break(const Json& json) {
    GraphBreak lost;
    lost.stream = TextOf(json, "stream");
    lost.from_ns = Time(json, "from_ns");
    lost.to_ns = Time(json, "to_ns");
    lost.reason = TextOf(json, "reason");
    if (const auto verbs = json.find("lost"); verbs != json.end() && verbs->is_object()) {
      for (const auto& [verb, count] : verbs->items()) {
        if (count.is_number_unsigned()) lost.lost_count += count.get<uint64_t>();
      }
    }
    if (json.contains("total")) lost.lost_count = NumberOf(json, "total");
    const bool whole = lost.from_ns <= lost.to_ns;
    graph_.breaks.push_back(std::move(lost));
    return whole;
  }

  void Summary(const Json& json) {
    graph_.has_summary = true;
    for (const auto& [name, value] : json.items()) {
      if (value.is_number_unsigned()) graph_.summary[name] = value.get<uint64_t>();
    }
  }

  Graph& graph_;
  uint64_t t0_ns_ = 0;
  bool has_header_ = false;
};

}  // namespace

const std::string& ClassOf(const std::string& source, const std::string& confidence) {
  return source == "inferred" ? source : confidence;
}

const GraphNode* Graph::Find(uint64_t id) const {
  const auto found = nodes.find(id);
  return found == nodes.end() ? nullptr : &found->second;
}

uint32_t Graph::TidOf(uint64_t id) const {
  const GraphNode* node = Find(id);
  return node != nullptr && node->kind == "thread" ? node->tid : 0;
}

Result<Graph> ReadGraphText(std::istream& input) {
  Graph graph;
  Parser parser(&graph);
  std::string line;
  for (uint64_t number = 1; std::getline(input, line); ++number) {
    if (line.empty()) continue;
    if (!parser.Line(line)) {
      return Error{
          "line " + std::to_string(number) + " is no line of a graph: " + line.substr(0, 80), ""};
    }
  }
  return graph;
}

}  // namespace cprof::causality
