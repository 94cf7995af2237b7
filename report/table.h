// A table as values, and as text for people, CSV and JSON.
#ifndef CPROF_REPORT_TABLE_H_
#define CPROF_REPORT_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/json_writer.h"

namespace cprof {

struct Column {
  enum class Unit : uint8_t {
    kText,
    kCount,
    kTime,   // ns; as text in ms
    kShare,  // of Share::whole; as text in per cent
  };
  std::string key;    // stable identifier for CSV and JSON, units last
  std::string title;  // for people
  Unit unit = Unit::kCount;
  // The column whose value this one is a part of, -1: none. The parts of a whole add up exactly in
  // ns, and as text they are rounded so that they add up too.
  int part_of = -1;
};

struct Share {
  uint64_t part = 0;
  uint64_t whole = 0;
};

struct Cell {
  enum class Kind : uint8_t { kNothing, kText, kNumber, kShare };

  Cell() = default;  // nothing to say: "-" as text, empty in CSV, null in JSON
  Cell(std::string name) : kind(Kind::kText), text(std::move(name)) {}              // NOLINT
  Cell(uint64_t number) : kind(Kind::kNumber), value(number) {}                     // NOLINT
  Cell(Share share) : kind(Kind::kShare), value(share.part), whole(share.whole) {}  // NOLINT

  Kind kind = Kind::kNothing;
  std::string text;
  uint64_t value = 0;
  uint64_t whole = 0;  // kShare: value is a part of it
};

struct Table {
  std::string key;    // of the array in JSON
  std::string title;  // above the text
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  bool percent_rows = false;  // text: beneath each row the parts in per cent of their whole
};

// Text cells hold raw names; each renderer escapes them for its output.
void AppendTableText(const Table& table, std::string* out);
void AppendTableCsv(const Table& table, std::string* out);
// "key": [ {...}, ... ]
void WriteTableJson(const Table& table, JsonWriter* json);

}  // namespace cprof

#endif  // CPROF_REPORT_TABLE_H_
