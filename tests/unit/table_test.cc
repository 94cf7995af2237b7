// Numbers as text, and tables whose parts add up in every format.
#include "report/table.h"

#include <gtest/gtest.h>

#include "report/number.h"

namespace cprof {
namespace {

template <typename Append, typename... Args>
std::string Text(Append append, Args... args) {
  std::string out;
  append(args..., &out);
  return out;
}

TEST(Number, Durations) {
  EXPECT_EQ(Text(AppendDuration, 0), "0 ns");
  EXPECT_EQ(Text(AppendDuration, 999), "999 ns");
  EXPECT_EQ(Text(AppendDuration, 1'234'567), "1.235 ms");
  EXPECT_EQ(Text(AppendDuration, 48'210'000), "48.21 ms");
  EXPECT_EQ(Text(AppendDuration, 812'400), "812.4 us");
  EXPECT_EQ(Text(AppendDuration, 12'345'678'900'000), "12,345.7 s");
}

TEST(Number, SharesNeverRoundToNothingOrEverything) {
  EXPECT_EQ(Text(AppendShare, 1, 3, 1), "33.3 %");
  EXPECT_EQ(Text(AppendShare, 1, 1'000'000, 1), "<0.1 %");
  EXPECT_EQ(Text(AppendShare, 999'999, 1'000'000, 1), ">99.9 %");
  EXPECT_EQ(Text(AppendShare, 0, 5, 2), "0.00 %");
  EXPECT_EQ(Text(AppendShare, 5, 5, 0), "100 %");
  EXPECT_EQ(Text(AppendShare, 0, 0, 1), "-");
}

TEST(Number, TimesAndKeys) {
  EXPECT_EQ(Text(AppendUtc, 1'764'550'000'123'456'789ULL), "2025-12-01T00:46:40.123456789Z");
  EXPECT_EQ(Text(AppendUtc, 951'782'400'000'000'000ULL), "2000-02-29T00:00:00.000000000Z");
  EXPECT_EQ(Text(AppendSeconds, -1'500'000'000), "-1.500000000");
  EXPECT_EQ(Text(AppendGrouped, 1234567), "1,234,567");
  EXPECT_EQ(Text(AppendKey, Key{0xab, 1}), "0xab0000000000000001");
}

Table Sample() {
  Table table;
  table.key = "rows";
  table.percent_rows = true;
  table.columns = {{"name", "name", Column::Unit::kText},
                   {"wall_ns", "wall", Column::Unit::kTime},
                   {"a_ns", "a", Column::Unit::kTime, 1},
                   {"b_ns", "b", Column::Unit::kTime, 1},
                   {"c_ns", "c", Column::Unit::kTime, 1}};
  // 0.4 + 0.4 + 0.4 us is 1.2 us: rounded each for itself they would add up to 0.
  table.rows = {
      {std::string("x,\x1b"), uint64_t{1200}, uint64_t{400}, uint64_t{400}, uint64_t{400}}};
  return table;
}

TEST(Table, RoundedPartsAddUpToTheirRoundedWhole) {
  std::string out;
  AppendTableText(Sample(), &out);
  EXPECT_EQ(out,
            "# name     wall       a       b       c\n"
            "  x,\\x1b  0.001   0.001   0.000   0.000\n"
            "                 33.3 %  33.3 %  33.3 %\n");
}

TEST(Table, CsvAndJsonAreExact) {
  std::string out;
  AppendTableCsv(Sample(), &out);
  EXPECT_EQ(out, "name,wall_ns,a_ns,b_ns,c_ns\n\"x,\\x1b\",1200,400,400,400\n");
  out.clear();
  JsonWriter json(&out);
  json.BeginObject();
  WriteTableJson(Sample(), &json);
  json.EndObject();
  EXPECT_EQ(out,
            "{\"rows\":[{\"name\":\"x,\\u001b\",\"wall_ns\":1200,\"a_ns\":400,\"b_ns\":400,"
            "\"c_ns\":400}]}");
}

TEST(Table, LongNamesAreCutInTextOnly) {
  Table table = Sample();
  table.rows[0][0] = std::string(100, 'n');
  std::string text, csv;
  AppendTableText(table, &text);
  AppendTableCsv(table, &csv);
  EXPECT_NE(text.find(std::string(61, 'n') + "...  "), std::string::npos);
  EXPECT_NE(csv.find(std::string(100, 'n')), std::string::npos);
}

}  // namespace
}  // namespace cprof
