// Reads the text of recordings: the inverse of event_text.cc, and forgiving enough for fixtures.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

#include "format/chunk.h"
#include "report/event_fields.h"
#include "report/event_text.h"
#include "report/text_quote.h"
#include "report/text_values.h"

namespace cprof {
namespace {

constexpr size_t kMaxLineBytes = 1 << 20;
constexpr size_t kBatchEvents = 4096;

// What is wrong with a line; empty where nothing is.
using Complaint = std::string;

struct Token {
  std::string_view name;  // before the '=', or the whole word
  std::string value;      // unquoted
};

class TextReader {
 public:
  TextReader(ByteSource& source, StringTable& strings, RecordingVisitor& visitor)
      : source_(source), strings_(strings), visitor_(visitor) {}

  Result<ReadSummary> Read();

 private:
  Complaint ReadLine(std::string_view line);
  Complaint ReadRecord(std::string_view kind, std::string_view rest);
  Complaint ReadEvent(std::string_view line, StackSample* sample);
  Complaint ReadEventField(const Token& token, const VerbInfo& info, Event* event);
  bool ReadArg(std::string_view field, std::string_view fallback, const Token& token, uint64_t* arg,
               bool* matched);
  Complaint ReadHeader(std::span<const Token> tokens);
  Complaint ReadStream(std::span<const Token> tokens);
  Complaint ReadBreak(std::span<const Token> tokens);
  Complaint ReadMark(std::span<const Token> tokens, RoundMark* mark);
  Complaint ReadMapping(std::span<const Token> tokens);
  Complaint ReadKernelSymbol(std::span<const Token> tokens);
  Complaint ReadFooter(std::span<const Token> tokens);
  bool ReadLost(std::string_view text, Break* lost);
  bool ReadCounter(std::string_view text, RoundMark* mark);
  bool FindStream(std::string_view name, StreamId* id);
  static Complaint Tokenize(std::string_view line, std::vector<Token>* tokens);
  static bool ReadAttribute(const Token& token, std::string* name,
                            std::map<std::string, std::string>* attributes);
  void Begin();
  void Flush();
  void End();

  ByteSource& source_;
  StringTable& strings_;
  RecordingVisitor& visitor_;
  ReadSummary summary_;
  std::vector<Event> events_;
  std::vector<StackSample> samples_;
  std::map<std::string, StreamId, std::less<>> streams_;
  StreamId next_stream_ = 0;
  uint64_t newest_ns_ = 0;
  bool begun_ = false;
  bool is_fixture_ = false;  // no !header: what is missing is supplied
};

// The words of a line: name=value, name="quoted value" or a bare word.
Complaint TextReader::Tokenize(std::string_view line, std::vector<Token>* tokens) {
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) return {};
    const size_t end = std::min(line.find_first_of("= \t\r"), line.size());
    Token token{line.substr(0, end), {}};
    const bool has_value = end < line.size() && line[end] == '=';
    line.remove_prefix(has_value ? end + 1 : end);
    if (has_value && line.starts_with('"')) {
      auto text = TakeQuoted(&line);
      if (!text) return "the quoted text of '" + std::string(token.name) + "' does not end";
      token.value = *std::move(text);
    } else if (has_value) {
      const size_t size = std::min(line.find_first_of(" \t\r"), line.size());
      token.value = line.substr(0, size);
      line.remove_prefix(size);
    }
    tokens->push_back(std::move(token));
  }
}

Complaint Unknown(std::string_view kind, const Token& token) {
  return "cannot understand '" + std::string(token.name) + "=" + token.value + "' of " +
         std::string(kind);
}

void TextReader::Begin() {
  if (begun_) return;
  begun_ = true;
  is_fixture_ = true;
  SessionHeader header;
  for (const AdapterInfo& adapter : AllAdapters()) header.adapters.emplace_back(adapter.name);
  visitor_.OnHeader(header);
}

void TextReader::Flush() {
  if (!events_.empty()) visitor_.OnEvents(events_.front().stream, events_);
  if (!samples_.empty()) visitor_.OnSamples(samples_.front().event.stream, samples_);
  summary_.events += events_.size();
  events_.clear();
  samples_.clear();
}

