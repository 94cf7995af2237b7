// Alignment, rounding and escaping of tables.
#include "report/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cprof {
namespace {

// Longer names are cut, in text only and not in the last column.
constexpr size_t kMaxTextWidth = 64;

void AppendPaddedText(const std::string& text, size_t width, bool left, std::string* out) {
  const size_t own = PrintableWidth(text);
  const size_t padding = own < width ? width - own : 0;
  if (!left) out->append(padding, ' ');
  *out += text;
  if (left) out->append(padding, ' ');
}

std::string NameText(const std::string& name, bool cut) {
  std::string printable;
  AppendPrintable(name, &printable);
  return cut ? CutPrintable(std::move(printable), kMaxTextWidth) : printable;
}

// Times of a row in us. Parts are rounded down, then those with the largest remainders up, until
// their sum is that of their whole rounded to nearest.
std::vector<uint64_t> RoundRow(const Table& table, const std::vector<Cell>& row) {
  std::vector<uint64_t> rounded(row.size());
  for (size_t i = 0; i < row.size(); ++i) rounded[i] = (row[i].value + 500) / 1000;
  for (size_t whole = 0; whole < row.size(); ++whole) {
    std::vector<size_t> parts;
    for (size_t i = 0; i < row.size(); ++i) {
      if (table.columns[i].part_of == static_cast<int>(whole)) parts.push_back(i);
    }
    if (parts.empty()) continue;
    uint64_t sum = 0;
    for (const size_t i : parts) sum += rounded[i] = row[i].value / 1000;
    std::stable_sort(parts.begin(), parts.end(),
                     [&](size_t a, size_t b) { return row[a].value % 1000 > row[b].value % 1000; });
    for (size_t i = 0; i < parts.size() && sum < rounded[whole]; ++i, ++sum) ++rounded[parts[i]];
  }
  return rounded;
}

std::string CellText(const Table& table, size_t index, const Cell& cell, uint64_t rounded_us) {
  const Column& column = table.columns[index];
  std::string text;
  switch (cell.kind) {
    case Cell::Kind::kText: return NameText(cell.text, index + 1 < table.columns.size());
    case Cell::Kind::kShare: AppendShare(cell.value, cell.whole, 1, &text); break;
    case Cell::Kind::kNumber:
      if (column.unit == Column::Unit::kTime) {
        AppendMilliseconds(rounded_us, &text);
      } else {
        AppendGrouped(cell.value, &text);
      }
      break;
    case Cell::Kind::kNothing: return "-";
  }
  return text;
}

std::vector<std::string> PercentRow(const Table& table, const std::vector<Cell>& row) {
  std::vector<std::string> texts(row.size());
  for (size_t i = 0; i < row.size(); ++i) {
    const int whole = table.columns[i].part_of;
    if (whole < 0 || row[static_cast<size_t>(whole)].value == 0) continue;
    AppendShare(row[i].value, row[static_cast<size_t>(whole)].value, 1, &texts[i]);
  }
  return texts;
}

void AppendRightTrimmed(std::string line, std::string* out) {
  line.erase(line.find_last_not_of(' ') + 1);
  *out += line;
  *out += '\n';
}

}  // namespace

void AppendTableText(const Table& table, std::string* out) {
  if (!table.title.empty()) *out += "# " + table.title + "\n";
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : table.columns) lines[0].push_back(column.title);
  for (const std::vector<Cell>& row : table.rows) {
    const std::vector<uint64_t> rounded = RoundRow(table, row);
    std::vector<std::string> texts;
    for (size_t i = 0; i < row.size(); ++i) {
      texts.push_back(CellText(table, i, row[i], rounded[i]));
    }
    lines.push_back(std::move(texts));
    if (!table.percent_rows) continue;
    std::vector<std::string> shares = PercentRow(table, row);
    const bool any = std::any_of(shares.begin(), shares.end(),
                                 [](const std::string& share) { return !share.empty(); });
    if (any) lines.push_back(std::move(shares));
  }
  std::vector<size_t> widths(table.columns.size());
  for (const std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], PrintableWidth(line[i]));
    }
  }
  for (size_t n = 0; n < lines.size(); ++n) {
    std::string text = n == 0 ? "# " : "  ";
    for (size_t i = 0; i < lines[n].size(); ++i) {
      if (i > 0) text += "  ";
      const bool left = table.columns[i].unit == Column::Unit::kText;
      AppendPaddedText(lines[n][i], widths[i], left, &text);
    }
    AppendRightTrimmed(std::move(text), out);
  }
}

void AppendTableCsv(const Table& table, std::string* out) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) *out += ',';
    AppendCsvField(table.columns[i].key, out);
  }
  *out += '\n';
  for (const std::vector<Cell>& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) *out += ',';
      // A share is its part; the whole is a column of its own.
      if (row[i].kind == Cell::Kind::kText) {
        AppendCsvField(row[i].text, out);
      } else if (row[i].kind != Cell::Kind::kNothing) {
        AppendUnsigned(row[i].value, out);
      }
    }
    *out += '\n';
  }
}

void WriteTableJson(const Table& table, JsonWriter* json) {
  json->Key(table.key);
  json->BeginArray();
  for (const std::vector<Cell>& row : table.rows) {
    json->BeginObject();
    for (size_t i = 0; i < row.size(); ++i) {
      json->Key(table.columns[i].key);
      switch (row[i].kind) {
        case Cell::Kind::kText: json->Text(row[i].text); break;
        case Cell::Kind::kNothing: json->Null(); break;
        default: json->Number(row[i].value);
      }
    }
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace cprof
