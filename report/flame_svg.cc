// Writes a flame as SVG: what is drawn at first, then all of it as data, then the script.
//
// Without the script the picture is complete but for what is too narrow. With it, report/flame.js
// takes over from the data; it draws with the same classes and, by LayOut's rules, the same frames.
#include "report/flame_svg.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "report/escape.h"
#include "report/flame_colour.h"
#include "report/flame_layout.h"
#include "report/flame_script.h"
#include "report/json_writer.h"
#include "report/number.h"

namespace cprof {
namespace {

constexpr uint64_t kPixel = kCentipixels;
constexpr uint64_t kWidth = 1200 * kPixel;
constexpr uint64_t kMargin = 12 * kPixel;
constexpr uint64_t kRow = 18 * kPixel;
constexpr uint64_t kFrameHeight = 17 * kPixel;
constexpr uint64_t kHead = 62 * kPixel;  // title and subtitle; the legend follows
constexpr uint64_t kLegendRow = 20 * kPixel;
constexpr uint64_t kFoot = 14 * kPixel;
constexpr uint64_t kCharacter = 663;        // of the frames' font, a wide one of its size
constexpr uint64_t kLegendCharacter = 560;  // of the legend's, on average
constexpr uint64_t kTextInset = 3 * kPixel;
constexpr uint64_t kLeastLabel = 3;          // characters
constexpr uint64_t kLeastPattern = kPixel;   // narrower parts of a frame have no pattern
constexpr size_t kMaxTitleCharacters = 100;  // of the picture

void AppendLength(uint64_t centipixels, std::string* out) {
  AppendUnsigned(centipixels / kPixel, out);
  const uint64_t rest = centipixels % kPixel;
  if (rest == 0) return;
  *out += '.';
  *out += static_cast<char>('0' + rest / 10);
  if (rest % 10 != 0) *out += static_cast<char>('0' + rest % 10);
}

void AppendAttribute(std::string_view name, uint64_t centipixels, std::string* out) {
  *out += ' ';
  *out += name;
  *out += "=\"";
  AppendLength(centipixels, out);
  *out += '"';
}

// At most `fits` characters of printable text; never cut in the middle of one.
std::string Cut(std::string_view printable, uint64_t fits) {
  if (PrintableWidth(printable) <= fits) return std::string(printable);
  size_t bytes = 0;
  for (uint64_t characters = 0; bytes < printable.size(); ++bytes) {
    if ((static_cast<uint8_t>(printable[bytes]) & 0xc0) == 0x80) continue;
    if (characters++ + 1 >= fits) break;
  }
  return std::string(printable.substr(0, bytes)) + "…";
}

class SvgWriter {
 public:
  SvgWriter(const FoldTree& tree, const FlameSvgOptions& options, TextOutput& out)
      : options_(options),
        out_(out),
        flame_(Flatten(tree)),
        boxes_(LayOut(flame_, kWidth - 2 * kMargin, options.min_width_centipixels)) {
    for (const FlameBox& box : boxes_) rows_ = std::max<uint64_t>(rows_, box.depth + 1);
    for (const FlameFrame& frame : flame_.frames) occurs_[static_cast<size_t>(frame.kind)] = true;
    const FoldWeight& whole = flame_.frames[0].total;
    reconstructed_ = whole.reconstructed != 0;
    unknown_ = whole.unknown != 0;
  }

  void Write() {
    Legend();
    Begin();
    for (const FlameBox& box : boxes_) Box(box);
    out_.text() += "</g>\n";
    Head();
    Data();
    out_.text() += "<script><![CDATA[\n";
    out_.Write(kFlameScript);
    out_.text() += "]]></script>\n</svg>\n";
    out_.Drain();
  }

 private:
  uint64_t Top() const { return kHead + legend_rows_ * kLegendRow; }
  uint64_t Height() const { return Top() + rows_ * kRow + kFoot; }
  const FoldWeight& whole() const { return flame_.frames[0].total; }

  void AppendAmount(uint64_t amount, std::string* out) const {
    if (options_.unit == FlameUnit::kNanoseconds) {
      AppendDuration(amount, out);
      return;
    }
    AppendGrouped(amount, out);
    if (options_.counted.empty()) return;
    *out += ' ';
    AppendPrintable(options_.counted, out);
  }

