// Option values of record: what is understood, and that each refusal names option and word.
#include <gtest/gtest.h>

#include "record/option_words.h"

namespace cprof {
namespace {

template <typename T>
void ExpectRefusal(const Result<T>& result, const std::string& option, const std::string& word) {
  ASSERT_FALSE(result) << word;
  EXPECT_NE(result.error().message.find(option), std::string::npos) << result.error().message;
  EXPECT_NE(result.error().message.find(word), std::string::npos) << result.error().message;
  EXPECT_FALSE(result.error().hint.empty()) << word;
}

TEST(OptionWords, IdListsAreSortedAndUnique) {
  const auto ids = ParseIdList("-p", "18,17,18");
  ASSERT_TRUE(ids);
  EXPECT_EQ(*ids, (std::vector<uint32_t>{17, 18}));
}

TEST(OptionWords, WrongIdsAreRefused) {
  for (const char* word : {"", "0", "-3", "1,", ",1", "1 2", "abc", "1.5", "99999999999"}) {
    ExpectRefusal(ParseIdList("-p", word), "-p", word);
  }
}

TEST(OptionWords, CpuListsTakeRanges) {
  const auto cpus = ParseCpuList("-C", "5,0-2,1");
  ASSERT_TRUE(cpus);
  EXPECT_EQ(*cpus, (std::vector<uint32_t>{0, 1, 2, 5}));
  for (const char* word : {"", "3-1", "-1", "0-", "x", "5000", "0--2"}) {
    ExpectRefusal(ParseCpuList("-C", word), "-C", word);
  }
}

TEST(OptionWords, TimesCountInTheirUnit) {
  EXPECT_DOUBLE_EQ(ParseTime("--duration", "10", "s").value(), 10);
  EXPECT_DOUBLE_EQ(ParseTime("--duration", "1.5s", "s").value(), 1.5);
  EXPECT_DOUBLE_EQ(ParseTime("--duration", "500ms", "s").value(), 0.5);
  EXPECT_DOUBLE_EQ(ParseTime("--duration", "2m", "s").value(), 120);
  EXPECT_DOUBLE_EQ(ParseTime("--duration", "1h", "s").value(), 3600);
  EXPECT_DOUBLE_EQ(ParseTime("-D", "250", "ms").value(), 0.25);
}

TEST(OptionWords, WrongTimesAreRefused) {
  for (const char* word : {"", "0", "-1", "1x", "s", "1 s", "inf", "nan", "1e400", "9999999999h"}) {
    ExpectRefusal(ParseTime("--duration", word, "s"), "--duration", word);
  }
}

TEST(OptionWords, SizesArePowersOf1024) {
  EXPECT_EQ(ParseSize("--max-size", "4096").value(), 4096u);
  EXPECT_EQ(ParseSize("--max-size", "64K").value(), 65536u);
  EXPECT_EQ(ParseSize("--max-size", "1.5M").value(), 1572864u);
  EXPECT_EQ(ParseSize("--max-size", "2G").value(), 2147483648u);
  for (const char* word : {"", "0", "-1M", "10X", "M", "1MB", "1e300T"}) {
    ExpectRefusal(ParseSize("--max-size", word), "--max-size", word);
  }
}

TEST(OptionWords, RingPagesArePowersOfTwo) {
  EXPECT_EQ(ParseRingPages("-m", "1", 4096).value(), 1u);
  EXPECT_EQ(ParseRingPages("-m", "256", 4096).value(), 256u);
  EXPECT_EQ(ParseRingPages("-m", "1M", 4096).value(), 256u);
  for (const char* word : {"", "0", "3", "1K", "x", "-4", "5000000000"}) {
    ExpectRefusal(ParseRingPages("-m", word, 4096), "-m", word);
  }
  EXPECT_EQ(ParseRingPages("-m", "100", 4096).error().hint, "try -m 128");
}

TEST(OptionWords, FrequencyHasABound) {
  EXPECT_EQ(ParseFrequency("-F", "0").value(), 0u);
  EXPECT_EQ(ParseFrequency("-F", "999").value(), 999u);
  for (const char* word : {"", "-1", "10001", "99Hz", "max"}) {
    ExpectRefusal(ParseFrequency("-F", word), "-F", word);
  }
}

TEST(OptionWords, UnknownAdapterIsNamed) {
  EXPECT_EQ(ParseAdapters("-e", "sched,io_uring").value(),
            (std::vector<std::string>{"io_uring", "sched"}));
  ExpectRefusal(ParseAdapters("-e", "sched,cycles"), "-e", "cycles");
  ExpectRefusal(ParseAdapters("-e", "recorder"), "-e", "recorder");
  ExpectRefusal(ParseAdapters("-e", ""), "-e", "");
}

}  // namespace
}  // namespace cprof
