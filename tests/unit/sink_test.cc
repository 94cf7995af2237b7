// Where recordings go: what the system refuses is told once and for good.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "tests/unit/recording_samples.h"

namespace cprof {
namespace {

using testing::MakeEvent;
using testing::MakeSession;

std::vector<Event> ManyEvents(size_t count) {
  std::mt19937_64 random(1);
  std::vector<Event> events;
  for (size_t i = 0; i < count; ++i) {
    events.push_back(MakeEvent(0, i, i * 100, verbs::kIoUringSubmit));
    events.back().arg = random();  // does not compress
  }
  return events;
}

TEST(Sink, AFullDiskIsAnErrorWithAHintAndFinal) {
  const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const auto writer = MakeWriter(MakeFdSink(fd, "/dev/full"), {});
  const auto refused = writer->WriteHeader(MakeSession(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cannot write to /dev/full: No space left on device");
  EXPECT_NE(refused.error().hint, "");
  EXPECT_FALSE(writer->WriteMark({}));
  EXPECT_FALSE(writer->WriteFooter({}));
  EXPECT_EQ(writer->bytes_written(), 0U);
  close(fd);
}

TEST(Sink, ABrokenPipeIsAnError) {
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const auto writer = MakeWriter(MakeFdSink(ends[1], "standard output"), {});
  const auto refused = writer->WriteHeader(MakeSession(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cannot write to standard output: Broken pipe");
  close(ends[1]);
}

// A pipe takes and gives in pieces: writes are cut short and reads are, and no seek is needed.
TEST(Sink, APipeCarriesARecording) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto events = ManyEvents(50000);
  std::thread writing([&] {
    const auto writer = MakeWriter(MakeFdSink(ends[1], "pipe"), {});
    EXPECT_TRUE(writer->WriteHeader(MakeSession(1)));
    EXPECT_TRUE(writer->WriteStream({0, StreamKind::kEdgeCpu, 0, 0, 0}));
    EXPECT_TRUE(writer->WriteEvents(0, events));
    EXPECT_TRUE(writer->WriteFooter({}));
    close(ends[1]);
  });
  const auto source = MakeFdSource(ends[0], "pipe");
  StringTable strings;
  testing::Collector all;
  const auto summary = ReadRecording(*source, strings, all);
  writing.join();
  close(ends[0]);
  ASSERT_TRUE(summary);
  EXPECT_TRUE(summary->clean_end);
  EXPECT_EQ(all.events, events);
}

TEST(Sink, AtTheSizeLimitTheRecordingCanStillSaySo) {
  std::string bytes;
  WriterOptions options;
  options.max_size_bytes = 100000;
  const auto writer = MakeWriter(MakeStringSink(&bytes), options);
  ASSERT_TRUE(writer->WriteHeader(MakeSession(1)));
  ASSERT_TRUE(writer->WriteStream({0, StreamKind::kEdgeCpu, 0, 0, 0}));
  const auto events = ManyEvents(50000);
  size_t written = 0;
  Result<void> result;
  while ((result = writer->WriteEvents(0, std::span(events).subspan(written, 1000)))) {
    written += 1000;
    ASSERT_LT(written, events.size());
  }
  EXPECT_EQ(result.error().message, "the recording has reached its size limit of 100000 bytes");
  Break lost{0, BreakReason::kWriterStalled, 0, 1, 1000, ~uint64_t{0}, {}, "size limit"};
  EXPECT_TRUE(writer->WriteBreak(lost));
  EXPECT_TRUE(writer->WriteMark({}));
  EXPECT_TRUE(writer->WriteFooter({}));
  EXPECT_LE(bytes.size(), options.max_size_bytes);
  const auto read = testing::ReadBytes(bytes);
  ASSERT_TRUE(read->summary);
  EXPECT_TRUE(read->summary->clean_end);
  EXPECT_EQ(read->all.events.size(), written);
  EXPECT_EQ(read->all.breaks, std::vector{lost});
}

}  // namespace
}  // namespace cprof
