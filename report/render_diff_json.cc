// `cprof diff --format json`: every figure, in ns per request.
#include <cmath>

#include "report/json_writer.h"
#include "report/render_diff.h"

namespace cprof {
namespace {

// Whole ns; null where the sample says nothing.
void WriteNs(std::string_view name, double value_ns, JsonWriter* json) {
  json->Key(name);
  if (std::isfinite(value_ns) && std::abs(value_ns) < 9e18) {
    json->Number(static_cast<int64_t>(std::llround(value_ns)));
  } else {
    json->Null();
  }
}

void WriteEstimate(std::string_view name, const Estimate& estimate, JsonWriter* json) {
  json->Key(name);
  json->BeginObject();
  WriteNs("value_ns", estimate.value, json);
  WriteNs("low_ns", estimate.low, json);
  WriteNs("high_ns", estimate.high, json);
  json->EndObject();
}

// The members of an object that is open.
void WriteChange(const Change& change, JsonWriter* json) {
  WriteEstimate("a", change.a, json);
  WriteEstimate("b", change.b, json);
  WriteEstimate("change", change.difference, json);
  json->Field("verdict", DiffVerdictName(change.verdict));
  WriteNs("impact_ns", change.impact_ns, json);
}

void WriteNamedChange(std::string_view name, const Change& change, JsonWriter* json) {
  json->Key(name);
  json->BeginObject();
  WriteChange(change, json);
  json->EndObject();
}

void WriteSide(std::string_view key, const std::string& name, const DiffProfile& profile,
               JsonWriter* json) {
  json->Key(key);
  json->BeginObject();
  json->Field("name", name);
  json->Field("requests", profile.requests);
  json->Field("not_whole", profile.not_whole);
  json->Field("samples", profile.samples);
  profile.coverage.WriteJson(json);
  json->EndObject();
}

void WriteKind(const KindChange& kind, JsonWriter* json) {
  json->BeginObject();
  json->Field("request", kind.kind);
  json->Field("count_a", kind.count_a);
  json->Field("count_b", kind.count_b);
  WriteNamedChange("mean", kind.mean, json);
  WriteNamedChange("p50", kind.p50, json);
  WriteNamedChange("p99", kind.p99, json);
  WriteNamedChange("cpu", kind.cpu, json);
  json->Key("states");
  json->BeginObject();
  for (size_t i = 0; i < kind.states.size(); ++i) {
    const Change& change = kind.states[i];
    if (change.a.value <= 0 && change.b.value <= 0) continue;
    WriteNamedChange(WallStateName(static_cast<WallState>(i)), change, json);
  }
  json->EndObject();
  json->EndObject();
}

}  // namespace

void AppendDiffJson(const DiffView& view, std::string* out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Field("version", 1);
  std::string cause;
  AppendDiffHeadline(view, &cause);
  json.Field("cause", cause);
  std::string held_up;
  AppendDiffHeldUp(view, &held_up);
  json.Field("held_up", held_up);
  WriteSide("a", view.name_a, *view.a, &json);
  WriteSide("b", view.name_b, *view.b, &json);
  json.Key("concerns");
  json.BeginArray();
  for (const DiffConcern& concern : view.concerns) {
    json.BeginObject();
    json.Field("grave", concern.grave);
    json.Field("text", concern.text);
    json.EndObject();
  }
  json.EndArray();
  json.Key("requests");
  json.BeginArray();
  for (const KindChange& kind : view.comparison.kinds) WriteKind(kind, &json);
  json.EndArray();
  json.Key("causes");
  json.BeginArray();
  for (const CauseChange& cause_change : view.comparison.causes) {
    json.BeginObject();
    json.Field("request", cause_change.kind);
    json.Field("state", WallStateName(cause_change.words.state));
    std::string words;
    AppendCauseChangeWords(cause_change, &words);
    json.Field("cause", words);
    WriteChange(cause_change.change, &json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("cpu_paths");
  json.BeginArray();
  for (const PathChange& path : view.comparison.paths) {
    json.BeginObject();
    json.Field("request", path.kind);
    json.Key("frames");
    json.BeginArray();
    for (const std::string& frame : path.frames) json.Text(frame);
    json.EndArray();
    WriteChange(path.change, &json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  *out += '\n';
}

}  // namespace cprof
