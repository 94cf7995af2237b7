// Geometry and colours; all in whole numbers, so that the same tree gives the same bytes.
#include "report/flame_svg.h"

#include <algorithm>
#include <array>

#include "report/escape.h"
#include "report/number.h"

namespace cprof {
namespace {

// Lengths in tenths of a pixel.
constexpr uint64_t kWidth = 12000;
constexpr uint64_t kMargin = 100;
constexpr uint64_t kRow = 170;
constexpr uint64_t kHead = 600;
constexpr uint64_t kFoot = 200;
constexpr uint64_t kLeast = 1;       // narrower frames are left out
constexpr uint64_t kCharacter = 70;  // of the label's font
constexpr uint64_t kTextInset = 30;

void AppendLength(uint64_t tenths, std::string* out) {
  AppendUnsigned(tenths / 10, out);
  *out += '.';
  AppendUnsigned(tenths % 10, out);
}

// A colour says what kind of frame it is; its shade only tells neighbours apart.
void AppendColour(FrameKind kind, std::string_view name, std::string* out) {
  uint32_t hash = 2166136261;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619;
  const uint32_t shade = (hash >> 8) % 40;
  std::array<uint32_t, 3> rgb{220, 220, 220};
  switch (kind) {
    case FrameKind::kRoot: break;
    case FrameKind::kRequest: rgb = {90 + shade, 150 + shade, 225}; break;
    case FrameKind::kTask: rgb = {100 + shade, 190 + shade, 190}; break;
    case FrameKind::kThread: rgb = {130 + shade, 200 + shade, 130 + shade}; break;
    case FrameKind::kUser: rgb = {240, 150 + shade * 2, 80 + shade}; break;
    case FrameKind::kKernel: rgb = {225, 110 + shade, 90 + shade}; break;
    default: rgb = {190, 190, 190}; break;
  }
  *out += "rgb(";
  for (size_t i = 0; i < rgb.size(); ++i) {
    if (i > 0) *out += ',';
    AppendUnsigned(rgb[i], out);
  }
  *out += ')';
}

class SvgWriter {
 public:
  SvgWriter(const FoldTree& tree, TextOutput& out)
      : tree_(tree), out_(out), totals_(tree.Totals()), children_(tree.Children()) {}

  void Write(std::string_view title, std::string_view subtitle) {
    Measure();
    Head(title, subtitle);
    for (const Box& box : boxes_) Frame(box);
    out_.text() += "</g>\n</svg>\n";
    out_.Drain();
  }

 private:
  struct Box {
    FoldTree::NodeIndex node;
    uint64_t depth;
    uint64_t begin_ns;  // sum of all that is to the left
  };

  uint64_t Left(uint64_t ns) const {
    return kMargin + MultiplyDivide(ns, kWidth - 2 * kMargin, 0, totals_[0].amount);
  }

  // Depth first without recursion: stacks may be as deep as a file says.
  void Measure() {
    if (totals_[0].amount == 0) return;
    std::vector<Box> open{{FoldTree::kRoot, 0, 0}};
    while (!open.empty()) {
      const Box box = open.back();
      open.pop_back();
      const uint64_t end_ns = box.begin_ns + totals_[box.node].amount;
      if (Left(end_ns) - Left(box.begin_ns) < kLeast) continue;
      boxes_.push_back(box);
      depth_ = std::max(depth_, box.depth + 1);
      uint64_t begin_ns = box.begin_ns;
      for (const FoldTree::NodeIndex child : children_[box.node]) {
        open.push_back({child, box.depth + 1, begin_ns});
        begin_ns += totals_[child].amount;
      }
    }
    std::sort(boxes_.begin(), boxes_.end(), [](const Box& a, const Box& b) {
      return a.depth != b.depth ? a.depth < b.depth : a.begin_ns < b.begin_ns;
    });
  }

  uint64_t Height() const { return kHead + depth_ * kRow + kFoot; }

