// Prints recordings as text. event_parse.cc reads it back.
#include "report/event_text.h"

#include <charconv>
#include <map>
#include <utility>

#include "report/event_fields.h"
#include "report/graph.h"
#include "report/text_quote.h"

namespace cprof {
namespace {

void AppendTime(uint64_t time_ns, std::string* out) {
  constexpr uint64_t kSecond = 1000000000;
  AppendDecimal(time_ns / kSecond, out);
  std::string fraction;
  AppendDecimal(time_ns % kSecond + kSecond, &fraction);
  fraction[0] = '.';
  *out += fraction;
}

void AppendKey(const Key& key, std::string* out) {
  if (key.hi == 0) return AppendHex(key.lo, out);
  AppendHex(key.hi, out);
  std::string low;
  AppendHex(key.lo, &low);
  out->append(18 - low.size(), '0');
  out->append(low, 2);
}

void AppendThread(const ThreadKey& thread, std::string* out) {
  AppendDecimal(thread.tid, out);
  *out += '/';
  AppendDecimal(thread.tgid, out);
  *out += '@';
  AppendDecimal(thread.start_time_ns, out);
}

void AppendBytesHex(std::string_view bytes, std::string* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char byte : bytes) {
    *out += kDigits[static_cast<uint8_t>(byte) >> 4];
    *out += kDigits[static_cast<uint8_t>(byte) & 15];
  }
}

void AppendVerb(Verb verb, std::string* out) {
  const VerbInfo* info = FindVerb(verb);
  if (info == nullptr) {
    *out += "verb:";
    return AppendHex(verb, out);
  }
  *out += InfoOf(info->adapter).name;
  *out += ':';
  *out += info->name;
}

void AppendPart(const FieldPart& part, uint64_t value, std::string* out) {
  *out += ' ';
  *out += part.name;
  *out += '=';
  switch (part.style) {
    case FieldStyle::kHex: AppendHex(value, out); return;
    case FieldStyle::kDecimal: break;
    case FieldStyle::kSigned: *out += std::to_string(static_cast<int32_t>(value)); return;
    case FieldStyle::kAppKind:
      if (value >= std::size(kAppKindNames)) break;
      *out += kAppKindNames[value];
      return;
    case FieldStyle::kEdgeType:
      if (value < 1 || value > static_cast<uint64_t>(EdgeType::kReceive)) break;
      *out += EdgeTypeName(static_cast<EdgeType>(value));
      return;
  }
  AppendDecimal(value, out);
}

void AppendArg(std::string_view field, std::string_view fallback, uint64_t value,
               std::string* out) {
  if (value == 0) return;
  const FieldLayout layout = LayoutOf(field.empty() ? fallback : field);
  for (const FieldPart& part : layout.all()) {
    const uint64_t mask = part.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << part.bits) - 1;
    const uint64_t bits = value >> part.shift & mask;
    if (bits != 0) AppendPart(part, bits, out);
  }
}

void AppendKeyField(std::string_view field, std::string_view fallback, const Key& key,
                    std::string* out) {
  if (key == Key{}) return;
  *out += ' ';
  *out += field.empty() ? fallback : field;
  *out += '=';
  AppendKey(key, out);
}

void AppendComm(const Event& event, std::string* out) {
  std::string comm;
  for (unsigned i = 0; i < 16; ++i) {
    comm += static_cast<char>((i < 8 ? event.arg : event.arg2) >> (8 * (i % 8)));
  }
  comm.erase(comm.find_last_not_of('\0') + 1);
  if (comm.empty()) return;
  *out += " comm=";
  AppendQuoted(comm, out);
}

class TextPrinter : public RecordingVisitor {
 public:
  TextPrinter(const StringTable& strings, std::string* out) : strings_(strings), out_(out) {}