  void Begin() {
    std::string& text = out_.text();
    text +=
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" class=\"cprof-flame\"";
    AppendAttribute("width", kWidth, &text);
    AppendAttribute("height", Height(), &text);
    text += " viewBox=\"0 0 ";
    AppendLength(kWidth, &text);
    text += ' ';
    AppendLength(Height(), &text);
    text += "\" role=\"group\" aria-label=\"";
    AppendXml(options_.title, &text);
    text += "\">\n<style><![CDATA[\n";
    text += kFlameStyle;
    AppendColourRules(options_.palette, options_.differential, &text);
    text +=
        "]]></style>\n<defs><pattern id=\"cprof-reconstructed\" width=\"6\" height=\"6\" "
        "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"2.2\" "
        "height=\"6\" fill=\"#fff\" fill-opacity=\".7\"/></pattern><pattern id=\"cprof-unknown\" "
        "width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><circle cx=\"1.5\" cy=\"1.5\" "
        "r=\"1\" fill-opacity=\".38\"/></pattern></defs>\n<rect class=\"paper\" width=\"100%\" "
        "height=\"100%\" fill=\"#fff\"/>\n<g class=\"frames\">\n";
    out_.Drain();
  }

  // Comes after the frames: the script keeps it in sight, over them.
  void Head() {
    std::string& text = out_.text();
    text += "<g class=\"head\"><rect width=\"100%\" fill=\"#fff\"";
    AppendAttribute("height", Top() - 2 * kPixel, &text);
    text += "/>\n<text class=\"title\" x=\"12\" y=\"29\">";
    std::string title;
    AppendPrintable(options_.title, &title);
    AppendXmlOfPrintable(Cut(title, kMaxTitleCharacters), &text);
    text += "</text>\n<text class=\"subtitle\" x=\"12\" y=\"49\">";
    AppendXml(options_.subtitle, &text);
    text += "</text>\n<g class=\"legend\">\n";
    text += legend_;
    text += "</g>\n</g>\n";
    out_.Drain();
  }

  void Legend() {
    uint64_t left = kMargin;
    const auto add = [&](std::string_view classes, std::string_view words) {
      const uint64_t width = 24 * kPixel + words.size() * kLegendCharacter;
      if (left + width > kWidth - kMargin) {
        ++legend_rows_;
        left = kMargin;
      }
      const uint64_t top = kHead + (legend_rows_ - 1) * kLegendRow;
      const auto swatch = [&](std::string_view drawn) {
        legend_ += "<rect class=\"";
        legend_ += drawn;
        legend_ += '"';
        AppendAttribute("x", left, &legend_);
        AppendAttribute("y", top, &legend_);
        legend_ += " width=\"12\" height=\"12\" rx=\"2\"/>";
      };
      const bool pattern = classes == "rec" || classes == "unk";
      if (pattern) swatch("k12a");
      swatch(classes);
      legend_ += "<text";
      AppendAttribute("x", left + 17 * kPixel, &legend_);
      AppendAttribute("y", top + 10 * kPixel, &legend_);
      legend_ += '>';
      AppendXmlOfPrintable(words, &legend_);
      legend_ += "</text>\n";
      left += width + 6 * kPixel;
    };
    if (options_.differential) {
      LegendOfChange(add);
    } else {
      for (size_t kind = 1; kind < kFrameKindCount; ++kind) {
        if (!occurs_[kind]) continue;
        std::string classes = "k";
        AppendUnsigned(kind, &classes);
        add(classes + 'a', FrameKindName(static_cast<FrameKind>(kind)));
      }
    }
    if (reconstructed_) add("rec", "share that is reconstructed");
    if (unknown_) add("unk", "share that is unknown");
  }

