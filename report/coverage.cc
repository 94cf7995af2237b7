// The header of a report as text and JSON.
#include "report/coverage.h"

#include <algorithm>
#include <string_view>

namespace cprof {
namespace {

constexpr size_t kMaxLossRows = 1024;  // streams times reasons kept apart
constexpr size_t kMaxLossLines = 12;   // shown as text; JSON has all
constexpr std::string_view kHookPrefix = "hook.";
constexpr std::string_view kUnavailable = "unavailable";

void AppendName(std::string_view name, std::string* out) {
  *out += "# ";
  *out += name;
  out->append(name.size() < 11 ? 11 - name.size() : 1, ' ');
  *out += ": ";
}

void AppendPlural(uint64_t count, std::string_view noun, std::string* out) {
  AppendGrouped(count, out);
  *out += ' ';
  *out += noun;
  if (count != 1) *out += 's';
}

bool IsUnavailableHook(const std::pair<const std::string, std::string>& attribute) {
  return attribute.first.starts_with(kHookPrefix) && attribute.second.starts_with(kUnavailable);
}

std::string SessionId(const SessionHeader& header) {
  std::string text;
  for (const uint8_t byte : header.session_id) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

void AppendInterval(uint64_t t0_ns, uint64_t from_ns, uint64_t to_ns, std::string* out) {
  *out += "from ";
  AppendSeconds(RelativeTo(t0_ns, from_ns), out);
  *out += " s to ";
  AppendSeconds(RelativeTo(t0_ns, to_ns), out);
  *out += " s";
}

}  // namespace

void Coverage::SetFooter(const Footer& footer) {
  has_footer_ = true;
  footer_ = footer;
}

void Coverage::AddStream(const StreamInfo& stream) {
  if (streams_.size() < kMaxLossRows) streams_[stream.id] = StreamName(stream);
}

void Coverage::AddBreak(const Break& lost) {
  const auto key = std::make_pair(lost.stream, lost.reason);
  if (losses_.size() >= kMaxLossRows && !losses_.contains(key)) {
    ++other_breaks_;
    return;
  }
  Losses& losses = losses_[key];
  if (losses.breaks++ == 0) losses.detail = lost.detail;
  losses.total += lost.total;
  losses.countable = losses.countable && lost.total > 0;
  losses.from_ns = std::min(losses.from_ns, lost.from_ns);
  losses.to_ns = std::max(losses.to_ns, lost.to_ns);
}

std::string Coverage::StreamText(StreamId stream) const {
  const auto found = streams_.find(stream);
  if (found != streams_.end()) return found->second;
  return "stream " + std::to_string(stream);
}

uint64_t Coverage::DurationNs() const {
  const uint64_t end_ns = has_footer_ ? footer_.end_ns : final_ns_;
  return end_ns > header_.t0_ns ? end_ns - header_.t0_ns : 0;
}

Coverage::Lost Coverage::LostInAll() const {
  Lost lost;
  lost.breaks = other_breaks_;
  lost.countable = other_breaks_ == 0;
  for (const auto& [key, losses] : losses_) {
    (void)key;
    lost.breaks += losses.breaks;
    lost.events += losses.total;
    lost.countable = lost.countable && losses.countable;
  }
  return lost;
}

std::vector<std::string> Coverage::UnavailableHooks() const {
  std::vector<std::string> hooks;
  for (const auto& attribute : header_.attributes) {
    if (IsUnavailableHook(attribute)) hooks.push_back(attribute.first.substr(kHookPrefix.size()));
  }
  return hooks;
}

void Coverage::AppendText(std::string* out) const {
  AppendName("recorded", out);
  AppendDuration(DurationNs(), out);
  *out += header_.system_wide ? ", system-wide" : "";
  for (size_t i = 0; i < header_.target_tgids.size(); ++i) {
    *out += i == 0 ? ", of process " : ", ";
    AppendUnsigned(header_.target_tgids[i], out);
  }
  *out += '\n';
  AppendCounts(out);
  AppendBreaks(out);
  AppendHooks(out);
  AppendFile(out);
}

void Coverage::AppendCounts(std::string* out) const {
  AppendName("half-edges", out);
  AppendGrouped(summary_.half_edges, out);
  *out += " = ";
  AppendGrouped(summary_.joined, out);
  *out += " joined + ";
  AppendPlural(summary_.orphans, "orphan", out);
  *out += "; ";
  AppendPlural(summary_.edges, "edge", out);
  *out += " (";
  AppendGrouped(summary_.edges_observed, out);
  *out += " observed, ";
  AppendGrouped(summary_.edges_reconstructed, out);
  *out += " reconstructed, ";
  AppendGrouped(summary_.edges_unknown, out);
  *out += " unknown)\n";
  if (summary_.orphans > 0) {
    AppendName("orphans", out);
    bool first = true;
    for (size_t i = 0; i < summary_.orphans_by_reason.size(); ++i) {
      if (summary_.orphans_by_reason[i] == 0) continue;
      *out += first ? "" : ", ";
      first = false;
      AppendGrouped(summary_.orphans_by_reason[i], out);
      *out += ' ';
      *out += OrphanReasonName(static_cast<OrphanReason>(i));
    }
    *out += '\n';
  }
  if (wall_ns_ > 0) {
    AppendName("unknown", out);
    AppendShare(unknown_ns_, wall_ns_, 2, out);
    *out += " of the wall time of requests\n";
  }
}

void Coverage::AppendBreaks(std::string* out) const {
  if (losses_.empty()) {
    AppendName("lost", out);
    *out += "nothing\n";
    return;
  }
  size_t lines = 0;
  for (const auto& [key, losses] : losses_) {
    if (++lines > kMaxLossLines) {
      AppendName("lost", out);
      AppendGrouped(losses_.size() - kMaxLossLines + other_breaks_, out);
      *out += " more kinds of break; --format json lists them\n";
      return;
    }
    AppendName("lost", out);
    if (losses.countable) {
      AppendPlural(losses.total, "event", out);
    } else {
      *out += "events that cannot be counted";
    }
    *out += " in ";
    AppendPlural(losses.breaks, "break", out);
    *out += " of " + StreamText(key.first) + ", ";
    *out += BreakReasonName(key.second);
    *out += ", ";
    AppendInterval(header_.t0_ns, losses.from_ns, losses.to_ns, out);
    if (!losses.detail.empty()) {
      *out += ": ";
      AppendPrintable(losses.detail, out);
    }
    *out += '\n';
  }
}

void Coverage::AppendHooks(std::string* out) const {
  for (const auto& attribute : header_.attributes) {
    if (!IsUnavailableHook(attribute)) continue;
    AppendName("not hooked", out);
    AppendPrintable(std::string_view(attribute.first).substr(kHookPrefix.size()), out);
    *out += " (";
    std::string_view why = std::string_view(attribute.second).substr(kUnavailable.size());
    while (!why.empty() && (why.front() == ':' || why.front() == ' ')) why.remove_prefix(1);
    AppendPrintable(why.empty() ? "unavailable" : why, out);
    *out += ")\n";
  }
}

void Coverage::AppendFile(std::string* out) const {
  if (!read_.clean_end) {
    AppendName("file", out);
    *out += "ends before its time: the recorder did not finish it\n";
  }
  for (const LossEntry& entry : read_.losses) {
    AppendName("file", out);
    AppendPrintable(entry.name, out);
    *out += " x ";
    AppendGrouped(entry.count, out);
    *out += " (";
    AppendPlural(entry.records, "record", out);
    *out += ", ";
    AppendPlural(entry.bytes, "byte", out);
    *out += ")";
    if (!entry.advice.empty()) {
      *out += ": ";
      AppendPrintable(entry.advice, out);
    }
    *out += '\n';
  }
}

void Coverage::AppendSessionText(std::string* out) const {
  *out += "# ========\n";
  const auto line = [out](std::string_view name, std::string_view value) {
    std::string printable;
    AppendPrintable(name, &printable);
    *out += "# " + printable;
    out->append(printable.size() < 16 ? 16 - printable.size() : 0, ' ');
    *out += ": ";
    AppendPrintable(value, out);
    *out += '\n';
  };
  std::string text;
  AppendUtc(header_.wall_t0_ns, &text);
  line("captured on", text);
  line("session", SessionId(header_));
  text.clear();
  AppendDuration(DurationNs(), &text);
  line("duration", text);
  line("nrcpus", std::to_string(header_.cpu_count));
  text.clear();
  for (const std::string& adapter : header_.adapters) text += (text.empty() ? "" : " ") + adapter;
  line("adapters", text);
  text.clear();
  for (const uint32_t tgid : header_.target_tgids) {
    text += (text.empty() ? "" : " ") + std::to_string(tgid);
  }
  line("targets", header_.system_wide ? "system-wide" : text);
  for (const auto& [name, value] : header_.attributes) line(name, value);
  for (const auto& [name, value] : footer_.attributes) line(name, value);
  *out += "# ========\n#\n";
}

void Coverage::WriteJson(JsonWriter* json) const {
  WriteSessionJson(json);
  json->Key("coverage");
  json->BeginObject();
  json->Field("events", summary_.events);
  json->Field("half_edges", summary_.half_edges);
  json->Field("joined", summary_.joined);
  json->Field("orphans", summary_.orphans);
  json->Field("lifecycle", summary_.lifecycle);
  json->Field("samples", summary_.samples);
  json->Field("edges", summary_.edges);
  json->Field("edges_observed", summary_.edges_observed);
  json->Field("edges_reconstructed", summary_.edges_reconstructed);
  json->Field("edges_unknown", summary_.edges_unknown);
  json->Key("orphans_by_reason");
  json->BeginObject();
  for (size_t i = 0; i < summary_.orphans_by_reason.size(); ++i) {
    if (summary_.orphans_by_reason[i] == 0) continue;
    json->Field(OrphanReasonName(static_cast<OrphanReason>(i)), summary_.orphans_by_reason[i]);
  }
  json->EndObject();
  json->Field("wall_ns", wall_ns_);
  json->Field("unknown_ns", unknown_ns_);
  WriteLossesJson(json);
  json->EndObject();
}

void Coverage::WriteSessionJson(JsonWriter* json) const {
  json->Key("session");
  json->BeginObject();
  json->Field("id", SessionId(header_));
  std::string text;
  AppendUtc(header_.wall_t0_ns, &text);
  json->Field("captured_on", text);
  json->Field("t0_ns", std::to_string(header_.t0_ns));
  json->Field("duration_ns", DurationNs());
  json->Field("cpu_count", header_.cpu_count);
  json->Field("system_wide", header_.system_wide);
  json->Key("targets");
  json->BeginArray();
  for (const uint32_t tgid : header_.target_tgids) json->Number(tgid);
  json->EndArray();
  json->Key("adapters");
  json->BeginArray();
  for (const std::string& adapter : header_.adapters) json->Text(adapter);
  json->EndArray();
  json->Key("attributes");
  json->BeginObject();
  for (const auto& [name, value] : header_.attributes) json->Field(name, value);
  json->EndObject();
  json->EndObject();
}

void Coverage::WriteLossesJson(JsonWriter* json) const {
  json->Key("breaks");
  json->BeginArray();
  for (const auto& [key, losses] : losses_) {
    json->BeginObject();
    json->Field("stream", StreamText(key.first));
    json->Field("reason", BreakReasonName(key.second));
    json->Field("breaks", losses.breaks);
    json->Field("lost", losses.total);
    json->Field("countable", losses.countable);
    json->Field("from_ns", RelativeTo(header_.t0_ns, losses.from_ns));
    json->Field("to_ns", RelativeTo(header_.t0_ns, losses.to_ns));
    json->Field("detail", losses.detail);
    json->EndObject();
  }
  json->EndArray();
  json->Field("other_breaks", other_breaks_);
  json->Key("hooks_unavailable");
  json->BeginArray();
  for (const std::string& hook : UnavailableHooks()) json->Text(hook);
  json->EndArray();
  json->Field("clean_end", read_.clean_end);
  json->Key("damage");
  json->BeginArray();
  for (const LossEntry& entry : read_.losses) {
    json->BeginObject();
    json->Field("name", entry.name);
    json->Field("count", entry.count);
    json->Field("records", entry.records);
    json->Field("bytes", entry.bytes);
    json->Field("advice", entry.advice);
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace cprof
