// The format to the byte, and a recording of version 1 that must open for ever.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "report/event_text.h"
#include "tests/unit/recording_samples.h"

namespace cprof {
namespace {

using testing::MakeEvent;
using testing::ReadBytes;

// cprof-format(5), in bytes: preamble, then header and payload of each chunk.
constexpr const char* kGolden[] = {
    "894350524f460d0a010000001edb60e1",
    "6370434b010000000102030405060708ffffffff01000000e803000000000000e803000000000000"
    "18000000180000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000003f701ec787d0566f9960bc66d6d915",
    "0102030405060708090a0b0c0d0e0f10e807000200000000",
    "6370434b0200000001020304050607080300000001000000e803000000000000e803000000000000"
    "0400000004000000000000000000000000000000000000000100000000000000e803000000000000"
    "000000000000000057fef1f137639bacbde582d1ad081052",
    "0001000000000000",
    "6370434b0300000001020304050607080300000003000000d007000000000000e808000000000000"
    "4000000040000000000000000200000000000000000000000200000000000000e803000000000000"
    "000000000000000017956fde56bcf2443929d8f7ba0d3dfc",
    "000100000001a84629280001210307d00f8402011400010207020205000101000000010000010001"
    "21030201020d88ef99abc5e88c9111010001000501020e04",
    "6370434b060000000102030405060708ffffffff01000000e908000000000000e908000000000000"
    "0600000006000000000000000000000000000000000000000300000000000000e808000000000000"
    "0000000000000000ac79af1684d644480ff0ac1bf9616bab",
    "e91101030a010000",
    "6370434b090000000102030405060708ffffffff01000000b80b000000000000b80b000000000000"
    "0800000008000000000000000000000000000000000000000400000000000000e908000000000000"
    "0000000000000000b6ac403b964c548e0b18b36467423651",
    "b817000000010303",
};

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4];
    text += kDigits[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

std::string ReadFile(const std::string& name) {
  std::ifstream file(CPROF_GOLDEN_DIR "/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FormatGolden, ASmallRecordingHasTheseBytes) {
  std::string bytes;
  WriterOptions options;
  options.compression_level = 0;  // the bytes of zstd are those of its version
  const auto writer = MakeWriter(MakeStringSink(&bytes), options);
  SessionHeader header;
  for (size_t i = 0; i < 16; ++i) header.session_id[i] = static_cast<uint8_t>(i + 1);
  header.t0_ns = 1000;
  header.cpu_count = 2;
  ASSERT_TRUE(writer->WriteHeader(header));
  ASSERT_TRUE(writer->WriteStream({3, StreamKind::kEdgeCpu, 1, 0, 0}));
  std::vector<Event> events = {MakeEvent(3, 7, 2000, verbs::kIoUringSubmit),
                               MakeEvent(3, 8, 2150, verbs::kIoUringSubmit),
                               MakeEvent(3, 9, 2280, verbs::kIoUringSubmit)};
  events[0].key.lo = events[2].key.lo = 0x1122334455667788;
  events[1].key.lo = 0x1122334455667789;
  for (Event& event : events) event.arg = event.sequence * 2;
  ASSERT_TRUE(writer->WriteEvents(3, events));
  ASSERT_TRUE(writer->WriteMark({2281, {{3, 10, 1}}}));
  ASSERT_TRUE(writer->WriteFooter({3000, {}, {}}));

  std::string golden;
  for (const char* part : kGolden) golden += part;
  EXPECT_EQ(Hex(bytes), golden);
  const auto read = ReadBytes(bytes);
  ASSERT_TRUE(read->summary);
  EXPECT_EQ(read->all.events, events);
}

TEST(FormatGolden, ARecordingOfVersion1OpensForEver) {
  const auto source = MakeStringSource(ReadFile("format-1.cprof"));
  StringTable strings;
  std::string text;
  const auto printer = MakeTextPrinter(strings, &text);
  const auto summary = ReadRecording(*source, strings, *printer);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_TRUE(summary->clean_end);
  EXPECT_TRUE(summary->losses.empty());
  EXPECT_EQ(text, ReadFile("format-1.txt"));
}

}  // namespace
}  // namespace cprof
