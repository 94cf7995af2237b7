// Colours of flames, by kind of frame or by change.
#ifndef CPROF_REPORT_FLAME_COLOUR_H_
#define CPROF_REPORT_FLAME_COLOUR_H_

#include <cstdint>
#include <string>

#include "report/flame_svg.h"
#include "report/fold.h"

namespace cprof {

// Each kind has this many shades of one colour, which only tell neighbours apart.
inline constexpr uint32_t kFlameShades = 3;

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
};
Colour KindColour(FlamePalette palette, FrameKind kind, uint32_t shade);

// Steps of change, from -kMaxChange (shrank most) to kMaxChange; 0: as good as equal.
inline constexpr int kMaxChange = 4;
int ChangeOf(uint64_t amount, uint64_t before);
// The change, in per cent of the larger one of both, at which step > 0 begins.
uint32_t ChangePercent(int step);
Colour ChangeColour(int step);

// Rules of a style sheet: ".kNs { fill: ... }" for kind N and shade s, ".dN" and ".d-N" for steps.
void AppendColourRules(FlamePalette palette, bool differential, std::string* out);

}  // namespace cprof

#endif  // CPROF_REPORT_FLAME_COLOUR_H_
