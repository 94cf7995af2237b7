// Runs each fixture through the join pass, one event at a time, and prints it again with what every
// line caused beneath it. CPROF_UPDATE_FIXTURES=1 writes the files instead of comparing them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "report/event_text.h"
#include "report/join.h"
#include "tests/adapters/graph_lines.h"

namespace cprof {
namespace {

class Collector : public RecordingVisitor {
 public:
  void OnHeader(const SessionHeader& told) override { header = told; }
  void OnStream(const StreamInfo& stream) override { streams.push_back(stream); }
  void OnEvents(StreamId, std::span<const Event> told) override {
    events.insert(events.end(), told.begin(), told.end());
  }
  void OnBreak(const Break& lost) override { breaks.push_back(lost); }

  SessionHeader header;
  std::vector<StreamInfo> streams;
  std::vector<Event> events;
  std::vector<Break> breaks;
};

std::string ReadFile(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool IsInput(const std::string& line) { return line.empty() || line[0] != ' '; }
bool IsEvent(const std::string& line) {
  return !line.empty() && line[0] != ' ' && line[0] != '#' && line[0] != '!';
}

// The lines of a fixture without what they caused.
std::vector<std::string> InputLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (IsInput(line)) lines.push_back(line);
  }
  return lines;
}

void Append(GraphLines* graph, std::string* out) {
  for (const std::string& line : graph->TakeLines()) *out += "    " + line + "\n";
}

// The fixture as it should be, or a complaint in its place.
std::string Reprint(const std::vector<std::string>& lines) {
  std::string input;
  for (const std::string& line : lines) input += line + "\n";
  StringTable strings;
  Collector recording;
  const auto source = MakeStringSource(input);
  if (auto read = ReadTextRecording(*source, strings, recording); !read) {
    return "refused: " + read.error().message;
  }
  GraphLines graph(strings);
  Joiner joiner(recording.header, strings, {}, graph);
  for (const StreamInfo& stream : recording.streams) joiner.AddStream(stream);
  Batch batch;
  batch.breaks = recording.breaks;
  joiner.Apply(batch);
  batch.breaks.clear();
  std::string out;
  size_t next = 0;
  for (const std::string& line : lines) {
    out += line + "\n";
    if (!IsEvent(line)) continue;
    if (next == recording.events.size()) return "fewer events than lines";
    batch.events = {recording.events[next]};
    if (next > 0 && recording.events[next - 1].time_ns > recording.events[next].time_ns) {
      return "not in time order: " + line;
    }
    batch.final_ns = recording.events[next++].time_ns;
    joiner.Apply(batch);
    Append(&graph, &out);
  }
  if (next != recording.events.size()) return "more events than lines";
  joiner.Finish();
  Append(&graph, &out);
  return out;
}

std::vector<std::filesystem::path> Fixtures() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(CPROF_FIXTURE_FOLDER)) {
    if (entry.path().extension() == ".events") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Fixture : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Fixture, EachLineCausesWhatStandsBeneathIt) {
  const std::string text = ReadFile(GetParam());
  const std::vector<std::string> lines = InputLines(text);
  ASSERT_FALSE(lines.empty());
  const std::string printed = Reprint(lines);
  if (std::getenv("CPROF_UPDATE_FIXTURES") != nullptr) {
    std::ofstream(GetParam()) << printed;
    GTEST_SKIP() << "written: read the difference before committing it";
  }
  EXPECT_EQ(text, printed);
}

INSTANTIATE_TEST_SUITE_P(Adapters, Fixture, testing::ValuesIn(Fixtures()),
                         [](const auto& fixture) { return fixture.param.stem().string(); });

TEST(Fixtures, CoverEveryAdapterWithRules) {
  for (const std::string stem : {"sched", "io_uring", "futex", "app"}) {
    const auto paths = Fixtures();
    EXPECT_TRUE(std::any_of(paths.begin(), paths.end(), [&](const std::filesystem::path& path) {
      return path.filename().string().starts_with(stem);
    })) << stem;
  }
}

}  // namespace
}  // namespace cprof
