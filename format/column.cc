// Columns: numbers of one kind beside each other, so that what they have in common is said once.
// Byte planes (all lowest bytes, then all second bytes, ...) leave noise in one plane and let zstd
// make the others vanish.
#include "format/column.h"

#include <algorithm>
#include <bit>

#include "format/result.h"

namespace cprof {
namespace {

// More entries than this and the index is as wide as most deltas are.
constexpr size_t kMaxDictionary = 4096;

unsigned BytesFor(uint64_t range) {
  return std::max(1U, (static_cast<unsigned>(std::bit_width(range)) + 7) / 8);
}

template <typename Value>
void PutPlanes(size_t count, unsigned width, Builder& out, Value value) {
  uint8_t* at = out.Room(count * width).data();
  switch (width) {
    case 1:
      for (size_t i = 0; i < count; ++i) at[i] = static_cast<uint8_t>(value(i));
      return;
    case 2:
      for (size_t i = 0; i < count; ++i) {
        const uint64_t v = value(i);
        at[i] = static_cast<uint8_t>(v);
        at[count + i] = static_cast<uint8_t>(v >> 8);
      }
      return;
    default:
      for (size_t i = 0; i < count; ++i) {
        uint64_t v = value(i);
        for (unsigned plane = 0; plane < width; ++plane, v >>= 8) {
          at[plane * count + i] = static_cast<uint8_t>(v);
        }
      }
  }
}

// The planes are added one at a time: simple loops that compilers turn into vector code.
void GetPlanes(std::span<const uint8_t> bytes, size_t count, unsigned width, uint64_t* out) {
  if (width == 1) {
    for (size_t i = 0; i < count; ++i) out[i] = bytes[i];
    return;
  }
  const uint8_t* low = bytes.data();
  const uint8_t* high = low + count;
  for (size_t i = 0; i < count; ++i) out[i] = uint64_t{low[i]} | uint64_t{high[i]} << 8;
  for (unsigned plane = 2; plane < width; ++plane) {
    const uint8_t* at = low + plane * count;
    const unsigned shift = 8 * plane;
    for (size_t i = 0; i < count; ++i) out[i] |= uint64_t{at[i]} << shift;
  }
}

}  // namespace

struct ColumnEncoder::Shape {
  bool constant = true;
  bool counting = true;
  size_t runs = 1;
  uint64_t least = 0;
  int64_t least_step = 0;
  unsigned plain_width = 1;
  unsigned delta_width = 1;
};

ColumnEncoder::Shape ColumnEncoder::Measure(std::span<const uint64_t> values) {
  Shape shape;
  const size_t count = values.size();
  uint64_t different = 0;
  for (size_t i = 1; i < count; ++i) different |= values[i] ^ values[0];
  shape.constant = different == 0;
  if (shape.constant) return shape;
  const uint64_t step = values[1] - values[0];
  uint64_t uneven = 0;
  for (size_t i = 1; i < count; ++i) uneven |= (values[i] - values[i - 1]) ^ step;
  shape.counting = uneven == 0;
  if (shape.counting) return shape;
  uint64_t least = values[0], most = values[0];
  int64_t least_step = static_cast<int64_t>(step), most_step = least_step;
  size_t runs = 1;
  for (size_t i = 1; i < count; ++i) {
    least = std::min(least, values[i]);
    most = std::max(most, values[i]);
    const auto delta = static_cast<int64_t>(values[i] - values[i - 1]);
    least_step = std::min(least_step, delta);
    most_step = std::max(most_step, delta);
    runs += delta != 0;
  }
  shape.runs = runs;
  shape.least = least;
  shape.least_step = least_step;
  shape.plain_width = BytesFor(most - least);
  shape.delta_width =
      BytesFor(static_cast<uint64_t>(most_step) - static_cast<uint64_t>(least_step));
  return shape;
}

bool ColumnEncoder::BuildDictionary(std::span<const uint64_t> values, size_t limit) {
  constexpr size_t kSlots = kMaxDictionary * 2;
  slots_.assign(kSlots, 0);
  entries_.clear();
  indexes_.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    size_t slot = (values[i] * 0x9e3779b97f4a7c15ULL) >> 51;
    while (slots_[slot] != 0 && entries_[slots_[slot] - 1] != values[i]) {
      slot = (slot + 1) % kSlots;
    }
    if (slots_[slot] == 0) {
      if (entries_.size() == limit) return false;
      entries_.push_back(values[i]);
      slots_[slot] = static_cast<uint32_t>(entries_.size());
    }
    indexes_[i] = slots_[slot] - 1;
  }
  return true;
}

void ColumnEncoder::Body(std::span<const uint64_t> values, const Shape& shape, Encoding encoding) {
  const size_t count = values.size();
  switch (encoding) {
    case Encoding::kConstant: body_.Varint(values[0]); break;
    case Encoding::kCounting:
      body_.Varint(values[0]);
      body_.Varint(ZigZag(static_cast<int64_t>(values[1] - values[0])));
      break;
    case Encoding::kPlain:
      body_.Varint(shape.least);
      body_.Varint(shape.plain_width);
      PutPlanes(count, shape.plain_width, body_, [&](size_t i) { return values[i] - shape.least; });
      break;
    case Encoding::kDelta: {
      const auto least = static_cast<uint64_t>(shape.least_step);
      body_.Varint(values[0]);
      body_.Varint(ZigZag(shape.least_step));
      body_.Varint(shape.delta_width);
      PutPlanes(count - 1, shape.delta_width, body_,
                [&](size_t i) { return values[i + 1] - values[i] - least; });
      break;
    }
    case Encoding::kDictionary: {
      const unsigned width = BytesFor(entries_.size() - 1);
      body_.Varint(entries_.size());
      body_.Varint(width);
      for (const uint64_t entry : entries_) body_.Varint(entry);
      PutPlanes(count, width, body_, [&](size_t i) { return indexes_[i]; });
      break;
    }
    case Encoding::kRuns:
      for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && values[end] == values[i]) ++end;
        body_.Varint(values[i]);
        body_.Varint(end - i);
        i = end;
      }
      break;
  }
}

