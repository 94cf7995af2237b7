// All colours are light enough for dark text on them.
#include "report/flame_colour.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "report/number.h"

namespace cprof {
namespace {

using Palette = std::array<Colour, kFrameKindCount>;  // by FrameKind

constexpr Palette kDefaultColours = {{
    {226, 228, 233},  // all
    {122, 172, 240},  // request
    {98, 202, 190},   // task
    {183, 160, 240},  // io
    {228, 150, 208},  // work
    {226, 196, 64},   // resource
    {146, 206, 128},  // thread
    {248, 190, 120},  // running
    {200, 184, 164},  // waiting
    {250, 166, 84},   // user stack
    {238, 122, 102},  // kernel stack
    {224, 224, 224},  // not sampled
    {196, 196, 196},  // unknown
}};

// Any two kinds differ at least by 18 in CIELAB, for eyes of all kinds and for those that lack one
// kind of cone; found by search from colours of Paul Tol's schemes.
constexpr Palette kColourBlindColours = {{
    {232, 232, 232},  // all
    {110, 128, 212},  // request
    {32, 154, 116},   // task
    {254, 182, 148},  // io
    {150, 184, 236},  // work
    {166, 124, 20},   // resource
    {186, 170, 4},    // thread
    {238, 225, 80},   // running
    {150, 124, 172},  // waiting
    {246, 147, 91},   // user stack
    {234, 66, 102},   // kernel stack
    {232, 232, 232},  // not sampled
    {177, 177, 177},  // unknown
}};

// Red and blue differ for every eye.
constexpr std::array<Colour, 2 * kMaxChange + 1> kChangeColours = {{
    {67, 147, 195},
    {116, 173, 209},
    {158, 202, 225},
    {209, 229, 240},
    {240, 240, 240},
    {253, 219, 199},
    {252, 187, 161},
    {246, 146, 118},
    {232, 104, 84},
}};

constexpr std::array<uint32_t, kMaxChange + 1> kChangePercent = {0, 2, 10, 25, 50};

// Each shade is a tenth of the way from the one before to white.
constexpr Colour Lighter(const Colour& base, uint32_t shade) {
  const auto lighter = [shade](uint8_t part) {
    return static_cast<uint8_t>(part + (255U - part) * std::min(shade, kFlameShades - 1) / 10);
  };
  return {lighter(base.red), lighter(base.green), lighter(base.blue)};
}

// Text that the compiler makes, since most of it is in every flame.
class Rules {
 public:
  constexpr explicit Rules(const Palette& palette) {
    for (size_t kind = 0; kind < palette.size(); ++kind) {
      for (uint32_t shade = 0; shade < kFlameShades; ++shade) {
        Add(".k");
        if (kind >= 10) Add(static_cast<char>('0' + kind / 10));
        Add(static_cast<char>('0' + kind % 10));
        Add(static_cast<char>('a' + shade));
        AddFill(Lighter(palette[kind], shade));
      }
      Add('\n');
    }
  }
  // For steps of change.
  constexpr explicit Rules(const std::array<Colour, 2 * kMaxChange + 1>& colours) {
    for (int step = -kMaxChange; step <= kMaxChange; ++step) {
      Add(step < 0 ? ".d-" : ".d");
      Add(static_cast<char>('0' + (step < 0 ? -step : step)));
      AddFill(colours[static_cast<size_t>(step + kMaxChange)]);
    }
    Add('\n');
  }
  constexpr std::string_view text() const { return {text_.data(), size_}; }

 private:
  constexpr void Add(char c) { text_[size_++] = c; }
  constexpr void Add(std::string_view text) {
    for (const char c : text) Add(c);
  }
  constexpr void AddFill(const Colour& colour) {
    Add("{fill:#");
    for (const uint8_t part : {colour.red, colour.green, colour.blue}) {
      for (const int shift : {4, 0}) Add("0123456789abcdef"[(part >> shift) & 15]);
    }
    Add('}');
  }

  std::array<char, 1024> text_{};
  size_t size_ = 0;
};

static_assert(kFrameKindCount < 100 && kMaxChange < 10);
constexpr Rules kDefaultRules(kDefaultColours);
constexpr Rules kColourBlindRules(kColourBlindColours);
constexpr Rules kChangeRules(kChangeColours);

}  // namespace

Colour KindColour(FlamePalette palette, FrameKind kind, uint32_t shade) {
  const Palette& colours =
      palette == FlamePalette::kDefault ? kDefaultColours : kColourBlindColours;
  return Lighter(colours[static_cast<size_t>(kind)], shade);
}

int ChangeOf(uint64_t amount, uint64_t before) {
  const uint64_t larger = std::max(amount, before);
  if (larger == 0) return 0;
  const uint64_t change = amount > before ? amount - before : before - amount;
  const uint64_t percent = MultiplyDivide(change, 100, 0, larger);
  int step = 0;
  while (step < kMaxChange && percent >= ChangePercent(step + 1)) ++step;
  return amount > before ? step : -step;
}

uint32_t ChangePercent(int step) { return kChangePercent[static_cast<size_t>(step)]; }

Colour ChangeColour(int step) { return kChangeColours[static_cast<size_t>(step + kMaxChange)]; }

void AppendColourRules(FlamePalette palette, bool differential, std::string* out) {
  *out += (palette == FlamePalette::kDefault ? kDefaultRules : kColourBlindRules).text();
  if (differential) *out += kChangeRules.text();
}

}  // namespace cprof
