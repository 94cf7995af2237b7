// Tells the two forms of a recording apart and reads it.
#include <algorithm>
#include <array>
#include <cstring>

#include "report/event_text.h"

namespace cprof {
namespace {

constexpr size_t kProbeBytes = 16;

// Gives the probed bytes back first, then what follows.
class ResumedSource : public ByteSource {
 public:
  ResumedSource(std::span<const uint8_t> first, ByteSource& rest) : first_(first), rest_(rest) {}
  Result<size_t> Read(std::span<uint8_t> buffer) override {
    if (first_.empty()) return rest_.Read(buffer);
    const size_t size = std::min(buffer.size(), first_.size());
    std::memcpy(buffer.data(), first_.data(), size);
    first_ = first_.subspan(size);
    return size;
  }

 private:
  std::span<const uint8_t> first_;
  ByteSource& rest_;
};

}  // namespace

Result<ReadSummary> ReadAnyRecording(ByteSource& source, StringTable& strings,
                                     RecordingVisitor& visitor) {
  std::array<uint8_t, kProbeBytes> probe{};
  size_t size = 0;
  while (size < probe.size()) {
    auto result = source.Read(std::span(probe).subspan(size));
    if (!result) return result.error();
    if (*result == 0) break;
    size += *result;
  }
  const auto first = std::span<const uint8_t>(probe).first(size);
  ResumedSource resumed(first, source);
  if (size > 0 && LooksLikeText(first)) return ReadTextRecording(resumed, strings, visitor);
  return ReadRecording(resumed, strings, visitor);
}

}  // namespace cprof