  void OnHeader(const SessionHeader& header) override;
  void OnStream(const StreamInfo& stream) override;
  void OnEvents(StreamId, std::span<const Event> events) override {
    for (const Event& event : events) {
      PrintEvent(event);
      *out_ += '\n';
    }
  }
  void OnSamples(StreamId, std::span<const StackSample> samples) override;
  void OnBreak(const Break& lost) override;
  void OnMark(const RoundMark& mark) override;
  void OnMappings(std::span<const Mapping> mappings) override;
  void OnKernelSymbols(std::span<const KernelSymbol> symbols) override;
  void OnFooter(const Footer& footer) override;

 private:
  void PrintEvent(const Event& event);
  void PrintStream(StreamId id);
  void Number(const char* name, uint64_t value) {
    *out_ += name;
    AppendDecimal(value, out_);
  }
  void Text(const char* name, std::string_view text) {
    *out_ += name;
    AppendQuoted(text, out_);
  }
  void Name(const char* name, StringId id) {
    if (id != 0) Text(name, strings_.Get(id));
  }
  void Counters(const RoundMark& mark);
  void Attributes(const std::map<std::string, std::string>& attributes);
  void Frames(const char* name, std::span<const uint64_t> frames);

  const StringTable& strings_;
  std::string* out_;
  std::map<StreamId, std::string> names_;  // of the streams that have a name of their own
  std::map<std::string, StreamId> owners_;
};

void TextPrinter::PrintStream(StreamId id) {
  if (id == kEveryStream) {
    *out_ += "every";
    return;
  }
  const auto found = names_.find(id);
  if (found != names_.end()) {
    *out_ += found->second;
  } else {
    Number("stream", id);
  }
}

void TextPrinter::PrintEvent(const Event& event) {
  AppendTime(event.time_ns, out_);
  *out_ += ' ';
  PrintStream(event.stream);
  *out_ += '.';
  AppendDecimal(event.sequence, out_);
  *out_ += ' ';
  AppendThread(ExecutingThread(event), out_);
  *out_ += ' ';
  *out_ += kLevelNames[static_cast<size_t>(event.level)];
  *out_ += ' ';
  AppendVerb(event.verb, out_);
  static constexpr VerbInfo kNoInfo{};
  const VerbInfo* known = FindVerb(event.verb);
  const VerbInfo& info = known != nullptr ? *known : kNoInfo;
  // A thread takes key and key2, if they hold nothing beside it.
  if (info.key == "thread" && event.key.hi == 0 && event.key2.hi == 0) {
    if (event.key != Key{} || event.key2 != Key{}) {
      *out_ += " thread=";
      AppendThread(OtherThread(event), out_);
    }
  } else {
    AppendKeyField(info.key == "thread" ? "" : info.key, "key", event.key, out_);
    AppendKeyField(info.key2, "key2", event.key2, out_);
  }
  if (info.arg == "comm") {
    AppendComm(event, out_);
  } else {
    AppendArg(info.arg, "arg", event.arg, out_);
    AppendArg(info.arg2, "arg2", event.arg2, out_);
  }
  Name(" name=", event.name);
  Name(" domain=", event.domain);
  Name(" domain2=", event.domain2);
  if (event.flags != 0) {
    *out_ += " flags=";
    AppendHex(event.flags, out_);
  }
}

void TextPrinter::Attributes(const std::map<std::string, std::string>& attributes) {
  for (const auto& [name, value] : attributes) {
    Text(" name=", name);
    Text(" value=", value);
  }
}

void TextPrinter::OnHeader(const SessionHeader& header) {
  *out_ += "!header session_id=";
  AppendBytesHex(
      {reinterpret_cast<const char*>(header.session_id.data()), header.session_id.size()}, out_);
  Number(" t0_ns=", header.t0_ns);
  Number(" wall_t0_ns=", header.wall_t0_ns);
  Number(" cpus=", header.cpu_count);
  if (header.raw_keys) *out_ += " raw_keys=1";
  if (header.system_wide) *out_ += " system_wide=1";
  for (const uint32_t tgid : header.target_tgids) Number(" target=", tgid);
  for (const std::string& adapter : header.adapters) Text(" adapter=", adapter);
  Attributes(header.attributes);
  *out_ += '\n';
}