bool TextReader::FindStream(std::string_view name, StreamId* id) {
  if (const auto found = streams_.find(name); found != streams_.end()) {
    *id = found->second;
    return true;
  }
  // A stream whose name is that of another, or an announcement that was lost.
  if (name.starts_with("stream")) return ToNumber(name.substr(6), id) && *id < kMaxStreams;
  StreamInfo stream;
  if (!ToStream(name, &stream) || next_stream_ >= kMaxStreams) return false;
  *id = stream.id = next_stream_++;
  streams_.emplace(name, stream.id);
  Flush();
  visitor_.OnStream(stream);
  return true;
}

bool TextReader::ReadArg(std::string_view field, std::string_view fallback, const Token& token,
                         uint64_t* arg, bool* matched) {
  const FieldLayout layout = LayoutOf(field.empty() ? fallback : field);
  for (const FieldPart& part : layout.all()) {
    if (part.name != token.name) continue;
    *matched = true;
    uint64_t value = 0;
    int32_t negative = 0;
    if (part.style == FieldStyle::kSigned && ToNumber(token.value, &negative)) {
      value = static_cast<uint32_t>(negative);
    } else if (!ToWord(token.value, part.style, &value) && !ToNumber(token.value, &value)) {
      return false;
    }
    if (part.bits < 64 && value >> part.bits != 0) {
      if (part.name != layout.field) return false;
      break;  // too large for its part: the whole field at once
    }
    *arg |= value << part.shift;
    return true;
  }
  if (token.name != layout.field) return true;
  *matched = true;
  return ToNumber(token.value, arg);
}

Complaint TextReader::ReadEventField(const Token& token, const VerbInfo& info, Event* event) {
  const std::string_view name = token.name;
  bool good = true;
  if (name == "name") {
    event->name = strings_.Intern(token.value);
  } else if (name == "domain") {
    event->domain = strings_.Intern(token.value);
  } else if (name == "domain2") {
    event->domain2 = strings_.Intern(token.value);
  } else if (name == "flags") {
    good = ToNumber(token.value, &event->flags);
  } else if (name == "thread" && info.key == "thread") {
    ThreadKey thread;
    good = ToThread(token.value, &thread);
    event->key.lo = thread.start_time_ns;
    event->key2.lo = uint64_t{thread.tid} | uint64_t{thread.tgid} << 32;
  } else if (name == "key" || name == info.key) {
    good = ToKey(token.value, &event->key);
  } else if (name == "key2" || name == info.key2) {
    good = ToKey(token.value, &event->key2);
  } else if (name == "comm" && info.arg == "comm") {
    good = token.value.size() <= 16;
    for (size_t i = 0; good && i < token.value.size(); ++i) {
      uint64_t& half = i < 8 ? event->arg : event->arg2;
      half |= uint64_t{static_cast<uint8_t>(token.value[i])} << (8 * (i % 8));
    }
  } else {
    bool matched = false;
    good = ReadArg(info.arg, "arg", token, &event->arg, &matched);
    if (good && !matched) good = ReadArg(info.arg2, "arg2", token, &event->arg2, &matched);
    if (good && !matched && name == "arg") good = matched = ToNumber(token.value, &event->arg);
    if (good && !matched && name == "arg2") good = matched = ToNumber(token.value, &event->arg2);
    good = good && matched;
  }
  return good ? Complaint() : Unknown("the event", token);
}