  template <typename Add>
  static void LegendOfChange(const Add& add) {
    for (int step = -kMaxChange; step <= kMaxChange; ++step) {
      std::string classes = "d";
      AppendSigned(step, &classes);
      std::string words = step < 0 ? "-" : step > 0 ? "+" : "equal";
      if (step != 0) {
        AppendUnsigned(ChangePercent(step < 0 ? -step : step), &words);
        words += " %";
        if (step == kMaxChange || step == -kMaxChange) words += " or more";
      }
      add(classes, words);
    }
  }

  void AppendClass(const FlameFrame& frame, std::string* out) const {
    if (options_.differential) {
      *out += 'd';
      AppendSigned(ChangeOf(frame.total.amount, frame.total.before), out);
      return;
    }
    *out += 'k';
    AppendUnsigned(static_cast<uint64_t>(frame.kind), out);
    *out += static_cast<char>('a' + frame.name % kFlameShades);
  }

  // "12.10 ms, 4.50 %", and how well it is known.
  void AppendFigures(const FoldWeight& weight, std::string* out) const {
    const auto share = [out](uint64_t part, uint64_t of, std::string_view words) {
      if (part == 0) return;
      *out += ", ";
      AppendShare(part, of, 1, out);
      *out += words;
    };
    AppendAmount(weight.amount, out);
    *out += ", ";
    AppendShare(weight.amount, whole().amount, 2, out);
    share(weight.reconstructed, weight.amount, " of it reconstructed");
    share(weight.unknown, weight.amount, " of it unknown");
    if (!options_.differential) return;
    *out += "; before: ";
    AppendAmount(weight.before, out);
    *out += ", ";
    AppendShare(weight.before, whole().before, 2, out);
  }

  void Box(const FlameBox& box) {
    const FlameFrame& frame = flame_.frames[box.first];
    std::string words;
    if (box.merged) {
      AppendGrouped(box.end - box.first, &words);
      words += box.end - box.first == 1 ? " narrow frame" : " narrow frames";
    } else {
      words = flame_.names[frame.name];
    }
    std::string figures;
    AppendFigures(box.weight, &figures);

    std::string& text = out_.text();
    const uint64_t left = kMargin + box.left;
    const uint64_t top =
        options_.icicle ? Top() + box.depth * kRow : Top() + (rows_ - box.depth - 1) * kRow;
    // A gap on the right, where there is room for one.
    const uint64_t width = box.width - std::min(box.width / 5, kPixel * 4 / 5);
    text += "<g><title>";
    AppendXmlOfPrintable(words, &text);
    text += " (";
    AppendXmlOfPrintable(figures, &text);
    text += ")</title>";
    const auto rect = [&](std::string_view classes, uint64_t x, uint64_t w) {
      text += "<rect class=\"";
      text += classes;
      text += '"';
      AppendAttribute("x", x, &text);
      AppendAttribute("y", top, &text);
      AppendAttribute("width", w, &text);
      AppendAttribute("height", kFrameHeight, &text);
      text += "/>";
    };
    std::string classes = "b ";
    if (box.merged) {
      classes += 'm';
    } else {
      AppendClass(frame, &classes);
    }
    rect(classes, left, width);
    Patterns(box, left, width, rect);
    const uint64_t fits = width > 2 * kTextInset ? (width - 2 * kTextInset) / kCharacter : 0;
    if (fits >= kLeastLabel && !box.merged) {
      text += "<text";
      AppendAttribute("x", left + kTextInset, &text);
      AppendAttribute("y", top + 1250, &text);
      text += '>';
      AppendXmlOfPrintable(Cut(words, fits), &text);
      text += "</text>";
    }
    text += "</g>\n";
    out_.Drain();
  }

  // From the right end: what is unknown, then what is reconstructed.
  template <typename Rect>
  static void Patterns(const FlameBox& box, uint64_t left, uint64_t width, const Rect& rect) {
    if (box.merged || box.weight.amount == 0) return;
    uint64_t right = left + width;
    const auto part = [&](std::string_view classes, uint64_t amount) {
      const uint64_t drawn = MultiplyDivide(amount, width, 0, box.weight.amount);
      if (drawn < kLeastPattern) return;
      right -= drawn;
      rect(classes, right, drawn);
    };
    part("unk", box.weight.unknown);
    part("rec", box.weight.reconstructed);
  }