  void Head(std::string_view title, std::string_view subtitle) {
    std::string& text = out_.text();
    const auto size = [&](uint64_t tenths) { AppendUnsigned(tenths / 10, &text); };
    text +=
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "version=\"1.1\" width=\"";
    size(kWidth);
    text += "\" height=\"";
    size(Height());
    text += "\" viewBox=\"0 0 ";
    size(kWidth);
    text += ' ';
    size(Height());
    text += "\" font-family=\"monospace\" font-size=\"12\">\n";
    text += "<rect width=\"100%\" height=\"100%\" fill=\"rgb(250,250,250)\"/>\n";
    text += "<text x=\"600\" y=\"24\" text-anchor=\"middle\" font-size=\"17\">";
    AppendXml(title, &text);
    text += "</text>\n<text x=\"600\" y=\"44\" text-anchor=\"middle\">";
    AppendXml(subtitle, &text);
    text += "</text>\n<g id=\"frames\">\n";
  }

  void Frame(const Box& box) {
    const FoldTree::Node& node = tree_.nodes()[box.node];
    const uint64_t left = Left(box.begin_ns);
    const uint64_t width = Left(box.begin_ns + totals_[box.node].amount) - left;
    const uint64_t top = Height() - kFoot - (box.depth + 1) * kRow;
    std::string& text = out_.text();
    text += "<g><title>";
    AppendXml(node.name, &text);
    text += " (";
    AppendDuration(totals_[box.node].amount, &text);
    text += ", ";
    // A tiny share is written with a "<".
    std::string share;
    AppendShare(totals_[box.node].amount, totals_[0].amount, 2, &share);
    AppendXml(share, &text);
    text += ")</title><rect x=\"";
    AppendLength(left, &text);
    text += "\" y=\"";
    AppendLength(top, &text);
    text += "\" width=\"";
    AppendLength(width, &text);
    text += "\" height=\"16\" rx=\"1\" fill=\"";
    AppendColour(node.kind, node.name, &text);
    text += "\"/>";
    const uint64_t fits = width > 2 * kTextInset ? (width - 2 * kTextInset) / kCharacter : 0;
    if (fits >= 3) {
      text += "<text x=\"";
      AppendLength(left + kTextInset, &text);
      text += "\" y=\"";
      AppendLength(top + 120, &text);
      text += "\">";
      AppendXml(Cut(node.name, fits), &text);
      text += "</text>";
    }
    text += "</g>\n";
    out_.Drain();
  }

  // At most `fits` characters; never in the middle of one.
  static std::string Cut(const std::string& name, uint64_t fits) {
    std::string printable;
    AppendPrintable(name, &printable);
    // Escaped text is longer than what AppendXml makes of the raw name only by its own escapes, so
    // cut the raw name where the escaped one fits.
    if (PrintableWidth(printable) <= fits) return name;
    size_t bytes = 0;
    std::string head;
    while (bytes < name.size()) {
      size_t next = bytes + 1;
      while (next < name.size() && (static_cast<uint8_t>(name[next]) & 0xc0) == 0x80) ++next;
      std::string longer = head;
      AppendPrintable(std::string_view(name).substr(bytes, next - bytes), &longer);
      if (PrintableWidth(longer) + 2 > fits) break;
      head = std::move(longer);
      bytes = next;
    }
    return name.substr(0, bytes) + "..";
  }

  const FoldTree& tree_;
  TextOutput& out_;
  const std::vector<FoldWeight> totals_;
  const std::vector<std::vector<FoldTree::NodeIndex>> children_;
  std::vector<Box> boxes_;
  uint64_t depth_ = 1;
};

}  // namespace

void WriteFlameSvg(const FoldTree& tree, const FlameSvgOptions& options, TextOutput& out) {
  SvgWriter(tree, out).Write(options.title, options.subtitle);
}

}  // namespace cprof