// sample is null for an event line; for a !sample line it takes what an event has not.
Complaint TextReader::ReadEvent(std::string_view line, StackSample* sample) {
  std::vector<Token> tokens;
  if (Complaint complaint = Tokenize(line, &tokens); !complaint.empty()) return complaint;
  if (tokens.size() < 5) {
    return "an event needs time, stream.sequence, tid/tgid@start, level and adapter:verb";
  }
  Event event;
  const auto word = [&tokens](size_t i) { return tokens[i].name; };
  if (!ToTime(word(0), &event.time_ns)) return "'" + std::string(word(0)) + "' is no time";
  const size_t dot = word(1).rfind('.');
  if (dot == std::string_view::npos || !ToNumber(word(1).substr(dot + 1), &event.sequence) ||
      !FindStream(word(1).substr(0, dot), &event.stream)) {
    return "'" + std::string(word(1)) + "' is no stream.sequence";
  }
  ThreadKey thread;
  if (!ToThread(word(2), &thread)) return "'" + std::string(word(2)) + "' is no tid/tgid@start";
  event.tid = thread.tid;
  event.tgid = thread.tgid;
  event.start_time_ns = thread.start_time_ns;
  const auto level = std::ranges::find(kLevelNames, word(3));
  if (level == std::end(kLevelNames)) return "'" + std::string(word(3)) + "' is no level";
  event.level = static_cast<Level>(level - std::begin(kLevelNames));
  if (!ToVerb(word(4), &event.verb)) return "'" + std::string(word(4)) + "' is no adapter:verb";
  static constexpr VerbInfo kNoInfo{};
  const VerbInfo* known = FindVerb(event.verb);
  for (const Token& token : std::span(tokens).subspan(5)) {
    if (sample != nullptr && (token.name == "user" || token.name == "kernel")) {
      auto& frames = token.name == "user" ? sample->user_frames : sample->kernel_frames;
      for (std::string_view rest = token.value; !rest.empty();) {
        const size_t comma = std::min(rest.find(','), rest.size());
        uint64_t frame = 0;
        if (!ToNumber(rest.substr(0, comma), &frame)) return Unknown("the sample", token);
        frames.push_back(frame);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
      }
      if (frames.size() > kMaxStackFrames) return "too many frames";
      continue;
    }
    if (sample != nullptr && token.name == "p") {
      const char* end = token.value.data() + token.value.size();
      const auto result = std::from_chars(token.value.data(), end, sample->probability);
      if (result.ec != std::errc() || result.ptr != end) return Unknown("the sample", token);
      continue;
    }
    Complaint complaint = ReadEventField(token, known != nullptr ? *known : kNoInfo, &event);
    if (!complaint.empty()) return complaint;
  }
  newest_ns_ = std::max(newest_ns_, event.time_ns);
  if (sample != nullptr) {
    sample->event = event;
    return {};
  }
  const bool breaks_batch = !samples_.empty() || events_.size() >= kBatchEvents ||
                            (!events_.empty() && events_.back().stream != event.stream);
  if (breaks_batch) Flush();
  events_.push_back(event);
  return {};
}

bool TextReader::ReadAttribute(const Token& token, std::string* name,
                               std::map<std::string, std::string>* attributes) {
  if (token.name == "name") {
    *name = token.value;
    return true;
  }
  if (token.name != "value") return false;
  (*attributes)[*name] = token.value;
  return true;
}

Complaint TextReader::ReadHeader(std::span<const Token> tokens) {
  if (begun_) return "a !header must be the first record";
  begun_ = true;
  SessionHeader header;
  std::string name;
  for (const Token& token : tokens) {
    bool good = true;
    if (token.name == "session_id") {
      std::string bytes;
      good = ToBytes(token.value, &bytes) && bytes.size() == header.session_id.size();
      if (good) std::memcpy(header.session_id.data(), bytes.data(), bytes.size());
    } else if (token.name == "t0_ns") {
      good = ToNumber(token.value, &header.t0_ns);
    } else if (token.name == "wall_t0_ns") {
      good = ToNumber(token.value, &header.wall_t0_ns);
    } else if (token.name == "cpus") {
      good = ToNumber(token.value, &header.cpu_count);
    } else if (token.name == "raw_keys") {
      header.raw_keys = token.value != "0";
    } else if (token.name == "system_wide") {
      header.system_wide = token.value != "0";
    } else if (token.name == "target") {
      good = ToNumber(token.value, &header.target_tgids.emplace_back());
    } else if (token.name == "adapter") {
      header.adapters.push_back(token.value);
    } else {
      good = ReadAttribute(token, &name, &header.attributes);
    }
    if (!good) return Unknown("!header", token);
  }
  visitor_.OnHeader(header);
  return {};
}

Complaint TextReader::ReadStream(std::span<const Token> tokens) {
  StreamInfo stream;
  stream.id = next_stream_;
  std::string name;
  for (const Token& token : tokens) {
    bool good = true;
    if (token.name == "id") {
      good = ToNumber(token.value, &stream.id) && stream.id < kMaxStreams;
    } else if (token.name == "name") {
      name = token.value;
      good = ToStream(name, &stream);
    } else {
      good = false;
    }
    if (!good) return Unknown("!stream", token);
  }
  if (name.empty()) return "a !stream needs a name";
  next_stream_ = std::max(next_stream_, stream.id + 1);
  streams_.try_emplace(name, stream.id);
  visitor_.OnStream(stream);
  return {};
}