  // Columns, since a script reads them fastest. Sparse ones are index, value, index, value ...
  void Data() {
    std::string& text = out_.text();
    text += "<script type=\"application/json\" class=\"data\">{";
    const auto field = [&](std::string_view name, std::string_view value) {
      text += '"';
      text += name;
      text += "\":";
      text += value;
      text += ",\n";
    };
    std::string counted;
    AppendScriptString(options_.counted, &counted);
    field("unit", options_.unit == FlameUnit::kNanoseconds ? "\"ns\"" : "\"count\"");
    field("counted", counted);
    field("icicle", options_.icicle ? "true" : "false");
    field("differential", options_.differential ? "true" : "false");
    Column("head", std::vector<uint64_t>{Top() / kPixel});
    Column("minWidth", std::vector<uint64_t>{options_.min_width_centipixels});
    text += "\"kinds\":[";
    for (size_t kind = 0; kind < kFrameKindCount; ++kind) {
      if (kind > 0) text += ',';
      AppendScriptString(FrameKindName(static_cast<FrameKind>(kind)), &text);
    }
    text += "],\n\"changes\":[";
    for (int step = 1; step <= kMaxChange; ++step) {
      if (step > 1) text += ',';
      AppendUnsigned(ChangePercent(step), &text);
    }
    text += "],\n\"names\":[";
    for (size_t i = 0; i < flame_.names.size(); ++i) {
      if (i > 0) text += ",\n";
      AppendScriptString(flame_.names[i], &text);
      out_.Drain();
    }
    text += "],\n";
    Columns();
    text += "}</script>\n";
    out_.Drain();
  }

  void Columns() {
    const auto all = [this](std::string_view name, auto value) {
      std::vector<uint64_t> column;
      for (const FlameFrame& frame : flame_.frames) column.push_back(value(frame));
      Column(name, column);
    };
    const auto sparse = [this](std::string_view name, auto value) {
      std::vector<uint64_t> column;
      for (size_t i = 0; i < flame_.frames.size(); ++i) {
        if (value(flame_.frames[i]) == 0) continue;
        column.push_back(i);
        column.push_back(value(flame_.frames[i]));
      }
      Column(name, column);
    };
    all("name", [](const FlameFrame& frame) { return frame.name; });
    all("depth", [](const FlameFrame& frame) { return frame.depth; });
    all("kind", [](const FlameFrame& frame) { return static_cast<uint64_t>(frame.kind); });
    sparse("self", [](const FlameFrame& frame) { return frame.self.amount; });
    sparse("reconstructed", [](const FlameFrame& frame) { return frame.self.reconstructed; });
    sparse("unknown", [](const FlameFrame& frame) { return frame.self.unknown; });
    sparse("before", [](const FlameFrame& frame) { return frame.self.before; });
    out_.text() += "\"end\":0";
  }

  void Column(std::string_view name, const std::vector<uint64_t>& values) {
    std::string& text = out_.text();
    text += '"';
    text += name;
    text += "\":[";
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text += i % 32 == 0 ? ",\n" : ",";
      AppendUnsigned(values[i], &text);
      out_.Drain();
    }
    text += "],\n";
  }

  // A JSON string that is no markup either.
  static void AppendScriptString(std::string_view value, std::string* out) {
    std::string json;
    AppendJsonString(value, &json);
    for (const char c : json) {
      switch (c) {
        case '&': *out += "\\u0026"; break;
        case '<': *out += "\\u003c"; break;
        case '>': *out += "\\u003e"; break;
        default: *out += c;
      }
    }
  }

  const FlameSvgOptions& options_;
  TextOutput& out_;
  const FlatFlame flame_;
  const std::vector<FlameBox> boxes_;
  uint64_t rows_ = 1;
  std::array<bool, kFrameKindCount> occurs_{};
  bool reconstructed_ = false;
  bool unknown_ = false;
  std::string legend_;
  uint64_t legend_rows_ = 1;
};

}  // namespace

void WriteFlameSvg(const FoldTree& tree, const FlameSvgOptions& options, TextOutput& out) {
  SvgWriter(tree, options, out).Write();
}

}  // namespace cprof
