// Colours of flames: legible, and apart for every eye in the palette that says so.
#include "report/flame_colour.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace cprof {
namespace {

using Triple = std::array<double, 3>;

double Linear(uint8_t part) {
  const double c = part / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

Triple Linear(const Colour& colour) {
  return {Linear(colour.red), Linear(colour.green), Linear(colour.blue)};
}

double Luminance(const Triple& rgb) { return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]; }

Triple Lab(const Triple& rgb) {
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.95047);
  const double y = f(Luminance(rgb));
  const double z = f((0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

// Machado, Oliveira and Fernandes (2009), severity 1: how colours look to those without the long,
// the middle or the short cones; first, to those with all.
constexpr std::array<std::array<Triple, 3>, 4> kEyes = {{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968},
      {0.280085, 0.672501, 0.047413},
      {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779},
      {-0.078411, 0.930809, 0.147602},
      {0.004733, 0.691367, 0.303900}}},
}};

Triple Seen(const Colour& colour, const std::array<Triple, 3>& eye) {
  const Triple rgb = Linear(colour);
  Triple seen{};
  for (size_t i = 0; i < 3; ++i) {
    const double sum = eye[i][0] * rgb[0] + eye[i][1] * rgb[1] + eye[i][2] * rgb[2];
    seen[i] = std::min(1.0, std::max(0.0, sum));
  }
  return Lab(seen);
}

double Distance(const Triple& a, const Triple& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(FlameColour, ColourBlindPaletteKeepsKindsApartForEveryEye) {
  for (const auto& eye : kEyes) {
    for (size_t a = 1; a < kFrameKindCount; ++a) {
      for (size_t b = a + 1; b < kFrameKindCount; ++b) {
        const auto colour = [](size_t kind) {
          return KindColour(FlamePalette::kColourBlind, static_cast<FrameKind>(kind), 0);
        };
        EXPECT_GE(Distance(Seen(colour(a), eye), Seen(colour(b), eye)), 18)
            << FrameKindName(static_cast<FrameKind>(a)) << " and "
            << FrameKindName(static_cast<FrameKind>(b));
      }
    }
  }
}

TEST(FlameColour, DarkTextIsLegibleOnAllOfThem) {
  const double text = Luminance(Linear(Colour{0x16, 0x18, 0x1d}));
  const auto contrast = [text](const Colour& colour) {
    return (Luminance(Linear(colour)) + 0.05) / (text + 0.05);
  };
  for (const FlamePalette palette : {FlamePalette::kDefault, FlamePalette::kColourBlind}) {
    for (size_t kind = 0; kind < kFrameKindCount; ++kind) {
      for (uint32_t shade = 0; shade < kFlameShades; ++shade) {
        EXPECT_GE(contrast(KindColour(palette, static_cast<FrameKind>(kind), shade)), 4.5) << kind;
      }
    }
  }
  for (int step = -kMaxChange; step <= kMaxChange; ++step) {
    EXPECT_GE(contrast(ChangeColour(step)), 4.5) << step;
  }
}

TEST(FlameColour, StepsOfChangeBeginWhereTheySay) {
  EXPECT_EQ(ChangeOf(0, 0), 0);
  EXPECT_EQ(ChangeOf(1000, 981), 0);
  EXPECT_EQ(ChangeOf(1000, 980), 1);
  EXPECT_EQ(ChangeOf(980, 1000), -1);
  EXPECT_EQ(ChangeOf(1000, 900), 2);
  EXPECT_EQ(ChangeOf(1000, 750), 3);
  EXPECT_EQ(ChangeOf(1000, 500), 4);
  EXPECT_EQ(ChangeOf(1, 0), kMaxChange);
  EXPECT_EQ(ChangeOf(0, 1), -kMaxChange);
}

}  // namespace
}  // namespace cprof
