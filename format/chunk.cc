// The frame of a chunk.
#include "format/chunk.h"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "format/cursor.h"
#include "format/result.h"

namespace cprof {
namespace {

// The header checksum covers everything before itself.
constexpr size_t kHeaderChecksumOffset = kChunkHeaderSize - 8;
constexpr size_t kPreambleChecksumOffset = kPreambleSize - 4;
// Below this size compression costs more than it saves.
constexpr size_t kMinCompressBytes = 64;

uint64_t Hash(std::span<const uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

template <size_t kSize>
std::array<uint8_t, kSize> ToArray(const Builder& builder) {
  CPROF_CHECK(builder.size() == kSize);
  std::array<uint8_t, kSize> bytes;
  std::copy_n(builder.bytes().begin(), kSize, bytes.begin());
  return bytes;
}

}  // namespace

std::array<uint8_t, kPreambleSize> EncodePreamble() {
  Builder out;
  out.Bytes(kFileMagic);
  out.Fixed(kMajorVersion);
  out.Fixed(kMinorVersion);
  out.Fixed(static_cast<uint32_t>(Hash(out.bytes())));
  return ToArray<kPreambleSize>(out);
}

PreambleState CheckPreamble(std::span<const uint8_t> bytes, uint16_t* major) {
  if (bytes.size() < kPreambleSize) return PreambleState::kForeign;
  Cursor in(bytes.first(kPreambleSize));
  const bool magic = std::ranges::equal(in.Bytes(kFileMagic.size()), kFileMagic);
  *major = in.Fixed<uint16_t>();
  in.Fixed<uint16_t>();
  const bool intact =
      in.Fixed<uint32_t>() == static_cast<uint32_t>(Hash(bytes.first(kPreambleChecksumOffset)));
  if (!magic) return PreambleState::kForeign;
  if (!intact) return PreambleState::kDamaged;
  return *major > kMajorVersion ? PreambleState::kNewer : PreambleState::kGood;
}

uint64_t SessionWord(const std::array<uint8_t, 16>& session_id) {
  return Cursor(session_id).Fixed<uint64_t>();
}

std::array<uint8_t, kChunkHeaderSize> EncodeChunkHeader(const ChunkHeader& header) {
  Builder out;
  out.Reserve(kChunkHeaderSize);
  out.Bytes(kChunkMagic);
  out.Fixed(header.type);
  out.Fixed(header.codec);
  out.Fixed(header.session);
  out.Fixed(header.stream);
  out.Fixed(header.records);
  out.Fixed(header.first_ns);
  out.Fixed(header.last_ns);
  out.Fixed(header.stored_size);
  out.Fixed(header.raw_size);
  out.Fixed(header.verbs[0]);
  out.Fixed(header.verbs[1]);
  out.Fixed(header.number);
  out.Fixed(header.newest_ns);
  out.Fixed(header.prior_records);
  out.Fixed(header.payload_checksum);
  out.Fixed(Hash(out.bytes()));
  return ToArray<kChunkHeaderSize>(out);
}

std::optional<ChunkHeader> DecodeChunkHeader(std::span<const uint8_t> bytes) {
  if (bytes.size() < kChunkHeaderSize) return std::nullopt;
  if (!std::ranges::equal(bytes.first(kChunkMagic.size()), kChunkMagic)) return std::nullopt;
  Cursor in(bytes.first(kChunkHeaderSize));
  in.Bytes(kChunkMagic.size());
  ChunkHeader header;
  header.type = in.Fixed<uint16_t>();
  header.codec = in.Fixed<uint16_t>();
  header.session = in.Fixed<uint64_t>();
  header.stream = in.Fixed<uint32_t>();
  header.records = in.Fixed<uint32_t>();
  header.first_ns = in.Fixed<uint64_t>();
  header.last_ns = in.Fixed<uint64_t>();
  header.stored_size = in.Fixed<uint32_t>();
  header.raw_size = in.Fixed<uint32_t>();
  header.verbs[0] = in.Fixed<uint64_t>();
  header.verbs[1] = in.Fixed<uint64_t>();
  header.number = in.Fixed<uint64_t>();
  header.newest_ns = in.Fixed<uint64_t>();
  header.prior_records = in.Fixed<uint64_t>();
  header.payload_checksum = in.Fixed<uint64_t>();
  if (in.Fixed<uint64_t>() != Hash(bytes.first(kHeaderChecksumOffset))) return std::nullopt;
  if (header.records > kMaxChunkRecords || header.stored_size > kMaxChunkBytes ||
      header.raw_size > kMaxChunkBytes) {
    return std::nullopt;
  }
  return header;
}

uint64_t PayloadChecksum(std::span<const uint8_t> stored) { return Hash(stored); }

struct Compressor::State {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::vector<uint8_t> buffer;
  bool enabled = true;
  ~State() { ZSTD_freeCCtx(context); }
};

Compressor::Compressor(int level) : state_(std::make_unique<State>()) {
  CPROF_CHECK(state_->context != nullptr);
  state_->enabled = level != 0;
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_compressionLevel, level);
}
Compressor::~Compressor() = default;

std::span<const uint8_t> Compressor::Compress(std::span<const uint8_t> raw, Codec* codec) {
  *codec = Codec::kStored;
  if (!state_->enabled || raw.size() < kMinCompressBytes) return raw;
  state_->buffer.resize(std::max(state_->buffer.size(), ZSTD_compressBound(raw.size())));
  const size_t size = ZSTD_compress2(state_->context, state_->buffer.data(), state_->buffer.size(),
                                     raw.data(), raw.size());
  if (ZSTD_isError(size) || size >= raw.size()) return raw;
  *codec = Codec::kZstd;
  return std::span(state_->buffer).first(size);
}

struct Decompressor::State {
  ZSTD_DCtx* context = nullptr;  // made for the first chunk that is compressed
  std::vector<uint8_t> buffer;
  ~State() { ZSTD_freeDCtx(context); }
};

Decompressor::Decompressor() : state_(std::make_unique<State>()) {}
Decompressor::~Decompressor() = default;

std::optional<std::span<const uint8_t>> Decompressor::Decompress(const ChunkHeader& header,
                                                                 std::span<const uint8_t> stored) {
  if (header.codec == static_cast<uint16_t>(Codec::kStored)) {
    if (stored.size() != header.raw_size) return std::nullopt;
    return stored;
  }
  if (header.codec != static_cast<uint16_t>(Codec::kZstd)) return std::nullopt;
  // The frame must agree with the header before anything is allocated for it.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != header.raw_size) {
    return std::nullopt;
  }
  state_->buffer.resize(std::max<size_t>(state_->buffer.size(), header.raw_size));
  if (state_->context == nullptr) state_->context = ZSTD_createDCtx();
  CPROF_CHECK(state_->context != nullptr);
  const size_t size = ZSTD_decompressDCtx(state_->context, state_->buffer.data(), header.raw_size,
                                          stored.data(), stored.size());
  if (ZSTD_isError(size) || size != header.raw_size) return std::nullopt;
  return std::span<const uint8_t>(state_->buffer).first(size);
}

}  // namespace cprof
