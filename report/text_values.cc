// Single values of the text of recordings.
#include "report/text_values.h"

#include <algorithm>

#include "report/graph.h"

namespace cprof {

bool ToTime(std::string_view text, uint64_t* time_ns) {
  if (text.ends_with("ns")) return ToNumber(text.substr(0, text.size() - 2), time_ns);
  const size_t dot = text.find('.');
  uint64_t seconds = 0;
  uint64_t fraction_ns = 0;
  if (!ToNumber(text.substr(0, dot), &seconds)) return false;
  if (dot != std::string_view::npos) {
    std::string digits(text.substr(dot + 1));
    if (digits.empty() || digits.size() > 9) return false;
    digits.append(9 - digits.size(), '0');
    if (digits.starts_with("0x") || !ToNumber(digits, &fraction_ns)) return false;
  }
  constexpr uint64_t kSecond = 1000000000;
  return !__builtin_mul_overflow(seconds, kSecond, time_ns) &&
         !__builtin_add_overflow(*time_ns, fraction_ns, time_ns);
}

bool ToThread(std::string_view text, ThreadKey* thread) {
  const size_t at = text.find('@');
  if (at != std::string_view::npos && !ToNumber(text.substr(at + 1), &thread->start_time_ns)) {
    return false;
  }
  text = text.substr(0, at);
  const size_t slash = text.find('/');
  if (!ToNumber(text.substr(0, slash), &thread->tid)) return false;
  thread->tgid = thread->tid;
  return slash == std::string_view::npos || ToNumber(text.substr(slash + 1), &thread->tgid);
}

bool ToKey(std::string_view text, Key* key) {
  if (!text.starts_with("0x") || text.size() <= 18) return ToNumber(text, &key->lo);
  const size_t split = text.size() - 16;
  return text.size() <= 34 && ToNumber(text.substr(0, split), &key->hi) &&
         ToNumber("0x" + std::string(text.substr(split)), &key->lo);
}

bool ToBytes(std::string_view text, std::string* bytes) {
  if (text.size() % 2 != 0) return false;
  for (; !text.empty(); text.remove_prefix(2)) {
    uint8_t byte = 0;
    const auto result = std::from_chars(text.data(), text.data() + 2, byte, 16);
    if (result.ec != std::errc() || result.ptr != text.data() + 2) return false;
    *bytes += static_cast<char>(byte);
  }
  return true;
}

bool ToVerb(std::string_view text, Verb* verb) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  if (text.substr(0, colon) == "verb") return ToNumber(text.substr(colon + 1), verb);
  const VerbInfo* info = FindVerb(text.substr(0, colon), text.substr(colon + 1));
  if (info != nullptr) *verb = info->verb;
  return info != nullptr;
}

bool ToWord(std::string_view text, FieldStyle style, uint64_t* value) {
  if (style == FieldStyle::kAppKind) {
    const auto found = std::ranges::find(kAppKindNames, text);
    if (found == std::end(kAppKindNames)) return false;
    *value = static_cast<uint64_t>(found - std::begin(kAppKindNames));
    return true;
  }
  if (style != FieldStyle::kEdgeType) return false;
  for (int type = 1; type <= static_cast<int>(EdgeType::kReceive); ++type) {
    if (EdgeTypeName(static_cast<EdgeType>(type)) != text) continue;
    *value = static_cast<uint64_t>(type);
    return true;
  }
  return false;
}

bool ToStream(std::string_view name, StreamInfo* stream) {
  if (name == "recorder") {
    stream->kind = StreamKind::kRecorder;
    return true;
  }
  const auto rest = [name](std::string_view prefix) { return name.substr(prefix.size()); };
  if (name.starts_with("edge.cpu")) {
    stream->kind = StreamKind::kEdgeCpu;
    return ToNumber(rest("edge.cpu"), &stream->cpu);
  }
  if (name.starts_with("context.cpu")) {
    stream->kind = StreamKind::kContextCpu;
    return ToNumber(rest("context.cpu"), &stream->cpu);
  }
  const size_t dot = name.rfind('.');
  if (!name.starts_with("app.") || dot < 4) return false;
  stream->kind = StreamKind::kApp;
  return ToNumber(name.substr(4, dot - 4), &stream->tgid) &&
         ToNumber(name.substr(dot + 1), &stream->slot);
}

}  // namespace cprof
