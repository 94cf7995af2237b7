// Reads both texts, then asks of each observed edge and binding whether a break touches it.
#include "tests/accounts/loss_rules.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <unordered_map>
#include <vector>

#include "tests/causality/score/graph_text.h"

namespace cprof::test {
namespace {

using causality::Graph;

struct LostSpan {
  std::string stream;
  uint64_t from_ns = 0, to_ns = 0, signature = 0, total = 0;
  std::map<std::string, uint64_t> lost;

  bool Lost(std::initializer_list<const char*> verbs) const {
    return std::any_of(verbs.begin(), verbs.end(),
                       [this](const char* verb) { return lost.contains(verb); });
  }
  bool Holds(uint64_t bits) const { return (signature & bits) == bits; }
};

struct ScriptText {
  std::vector<LostSpan> breaks;                                   // in the order of the text
  std::unordered_map<std::string, std::string> lines;             // "stream.sequence" -> the event
  std::map<std::string, uint64_t> events;                         // by stream
  std::map<std::string, std::pair<uint64_t, uint64_t>> counters;  // attempted, lost
  std::map<uint32_t, std::string> app_stream;                     // by tid
  std::vector<std::string> names;                                 // by stream id
};

// As in the wire's contract, which cprof-format(5) states.
uint64_t Bit(uint64_t key) { return uint64_t{1} << ((key * 0x9e3779b97f4a7c15U) >> 58); }

std::string Field(const std::string& line, const std::string& name) {
  const size_t at = line.find(" " + name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return line.substr(begin, line.find(' ', begin) - begin);
}

uint64_t Number(const std::string& text) {
  return text.empty() ? 0 : std::stoull(text, nullptr, 0);
}

void ReadBreak(const std::string& line, ScriptText* script) {
  LostSpan span;
  span.stream = Field(line, "stream");
  span.from_ns = Number(Field(line, "from_ns"));
  span.to_ns = Number(Field(line, "to_ns"));
  span.signature = Number(Field(line, "signature"));
  span.total = Number(Field(line, "total"));
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (!word.starts_with("lost=")) continue;
    const size_t colon = word.rfind(':');
    span.lost[word.substr(5, colon - 5)] += Number(word.substr(colon + 1));
  }
  script->breaks.push_back(std::move(span));
}

void ReadCounters(const std::string& line, ScriptText* script) {
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (!word.starts_with("count=")) continue;
    const size_t second = word.rfind(':'), first = word.rfind(':', second - 1);
    script->counters[word.substr(6, first - 6)] = {
        Number(word.substr(first + 1, second - first - 1)), Number(word.substr(second + 1))};
  }
}

ScriptText ReadScript(const std::string& path) {
  ScriptText script;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("!break")) {
      ReadBreak(line, &script);
    } else if (line.starts_with("!footer")) {
      ReadCounters(line, &script);
    } else if (line.starts_with("!stream")) {
      script.names.resize(std::max<size_t>(script.names.size(), Number(Field(line, "id")) + 1));
      script.names[Number(Field(line, "id"))] = Field(line, "name");
    } else if (!line.empty() && line[0] != '!' && line[0] != '#') {
      std::istringstream words(line);
      std::string time, name, thread, level, verb;
      words >> time >> name >> thread >> level >> verb;
      const std::string stream = name.substr(0, name.rfind('.'));
      ++script.events[stream];
      if (verb == "app:enter") {
        script.app_stream[static_cast<uint32_t>(Number(thread.substr(0, thread.find('/'))))] =
            stream;
      }
      if (verb == "io_uring:complete" || verb == "sched:switch") {
        script.lines[name] = line;
      }
    }
  }
  return script;
}

class Rules {
 public:
  Rules(const ScriptText& script, const Graph& graph) : script_(script), graph_(graph) {
    for (size_t i = 0; i < script.breaks.size(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      return script.breaks[a].from_ns < script.breaks[b].from_ns;
    });
    for (const size_t index : order_) {
      const uint64_t before = latest_.empty() ? 0 : latest_.back();
      latest_.push_back(std::max(before, script.breaks[index].to_ns));
    }
  }

