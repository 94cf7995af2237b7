// Records that are no events: few of them, so plain varints in the order of their fields.
#include "format/record_codec.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "format/chunk.h"
#include "format/column.h"

namespace cprof {
namespace {

constexpr uint64_t kRawKeys = 1;
constexpr uint64_t kSystemWide = 2;

void EncodeAttributes(const std::map<std::string, std::string>& attributes, Builder& out) {
  out.Varint(attributes.size());
  for (const auto& [name, value] : attributes) {
    out.Text(name);
    out.Text(value);
  }
}

std::map<std::string, std::string> DecodeAttributes(Cursor& in) {
  std::map<std::string, std::string> attributes;
  const size_t count = in.Count(2, kMaxListLength);
  for (size_t i = 0; i < count && in.ok(); ++i) {
    std::string name(in.Text());
    attributes[std::move(name)] = in.Text();
  }
  return attributes;
}

}  // namespace

void EncodeSession(const SessionHeader& header, Builder& out) {
  out.Bytes(header.session_id);
  out.Varint(header.t0_ns);
  out.Varint(header.wall_t0_ns);
  out.Varint(header.cpu_count);
  out.Varint((header.raw_keys ? kRawKeys : 0) | (header.system_wide ? kSystemWide : 0));
  out.Varint(header.target_tgids.size());
  for (const uint32_t tgid : header.target_tgids) out.Varint(tgid);
  out.Varint(header.adapters.size());
  for (const std::string& adapter : header.adapters) out.Text(adapter);
  EncodeAttributes(header.attributes, out);
}

SessionHeader DecodeSession(Cursor& in) {
  SessionHeader header;
  const auto id = in.Bytes(header.session_id.size());
  std::ranges::copy(id, header.session_id.begin());
  header.t0_ns = in.Varint();
  header.wall_t0_ns = in.Varint();
  header.cpu_count = in.Varint<uint32_t>();
  const uint64_t flags = in.Varint();
  header.raw_keys = (flags & kRawKeys) != 0;
  header.system_wide = (flags & kSystemWide) != 0;
  header.target_tgids.resize(in.Count(1, kMaxListLength));
  for (uint32_t& tgid : header.target_tgids) tgid = in.Varint<uint32_t>();
  header.adapters.resize(in.Count(1, kMaxListLength));
  for (std::string& adapter : header.adapters) adapter = in.Text();
  header.attributes = DecodeAttributes(in);
  return header;
}

void EncodeBreak(const Break& lost, Builder& out) {
  out.Varint(static_cast<uint64_t>(lost.reason));
  out.Varint(lost.total);
  out.Fixed(lost.signature);
  out.Varint(lost.lost.size());
  for (const auto& [verb, count] : lost.lost) {
    out.Varint(verb);
    out.Varint(count);
  }
  out.Text(lost.detail);
}

Break DecodeBreak(Cursor& in) {
  Break lost;
  // A reason of the future is still a loss; only its name is not known.
  lost.reason = static_cast<BreakReason>(in.Varint<uint8_t>());
  lost.total = in.Varint();
  lost.signature = in.Fixed<uint64_t>();
  lost.lost.resize(in.Count(2, kVerbCount));
  for (auto& [verb, count] : lost.lost) {
    verb = in.Varint<uint8_t>();
    count = in.Varint();
  }
  lost.detail = in.Text();
  return lost;
}

void EncodeMark(const RoundMark& mark, Builder& out) {
  out.Varint(mark.final_ns);
  out.Varint(mark.counters.size());
  for (const RoundMark::Counter& counter : mark.counters) {
    out.Varint(counter.stream);
    out.Varint(counter.attempted);
    out.Varint(counter.lost);
  }
}

RoundMark DecodeMark(Cursor& in) {
  RoundMark mark;
  mark.final_ns = in.Varint();
  mark.counters.resize(in.Count(3, kMaxStreams));
  for (RoundMark::Counter& counter : mark.counters) {
    counter.stream = in.Varint<uint32_t>();
    counter.attempted = in.Varint();
    counter.lost = in.Varint();
  }
  return mark;
}

void EncodeMapping(const Mapping& mapping, Builder& out) {
  out.Varint(mapping.tgid);
  out.Varint(mapping.time_ns);
  out.Varint(mapping.start);
  out.Varint(mapping.end);
  out.Varint(mapping.file_offset);
  out.Text(mapping.path);
  out.Text(mapping.build_id);
}

Mapping DecodeMapping(Cursor& in) {
  Mapping mapping;
  mapping.tgid = in.Varint<uint32_t>();
  mapping.time_ns = in.Varint();
  mapping.start = in.Varint();
  mapping.end = in.Varint();
  mapping.file_offset = in.Varint();
  mapping.path = in.Text();
  mapping.build_id = in.Text();
  return mapping;
}

void EncodeKernelSymbol(const KernelSymbol& symbol, uint64_t previous_offset, Builder& out) {
  out.Varint(ZigZag(static_cast<int64_t>(symbol.offset - previous_offset)));
  out.Text(symbol.name);
}

KernelSymbol DecodeKernelSymbol(Cursor& in, uint64_t previous_offset) {
  KernelSymbol symbol;
  symbol.offset = previous_offset + static_cast<uint64_t>(UnZigZag(in.Varint()));
  symbol.name = in.Text();
  return symbol;
}

void EncodeFooter(const Footer& footer, const StreamTotals& totals, Builder& out) {
  out.Varint(footer.end_ns);
  EncodeMark(footer.final_counters, out);
  EncodeAttributes(footer.attributes, out);
  out.Varint(totals.size());
  for (const auto& [stream, records] : totals) {
    out.Varint(stream);
    out.Varint(records);
  }
}

Footer DecodeFooter(Cursor& in, StreamTotals* totals) {
  Footer footer;
  footer.end_ns = in.Varint();
  footer.final_counters = DecodeMark(in);
  footer.attributes = DecodeAttributes(in);
  totals->resize(in.Count(2, kMaxStreams));
  for (auto& [stream, records] : *totals) {
    stream = in.Varint<uint32_t>();
    records = in.Varint();
  }
  return footer;
}

namespace {

void EncodeFrames(std::span<const uint64_t> frames, uint64_t* previous, Builder& out) {
  for (const uint64_t frame : frames) {
    out.Varint(ZigZag(static_cast<int64_t>(frame - *previous)));
    *previous = frame;
  }
}

std::vector<uint64_t> DecodeFrames(Cursor& in, size_t count, uint64_t* previous) {
  std::vector<uint64_t> frames(count);
  for (uint64_t& frame : frames) {
    frame = *previous += static_cast<uint64_t>(UnZigZag(in.Varint()));
  }
  return frames;
}

using Stack = std::pair<std::vector<uint64_t>, std::vector<uint64_t>>;

}  // namespace

void EncodeStacks(std::span<const StackSample> samples, Builder& out) {
  std::map<Stack, uint64_t> index_of;
  std::vector<const Stack*> stacks;
  std::vector<uint64_t> indexes, probabilities;
  for (const StackSample& sample : samples) {
    const auto [entry, is_new] =
        index_of.try_emplace({sample.user_frames, sample.kernel_frames}, stacks.size());
    if (is_new) stacks.push_back(&entry->first);
    indexes.push_back(entry->second);
    probabilities.push_back(std::bit_cast<uint64_t>(sample.probability));
  }
  out.Varint(stacks.size());
  uint64_t previous = 0;
  for (const Stack* stack : stacks) {
    out.Varint(stack->first.size());
    out.Varint(stack->second.size());
    EncodeFrames(stack->first, &previous, out);
    EncodeFrames(stack->second, &previous, out);
  }
  ColumnEncoder columns;
  columns.Encode(indexes, out);
  columns.Encode(probabilities, out);
}

void DecodeStacks(Cursor& in, std::span<StackSample> samples) {
  std::vector<Stack> stacks(in.Count(2, samples.size()));
  uint64_t previous = 0;
  for (auto& [user, kernel] : stacks) {
    const uint64_t user_count = in.Varint();
    const uint64_t kernel_count = in.Varint();
    if (user_count > kMaxStackFrames || kernel_count > kMaxStackFrames) in.Fail();
    if (!in.ok()) return;
    user = DecodeFrames(in, static_cast<size_t>(user_count), &previous);
    kernel = DecodeFrames(in, static_cast<size_t>(kernel_count), &previous);
  }
  ColumnValues index, probability;
  bool known = true, known_too = true;
  DecodeColumn(in, samples.size(), index, known);
  DecodeColumn(in, samples.size(), probability, known_too);
  if (!known || !known_too) in.Fail();
  for (size_t i = 0; i < samples.size() && in.ok(); ++i) {
    const uint64_t stack = index.constant ? index.value : index.values[i];
    if (stack >= stacks.size()) {
      in.Fail();
      return;
    }
    samples[i].user_frames = stacks[static_cast<size_t>(stack)].first;
    samples[i].kernel_frames = stacks[static_cast<size_t>(stack)].second;
    samples[i].probability =
        std::bit_cast<double>(probability.constant ? probability.value : probability.values[i]);
  }
}

}  // namespace cprof