void ColumnEncoder::Encode(std::span<const uint64_t> values, Builder& out) {
  CPROF_CHECK(!values.empty());
  const Shape shape = Measure(values);
  Encoding encoding = Encoding::kConstant;
  if (!shape.constant) {
    encoding = Encoding::kCounting;
    if (!shape.counting) {
      encoding = shape.delta_width < shape.plain_width ? Encoding::kDelta : Encoding::kPlain;
      const unsigned width = std::min(shape.delta_width, shape.plain_width);
      size_t cost = width * values.size();
      // A run takes its value and a length.
      const size_t runs_cost = shape.runs * (BytesFor(shape.least) + width + 2);
      if (runs_cost < cost) {
        encoding = Encoding::kRuns;
        cost = runs_cost;
      }
      const size_t limit = std::min(kMaxDictionary, values.size() / 8 + 1);
      if (width >= 2 && BuildDictionary(values, limit) &&
          entries_.size() * 10 + BytesFor(entries_.size() - 1) * values.size() < cost) {
        encoding = Encoding::kDictionary;
      }
    }
  }
  body_.Clear();
  Body(values, shape, encoding);
  out.Varint(static_cast<uint64_t>(encoding));
  out.Varint(body_.size());
  out.Bytes(body_.bytes());
}

namespace {

// Reads width and planes; the cursor fails where they are not there.
void ReadPlanes(Cursor& in, size_t count, uint64_t* out) {
  const auto width = in.Varint<uint8_t>();
  if (width < 1 || width > 8) {
    in.Fail();
    return;
  }
  const auto bytes = in.Bytes(uint64_t{width} * count);
  if (in.ok()) GetPlanes(bytes, count, width, out);
}

void DecodeDelta(Cursor& in, std::vector<uint64_t>& values) {
  uint64_t value = in.Varint();
  const auto least = static_cast<uint64_t>(UnZigZag(in.Varint()));
  values[0] = value;
  ReadPlanes(in, values.size() - 1, values.data() + 1);
  if (!in.ok()) return;
  for (size_t i = 1; i < values.size(); ++i) values[i] = value += values[i] + least;
}

void DecodeDictionary(Cursor& in, std::vector<uint64_t>& values) {
  const size_t entry_count = in.Count(1, values.size());
  const auto width = in.Varint<uint8_t>();
  if (!in.ok() || entry_count == 0 || width < 1 || width > 8) {
    in.Fail();
    return;
  }
  std::vector<uint64_t> entries(entry_count);
  for (uint64_t& entry : entries) entry = in.Varint();
  const auto bytes = in.Bytes(uint64_t{width} * values.size());
  if (!in.ok()) return;
  GetPlanes(bytes, values.size(), width, values.data());
  for (uint64_t& value : values) {
    if (value >= entry_count) {
      in.Fail();
      return;
    }
    value = entries[value];
  }
}

void DecodeRuns(Cursor& in, std::vector<uint64_t>& values) {
  for (size_t i = 0; i < values.size();) {
    const uint64_t value = in.Varint();
    const uint64_t length = in.Varint();
    if (!in.ok() || length == 0 || length > values.size() - i) {
      in.Fail();
      return;
    }
    std::fill_n(values.begin() + static_cast<ptrdiff_t>(i), length, value);
    i += static_cast<size_t>(length);
  }
}

void DecodeBody(Cursor& in, Encoding encoding, ColumnValues& column) {
  std::vector<uint64_t>& values = column.values;
  switch (encoding) {
    case Encoding::kConstant: column.value = in.Varint(); break;
    case Encoding::kCounting: {
      uint64_t value = in.Varint();
      const auto step = static_cast<uint64_t>(UnZigZag(in.Varint()));
      for (uint64_t& slot : values) {
        slot = value;
        value += step;
      }
      break;
    }
    case Encoding::kPlain: {
      const uint64_t least = in.Varint();
      ReadPlanes(in, values.size(), values.data());
      if (!in.ok()) return;
      for (uint64_t& value : values) value += least;
      break;
    }
    case Encoding::kDelta: DecodeDelta(in, values); break;
    case Encoding::kDictionary: DecodeDictionary(in, values); break;
    case Encoding::kRuns: DecodeRuns(in, values); break;
  }
}

}  // namespace

void DecodeColumn(Cursor& in, size_t count, ColumnValues& column, bool& known) {
  const uint64_t encoding = in.Varint();
  Cursor body(in.Bytes(in.Varint()));
  known = encoding <= static_cast<uint64_t>(Encoding::kRuns);
  column.constant = encoding == static_cast<uint64_t>(Encoding::kConstant);
  column.value = 0;
  if (!in.ok() || !known) return;
  if (count == 0) {
    in.Fail();
    return;
  }
  // A chunk has at most kMaxChunkRecords rows, so this is bounded before the body is looked at.
  if (!column.constant) column.values.resize(count);
  DecodeBody(body, static_cast<Encoding>(encoding), column);
  if (!body.ok()) in.Fail();
}

}  // namespace cprof