  LossFindings Apply() {
    CountLosses();
    for (const auto& edge : graph_.edges) {
      if (edge.source != "kernel") continue;
      if (edge.type == "complete") Complete(edge);
      if (edge.type == "wake") Wake(edge);
    }
    for (const auto& binding : graph_.bindings) Binding(binding);
    Requests();
    for (const auto& orphan : graph_.orphans) {
      if (orphan.reason == "unexplained") ++found_.unexplained;
      if (orphan.reason == "in_coverage_break") ++found_.in_break;
    }
    return found_;
  }

 private:
  // Calls take with each break that meets [from_ns, to_ns].
  template <typename Take>
  void EachBreak(uint64_t from_ns, uint64_t to_ns, Take take) const {
    auto next = std::partition_point(order_.begin(), order_.end(), [&](size_t index) {
      return script_.breaks[index].from_ns <= to_ns;
    });
    while (next != order_.begin()) {
      --next;
      if (latest_[static_cast<size_t>(next - order_.begin())] < from_ns) return;
      if (script_.breaks[*next].to_ns >= from_ns) take(script_.breaks[*next]);
    }
  }

  void Violation(const std::string& text) {
    if (found_.first.empty()) found_.first = text;
  }

  std::string LineOf(const std::string& event) const {
    const size_t dot = event.rfind('.');
    if (dot == std::string::npos) return "";
    const uint64_t stream = Number(event.substr(0, dot));
    if (stream >= script_.names.size()) return "";
    const auto found = script_.lines.find(script_.names[stream] + event.substr(dot));
    return found == script_.lines.end() ? "" : found->second;
  }

  void CountLosses() {
    std::map<std::string, uint64_t> told;
    for (const LostSpan& span : script_.breaks) {
      uint64_t of_verbs = 0;
      for (const auto& [verb, count] : span.lost) of_verbs += count;
      if (of_verbs != span.total) Violation("a break's verbs do not add up: " + span.stream);
      if (of_verbs != span.total) ++found_.uneven_streams;
      told[span.stream] += span.total;
      found_.lost += span.total;
    }
    found_.breaks = script_.breaks.size();
    for (const auto& [stream, counter] : script_.counters) {
      const auto events = script_.events.find(stream);
      const uint64_t kept = events == script_.events.end() ? 0 : events->second;
      if (counter.first == kept + told[stream] && counter.second == told[stream]) continue;
      ++found_.uneven_streams;
      Violation(stream + ": attempted " + std::to_string(counter.first) + ", in the file " +
                std::to_string(kept) + ", lost by breaks " + std::to_string(told[stream]) +
                ", by counter " + std::to_string(counter.second));
    }
  }

  // A birth and an end of the same object and ring may both be lost inside the request's life.
  void Complete(const causality::GraphEdge& edge) {
    const causality::GraphNode* request = graph_.Find(edge.src);
    std::string line = LineOf(edge.src_event);
    if (line.empty()) line = LineOf(edge.dst_event);
    const uint64_t object = Number(Field(line, "req"));
    if (request == nullptr || request->kind != "io_request" || object == 0) return;
    const uint64_t bits = Bit(object) | Bit(Number(Field(line, "ring")));
    bool birth = false, end = false;
    EachBreak(request->born_ns, edge.src_time_ns, [&](const LostSpan& span) {
      birth |= span.Holds(bits) && span.Lost({"io_uring:submit"});
      end |= span.Holds(bits) && span.Lost({"io_uring:complete"});
    });
    Count(edge.confidence == "observed", birth && end, &found_.completes, &found_.touched_completes,
          line);
  }