bool TextReader::ReadLost(std::string_view text, Break* lost) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  auto& [verb, count] = lost->lost.emplace_back();
  return ToVerb(text.substr(0, colon), &verb) && ToNumber(text.substr(colon + 1), &count);
}

Complaint TextReader::ReadBreak(std::span<const Token> tokens) {
  Break lost;
  for (const Token& token : tokens) {
    bool good = true;
    if (token.name == "stream") {
      lost.stream = kEveryStream;
      good = token.value == "every" || FindStream(token.value, &lost.stream);
    } else if (token.name == "reason") {
      uint8_t reason = 0;
      good = ToNumber(token.value, &reason);
      for (uint8_t i = 0; !good && i <= static_cast<uint8_t>(BreakReason::kNotHeard); ++i) {
        good = token.value == BreakReasonName(static_cast<BreakReason>(i));
        reason = i;
      }
      lost.reason = static_cast<BreakReason>(reason);
    } else if (token.name == "from_ns") {
      good = ToNumber(token.value, &lost.from_ns);
    } else if (token.name == "to_ns") {
      good = ToNumber(token.value, &lost.to_ns);
    } else if (token.name == "total") {
      good = ToNumber(token.value, &lost.total);
    } else if (token.name == "signature") {
      good = ToNumber(token.value, &lost.signature);
    } else if (token.name == "lost") {
      good = ReadLost(token.value, &lost);
    } else if (token.name == "detail") {
      lost.detail = token.value;
    } else {
      good = false;
    }
    if (!good) return Unknown("!break", token);
  }
  visitor_.OnBreak(lost);
  return {};
}

bool TextReader::ReadCounter(std::string_view text, RoundMark* mark) {
  const size_t last = text.rfind(':');
  if (last == std::string_view::npos || last == 0) return false;
  const size_t first = text.rfind(':', last - 1);
  if (first == std::string_view::npos) return false;
  RoundMark::Counter& counter = mark->counters.emplace_back();
  return FindStream(text.substr(0, first), &counter.stream) &&
         ToNumber(text.substr(first + 1, last - first - 1), &counter.attempted) &&
         ToNumber(text.substr(last + 1), &counter.lost);
}

Complaint TextReader::ReadMark(std::span<const Token> tokens, RoundMark* mark) {
  for (const Token& token : tokens) {
    const bool good = token.name == "final_ns"
                          ? ToNumber(token.value, &mark->final_ns)
                          : token.name == "count" && ReadCounter(token.value, mark);
    if (!good) return Unknown("!mark", token);
  }
  return {};
}

Complaint TextReader::ReadMapping(std::span<const Token> tokens) {
  Mapping mapping;
  for (const Token& token : tokens) {
    bool good = true;
    if (token.name == "tgid") {
      good = ToNumber(token.value, &mapping.tgid);
    } else if (token.name == "time_ns") {
      good = ToNumber(token.value, &mapping.time_ns);
    } else if (token.name == "start") {
      good = ToNumber(token.value, &mapping.start);
    } else if (token.name == "end") {
      good = ToNumber(token.value, &mapping.end);
    } else if (token.name == "offset") {
      good = ToNumber(token.value, &mapping.file_offset);
    } else if (token.name == "path") {
      mapping.path = token.value;
    } else if (token.name == "build_id") {
      good = ToBytes(token.value, &mapping.build_id);
    } else {
      good = false;
    }
    if (!good) return Unknown("!map", token);
  }
  visitor_.OnMappings({&mapping, 1});
  return {};
}

Complaint TextReader::ReadKernelSymbol(std::span<const Token> tokens) {
  KernelSymbol symbol;
  for (const Token& token : tokens) {
    bool good = token.name == "name";
    if (good) symbol.name = token.value;
    if (token.name == "offset") good = ToNumber(token.value, &symbol.offset);
    if (!good) return Unknown("!ksym", token);
  }
  visitor_.OnKernelSymbols({&symbol, 1});
  return {};
}

