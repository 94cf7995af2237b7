// The frame of a chunk: header, checksums, compression. The law is cprof-format(5).
#ifndef CPROF_FORMAT_CHUNK_H_
#define CPROF_FORMAT_CHUNK_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/recording.h"

namespace cprof {

inline constexpr std::array<uint8_t, 8> kFileMagic = {0x89, 'C', 'P', 'R', 'O', 'F', 0x0d, 0x0a};
inline constexpr std::array<uint8_t, 4> kChunkMagic = {'c', 'p', 'C', 'K'};
inline constexpr uint16_t kMajorVersion = 1;
inline constexpr uint16_t kMinorVersion = 0;
inline constexpr size_t kPreambleSize = 16;
inline constexpr size_t kChunkHeaderSize = 104;
inline constexpr size_t kChunkAlignment = 8;

// Limits of the format. They bound what a reader must hold for one chunk, whatever the chunk says.
inline constexpr uint32_t kMaxChunkRecords = 1U << 16;
inline constexpr uint32_t kMaxChunkBytes = 1U << 24;    // stored, and after decompression
inline constexpr uint32_t kMaxChunkSamples = 1U << 12;  // records of a samples chunk
inline constexpr uint32_t kMaxStackFrames = 127;        // user and kernel each
inline constexpr uint32_t kMaxListLength = 1U << 16;    // attributes, targets, adapters
inline constexpr uint32_t kMaxStrings = 1U << 20;       // in a recording
inline constexpr uint32_t kMaxStringBytes = 1U << 12;   // in one text of the string table
inline constexpr uint32_t kMaxStreams = 1U << 20;       // stream ids are below

enum class ChunkType : uint16_t {
  kSession = 1,
  kStream = 2,
  kEvents = 3,
  kSamples = 4,
  kBreak = 5,
  kMark = 6,
  kMappings = 7,
  kKernelSymbols = 8,
  kFooter = 9,
};
inline constexpr uint16_t kSkippableBit = 0x8000;

enum class Codec : uint16_t { kStored = 0, kZstd = 1 };

struct ChunkHeader {
  uint16_t type = 0;
  uint16_t codec = 0;
  uint64_t session = 0;            // the first 8 bytes of the session id, as a little-endian number
  StreamId stream = kEveryStream;  // where the chunk belongs to none
  uint32_t records = 0;
  uint64_t first_ns = 0;
  uint64_t last_ns = 0;
  uint32_t stored_size = 0;
  uint32_t raw_size = 0;
  std::array<uint64_t, 2> verbs{};
  uint64_t number = 0;
  uint64_t newest_ns = 0;      // no record in the chunks before this one is newer
  uint64_t prior_records = 0;  // events and samples of this stream in the chunks before this one
  uint64_t payload_checksum = 0;

  bool Has(ChunkType wanted) const { return type == static_cast<uint16_t>(wanted); }
  // Header, payload and padding.
  size_t SizeOnDisk() const {
    return (kChunkHeaderSize + stored_size + kChunkAlignment - 1) & ~(kChunkAlignment - 1);
  }
};

std::array<uint8_t, kPreambleSize> EncodePreamble();
enum class PreambleState { kGood, kNewer, kDamaged, kForeign };
// `bytes` are the first of a file. kForeign: too short, or neither magic nor checksum is ours.
PreambleState CheckPreamble(std::span<const uint8_t> bytes, uint16_t* major);

uint64_t SessionWord(const std::array<uint8_t, 16>& session_id);

std::array<uint8_t, kChunkHeaderSize> EncodeChunkHeader(const ChunkHeader& header);
// Nothing where the magic, the checksum or a limit is wrong.
std::optional<ChunkHeader> DecodeChunkHeader(std::span<const uint8_t> bytes);
uint64_t PayloadChecksum(std::span<const uint8_t> stored);

// zstd with its contexts kept between chunks.
class Compressor {
 public:
  explicit Compressor(int level);
  ~Compressor();
  // Returns what is to be stored: in a buffer of its own, or `raw` itself where nothing is gained.
  std::span<const uint8_t> Compress(std::span<const uint8_t> raw, Codec* codec);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  // The payload; nothing where it is not what the header says. Valid until the next call.
  std::optional<std::span<const uint8_t>> Decompress(const ChunkHeader& header,
                                                     std::span<const uint8_t> stored);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cprof

#endif  // CPROF_FORMAT_CHUNK_H_
