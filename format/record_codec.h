// Records that are no events to chunk payloads and back. The law is cprof-format(5).
#ifndef CPROF_FORMAT_RECORD_CODEC_H_
#define CPROF_FORMAT_RECORD_CODEC_H_

#include <span>
#include <utility>
#include <vector>

#include "format/cursor.h"
#include "format/recording.h"

namespace cprof {

// Each Decode makes the cursor fail where the payload is not well formed; its value is then void.
void EncodeSession(const SessionHeader& header, Builder& out);
SessionHeader DecodeSession(Cursor& in);

// A break's stream and times stand in the chunk header.
void EncodeBreak(const Break& lost, Builder& out);
Break DecodeBreak(Cursor& in);

void EncodeMark(const RoundMark& mark, Builder& out);
RoundMark DecodeMark(Cursor& in);

void EncodeMapping(const Mapping& mapping, Builder& out);
Mapping DecodeMapping(Cursor& in);

void EncodeKernelSymbol(const KernelSymbol& symbol, uint64_t previous_offset, Builder& out);
KernelSymbol DecodeKernelSymbol(Cursor& in, uint64_t previous_offset);

// How many events and samples of each stream the whole recording has.
using StreamTotals = std::vector<std::pair<StreamId, uint64_t>>;
void EncodeFooter(const Footer& footer, const StreamTotals& totals, Builder& out);
Footer DecodeFooter(Cursor& in, StreamTotals* totals);

// What samples have beside their events: stacks, each once a chunk, and probabilities.
void EncodeStacks(std::span<const StackSample> samples, Builder& out);
void DecodeStacks(Cursor& in, std::span<StackSample> samples);

}  // namespace cprof

#endif  // CPROF_FORMAT_RECORD_CODEC_H_