  // A later waking of the wakee, or a coming and going of it, may be lost before its switch-in.
  void Wake(const causality::GraphEdge& edge) {
    const std::string line = LineOf(edge.dst_event);
    const std::string thread = Field(line, "thread");  // tid/tgid@start
    const size_t slash = thread.find('/'), at = thread.find('@');
    if (slash == std::string::npos || at == std::string::npos) return;
    const uint64_t tid = Number(thread.substr(0, slash));
    const uint64_t tgid = Number(thread.substr(slash + 1, at - slash - 1));
    const uint64_t bits = Bit(Number(thread.substr(at + 1))) | Bit(tid | tgid << 32);
    bool touched = false;
    EachBreak(edge.src_time_ns, edge.dst_time_ns, [&](const LostSpan& span) {
      touched |= span.Holds(bits) && span.Lost({"sched:waking", "sched:switch"});
    });
    Count(edge.confidence == "observed", touched, &found_.wakes, &found_.touched_wakes, line);
  }

  // On the thread's own ring an end of this binding, or an inner one, may be lost.
  void Binding(const causality::GraphBinding& binding) {
    const auto stream = script_.app_stream.find(graph_.TidOf(binding.thread));
    const causality::GraphNode* node = graph_.Find(binding.node);
    if (stream == script_.app_stream.end() || node == nullptr || node->kind != "request") return;
    bool touched = false;
    EachBreak(binding.from_ns + 1, binding.to_ns - 1, [&](const LostSpan& span) {
      touched |= span.stream == stream->second && span.Lost({"app:enter", "app:leave"});
    });
    Count(binding.confidence == "observed", touched, &found_.bindings, &found_.touched_bindings,
          "binding of thread " + std::to_string(binding.thread) + " from " +
              std::to_string(binding.from_ns));
  }

  void Count(bool is_observed, bool is_touched, uint64_t* seen, uint64_t* touched,
             const std::string& what) {
    if (!is_observed) {
      ++found_.doubted;
      return;
    }
    ++*seen;
    if (!is_touched) return;
    ++*touched;
    Violation("observed, but touched: " + what);
  }

  void Requests() {
    struct Sums {
      uint64_t all_ns = 0, unknown_ns = 0;
    };
    std::unordered_map<uint64_t, Sums> sums;
    for (const auto& state : graph_.states) {
      Sums& sum = sums[state.request];
      sum.all_ns += state.to_ns - state.from_ns;
      if (state.state == "unknown") sum.unknown_ns += state.to_ns - state.from_ns;
    }
    std::unordered_map<uint64_t, bool> doubted;
    for (const auto& binding : graph_.bindings) {
      if (binding.confidence != "observed") doubted[binding.node] = true;
    }
    for (const auto& owner : graph_.owners) {
      if (owner.confidence == "observed") continue;
      for (const uint64_t request : owner.requests) doubted[request] = true;
    }
    for (const auto& [id, sum] : sums) {
      const causality::GraphNode* node = graph_.Find(id);
      if (node == nullptr || node->kind != "request" || node->died_ns == 0) continue;
      ++found_.requests;
      if (sum.all_ns != node->died_ns - node->born_ns) {
        ++found_.uneven_requests;
        Violation("request " + std::to_string(id) + ": states do not add up");
      }
      bool touched = false;
      EachBreak(node->born_ns, node->died_ns, [&](const LostSpan& span) {
        touched |= span.stream.starts_with("app.") && span.Holds(Bit(node->handle)) &&
                   span.Lost({"app:enter", "app:leave", "app:edge"});
      });
      if (!touched) continue;
      ++found_.touched_requests;
      if (sum.unknown_ns == 0 && !doubted[id]) ++found_.unflagged_requests;
    }
  }

  const ScriptText& script_;
  const Graph& graph_;
  std::vector<size_t> order_;     // of breaks, by from_ns
  std::vector<uint64_t> latest_;  // greatest to_ns up to there
  LossFindings found_;
};

}  // namespace

LossFindings ApplyLossRules(const std::string& script_path, const std::string& graph_path) {
  const ScriptText script = ReadScript(script_path);
  std::ifstream file(graph_path);
  const auto graph = causality::ReadGraphText(file);
  if (!graph) {
    LossFindings failed;
    failed.uneven_streams = failed.unexplained = 1;
    failed.first = graph.error().message;
    return failed;
  }
  return Rules(script, *graph).Apply();
}

}  // namespace cprof::test