void TextPrinter::OnStream(const StreamInfo& stream) {
  const std::string name = StreamName(stream);
  if (owners_.try_emplace(name, stream.id).first->second == stream.id) names_[stream.id] = name;
  Number("!stream id=", stream.id);
  *out_ += " name=" + name + "\n";
}

void TextPrinter::Frames(const char* name, std::span<const uint64_t> frames) {
  if (frames.empty()) return;
  *out_ += name;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (i > 0) *out_ += ',';
    AppendHex(frames[i], out_);
  }
}

void TextPrinter::OnSamples(StreamId, std::span<const StackSample> samples) {
  for (const StackSample& sample : samples) {
    *out_ += "!sample ";
    PrintEvent(sample.event);
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, sample.probability).ptr;
    *out_ += " p=";
    out_->append(digits, end);
    Frames(" user=", sample.user_frames);
    Frames(" kernel=", sample.kernel_frames);
    *out_ += '\n';
  }
}

void TextPrinter::OnBreak(const Break& lost) {
  *out_ += "!break stream=";
  PrintStream(lost.stream);
  *out_ += " reason=";
  if (lost.reason > BreakReason::kNotHeard) {
    AppendDecimal(static_cast<uint64_t>(lost.reason), out_);
  } else {
    *out_ += BreakReasonName(lost.reason);
  }
  Number(" from_ns=", lost.from_ns);
  Number(" to_ns=", lost.to_ns);
  Number(" total=", lost.total);
  *out_ += " signature=";
  AppendHex(lost.signature, out_);
  for (const auto& [verb, count] : lost.lost) {
    *out_ += " lost=";
    AppendVerb(verb, out_);
    *out_ += ':';
    AppendDecimal(count, out_);
  }
  if (!lost.detail.empty()) Text(" detail=", lost.detail);
  *out_ += '\n';
}

void TextPrinter::Counters(const RoundMark& mark) {
  Number(" final_ns=", mark.final_ns);
  for (const RoundMark::Counter& counter : mark.counters) {
    *out_ += " count=";
    PrintStream(counter.stream);
    *out_ += ':';
    AppendDecimal(counter.attempted, out_);
    *out_ += ':';
    AppendDecimal(counter.lost, out_);
  }
}

void TextPrinter::OnMark(const RoundMark& mark) {
  *out_ += "!mark";
  Counters(mark);
  *out_ += '\n';
}

void TextPrinter::OnMappings(std::span<const Mapping> mappings) {
  for (const Mapping& mapping : mappings) {
    Number("!map tgid=", mapping.tgid);
    Number(" time_ns=", mapping.time_ns);
    *out_ += " start=";
    AppendHex(mapping.start, out_);
    *out_ += " end=";
    AppendHex(mapping.end, out_);
    *out_ += " offset=";
    AppendHex(mapping.file_offset, out_);
    Text(" path=", mapping.path);
    if (!mapping.build_id.empty()) {
      *out_ += " build_id=";
      AppendBytesHex(mapping.build_id, out_);
    }
    *out_ += '\n';
  }
}

void TextPrinter::OnKernelSymbols(std::span<const KernelSymbol> symbols) {
  for (const KernelSymbol& symbol : symbols) {
    *out_ += "!ksym offset=";
    AppendHex(symbol.offset, out_);
    Text(" name=", symbol.name);
    *out_ += '\n';
  }
}

void TextPrinter::OnFooter(const Footer& footer) {
  Number("!footer end_ns=", footer.end_ns);
  Counters(footer.final_counters);
  Attributes(footer.attributes);
  *out_ += '\n';
}

}  // namespace

std::unique_ptr<RecordingVisitor> MakeTextPrinter(const StringTable& strings, std::string* out) {
  return std::make_unique<TextPrinter>(strings, out);
}

}  // namespace cprof
