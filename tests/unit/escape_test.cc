// Hostile names are harmless in every kind of output.
#include "report/escape.h"

#include <gtest/gtest.h>

#include "report/json_writer.h"

namespace cprof {
namespace {

std::string Printable(std::string_view text) {
  std::string out;
  AppendPrintable(text, &out);
  return out;
}
std::string Json(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

TEST(Escape, PlainAndForeignTextPasses) {
  EXPECT_EQ(Printable("GET /ä/漢 😀"), "GET /ä/漢 😀");
  EXPECT_EQ(Json("GET /ä/漢 😀"), "\"GET /ä/漢 😀\"");
}

TEST(Escape, ControlCharactersAreShown) {
  EXPECT_EQ(Printable("a\x1b[31mb\n\x7f"), "a\\x1b[31mb\\x0a\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");  // C1: CSI
  EXPECT_EQ(Json(std::string_view("\0\x1b", 2)), "\"\\u0000\\u001b\"");
}

TEST(Escape, BidiOverridesAndInvisibleCharactersAreShown) {
  EXPECT_EQ(Printable("a\xe2\x80\xae"
                      "b"),
            "a\\xe2\\x80\\xaeb");
  EXPECT_EQ(Printable("\xe2\x81\xa6\xe2\x80\x8b"), "\\xe2\\x81\\xa6\\xe2\\x80\\x8b");
  EXPECT_EQ(Json("\xe2\x80\xae"), "\"\\u202e\"");
  EXPECT_EQ(Json("\xf3\xa0\x80\x81"), "\"\\udb40\\udc01\"");
}

TEST(Escape, BytesThatAreNotUtf8) {
  EXPECT_EQ(Printable("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(Json("a\xff\xe2\x80z"), "\"a\\ufffd\\ufffd\\ufffdz\"");
}

TEST(Escape, BackslashIsUnambiguous) {
  EXPECT_EQ(Printable("\\x1b"), "\\x5cx1b");
  EXPECT_EQ(Json("\\\""), "\"\\\\\\\"\"");
}

TEST(Escape, MarkupIsText) {
  std::string out;
  AppendXml("<script>&'\"</script>\x01", &out);
  EXPECT_EQ(out, "&lt;script&gt;&amp;&#39;&quot;&lt;/script&gt;\\x01");
}

TEST(Escape, CsvIsQuotedWhereNeeded) {
  std::string out;
  AppendCsvField("a", &out);
  out += '|';
  AppendCsvField("a,\"b\"\n", &out);
  EXPECT_EQ(out, "a|\"a,\"\"b\"\"\\x0a\"");
}

TEST(Escape, DotAndFoldedKeepTheirSeparators) {
  std::string out;
  AppendDotString("a\"\\N\n", &out);
  EXPECT_EQ(out, "\"a\\\"\\\\x5cN\\\\x0a\"");
  out.clear();
  AppendFoldedFrame("f(a;b)", &out);
  EXPECT_EQ(out, "f(a\\x3bb)");
}

TEST(Escape, WidthCountsCodePoints) { EXPECT_EQ(PrintableWidth("aä漢"), 3U); }

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  std::string out;
  JsonWriter json(&out);
  json.BeginObject();
  json.Field("a", 1);
  json.Key("b");
  json.BeginArray();
  json.Number(-2);
  json.Null();
  json.BeginObject();
  json.EndObject();
  json.EndArray();
  json.Field("c", true);
  json.Key("d");
  json.HexKey({1, 0x2a});
  json.Key("p");
  json.Probability(0.125);
  json.Key("q");
  json.Probability(1.0);
  json.EndObject();
  EXPECT_EQ(out,
            "{\"a\":1,\"b\":[-2,null,{}],\"c\":true,\"d\":\"0x1000000000000002a\","
            "\"p\":0.125,\"q\":1.0}");
}

}  // namespace
}  // namespace cprof