Complaint TextReader::ReadFooter(std::span<const Token> tokens) {
  Footer footer;
  std::string name;
  for (const Token& token : tokens) {
    if (token.name == "end_ns") {
      if (!ToNumber(token.value, &footer.end_ns)) return Unknown("!footer", token);
    } else if (!ReadAttribute(token, &name, &footer.attributes)) {
      Complaint complaint = ReadMark({&token, 1}, &footer.final_counters);
      if (!complaint.empty()) return Unknown("!footer", token);
    }
  }
  summary_.clean_end = true;
  visitor_.OnFooter(footer);
  return {};
}

Complaint TextReader::ReadRecord(std::string_view kind, std::string_view rest) {
  if (kind == "!sample") {
    StackSample sample;
    Complaint complaint = ReadEvent(rest, &sample);
    if (!complaint.empty()) return complaint;
    const bool breaks_batch =
        !events_.empty() || samples_.size() >= kBatchEvents ||
        (!samples_.empty() && samples_.back().event.stream != sample.event.stream);
    if (breaks_batch) Flush();
    samples_.push_back(std::move(sample));
    return {};
  }
  Flush();
  std::vector<Token> tokens;
  if (Complaint complaint = Tokenize(rest, &tokens); !complaint.empty()) return complaint;
  if (kind == "!header") return ReadHeader(tokens);
  Begin();
  if (kind == "!stream") return ReadStream(tokens);
  if (kind == "!break") return ReadBreak(tokens);
  if (kind == "!map") return ReadMapping(tokens);
  if (kind == "!ksym") return ReadKernelSymbol(tokens);
  if (kind == "!footer") return ReadFooter(tokens);
  if (kind != "!mark") return "there is no record '" + std::string(kind) + "'";
  RoundMark mark;
  Complaint complaint = ReadMark(tokens, &mark);
  if (complaint.empty()) visitor_.OnMark(mark);
  return complaint;
}

Complaint TextReader::ReadLine(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  if (line.empty() || line.front() == '#') return {};
  if (line.front() != '!') {
    Begin();
    return ReadEvent(line, nullptr);
  }
  const size_t end = std::min(line.find_first_of(" \t\r"), line.size());
  if (line.substr(0, end) == "!sample") Begin();
  return ReadRecord(line.substr(0, end), line.substr(end));
}

void TextReader::End() {
  Begin();
  Flush();
  if (!is_fixture_ || summary_.clean_end) return;
  visitor_.OnMark({newest_ns_ + 1, {}});
  Footer footer;
  footer.end_ns = newest_ns_ + 1;
  footer.final_counters.final_ns = newest_ns_ + 1;
  visitor_.OnFooter(footer);
  summary_.clean_end = true;
}

Result<ReadSummary> TextReader::Read() {
  std::string pending;
  std::vector<uint8_t> buffer(64 * 1024);
  uint64_t line_number = 0;
  const auto take = [&](std::string_view line) -> Result<void> {
    ++line_number;
    const Complaint complaint = ReadLine(line);
    if (complaint.empty()) return {};
    std::string message = "line " + std::to_string(line_number) + ": ";
    AppendEscaped(complaint, &message);
    return Error{message, "the text must be what 'cprof script' prints"};
  };
  while (true) {
    auto size = source_.Read(buffer);
    if (!size) return size.error();
    if (*size == 0) break;
    summary_.bytes += *size;
    pending.append(reinterpret_cast<const char*>(buffer.data()), *size);
    size_t begin = 0;
    for (size_t end = pending.find('\n'); end != std::string::npos;
         end = pending.find('\n', begin)) {
      CPROF_RETURN_IF_ERROR(take(std::string_view(pending).substr(begin, end - begin)));
      begin = end + 1;
    }
    pending.erase(0, begin);
    if (pending.size() > kMaxLineBytes) {
      return Error{"line " + std::to_string(line_number + 1) + " is too long", ""};
    }
  }
  if (!pending.empty()) CPROF_RETURN_IF_ERROR(take(pending));
  End();
  return summary_;
}

}  // namespace

Result<ReadSummary> ReadTextRecording(ByteSource& source, StringTable& strings,
                                      RecordingVisitor& visitor) {
  return TextReader(source, strings, visitor).Read();
}

}  // namespace cprof
