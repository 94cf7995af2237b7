// Runs the whole pass line over text recordings and compares every output to the byte.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "format/writer.h"
#include "report/pipeline.h"
#include "report/render_diff.h"
#include "report/render_flame.h"
#include "report/render_graph.h"
#include "report/render_report.h"

namespace cprof {
namespace {

const std::string kFolder = CPROF_GOLDEN_FOLDER;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Renders a recording with what `make` makes; the renderer's Finish is called with the summary.
template <typename Make>
std::string Render(const std::string& recording, Make make) {
  std::string text;
  const std::unique_ptr<ByteSink> sink = MakeStringSink(&text);
  TextOutput out(*sink);
  StringTable strings;
  const auto renderer = make(strings, out);
  const auto source = MakeStringSource(recording);
  const Result<ReadSummary> read = RunPipeline(*source, strings, {}, *renderer);
  EXPECT_TRUE(read) << read.error().message;
  if (!read) return text;
  renderer->Finish(*read);
  EXPECT_TRUE(out.Finish());
  return text;
}

std::string Report(const std::string& recording, const ReportOptions& options) {
  return Render(recording, [&](const StringTable& strings, TextOutput& out) {
    return MakeReportRenderer(options, strings, out);
  });
}

std::string Flame(const std::string& recording, const FlameOptions& options) {
  std::string text;
  const std::unique_ptr<ByteSink> sink = MakeStringSink(&text);
  TextOutput out(*sink);
  StringTable strings;
  const auto folder = MakeFlameFolder(options.fold, strings);
  const auto source = MakeStringSource(recording);
  EXPECT_TRUE(RunPipeline(*source, strings, {}, *folder));
  WriteFlame(options, *folder, out);
  EXPECT_TRUE(out.Finish());
  return text;
}

std::string Folded(const std::string& recording, FlameBy by, FlameWeight weight) {
  FlameOptions options;
  options.folded = true;
  options.fold = {by, weight};
  return Flame(recording, options);
}

// By the first frame, and by the first two.
std::map<std::string, uint64_t> FoldedSums(const std::string& folded) {
  std::map<std::string, uint64_t> sums;
  std::stringstream lines(folded);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    const uint64_t amount = std::strtoull(line.c_str() + space + 1, nullptr, 10);
    line.resize(space);
    const size_t first = line.find(';');
    sums[line.substr(0, first)] += amount;
    if (first != std::string::npos) sums[line.substr(0, line.find(';', first + 1))] += amount;
  }
  return sums;
}

// The first table of a report as CSV: a row's name and its figures by column.
using CsvRows = std::map<std::string, std::map<std::string, uint64_t>>;
CsvRows ReportRows(const std::string& recording, ReportBy by) {
  ReportOptions options;
  options.by = by;
  options.format = ReportFormat::kCsv;
  std::stringstream lines(Report(recording, options));
  const auto cells = [](const std::string& line) {
    std::vector<std::string> found{""};
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        found.emplace_back();
      } else {
        found.back() += c;
      }
    }
    return found;
  };
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> columns = cells(line);
  CsvRows rows;
  while (std::getline(lines, line) && !line.empty()) {
    const std::vector<std::string> row = cells(line);
    for (size_t i = 1; i < row.size() && i < columns.size(); ++i) {
      rows[row[0]][columns[i]] = std::strtoull(row[i].c_str(), nullptr, 10);
    }
  }
  return rows;
}

std::string GraphText(const std::string& recording, bool dot, std::optional<Key> request) {
  return Render(recording, [&](const StringTable& strings, TextOutput& out) {
    return dot ? MakeGraphDotRenderer(request, strings, out) : MakeGraphJsonRenderer(strings, out);
  });
}

// Without the script, which is report/flame.js and has its own test.
std::string CutScript(const std::string& svg) {
  const std::string open = "<script><![CDATA[";
  const size_t begin = svg.find(open);
  const size_t end = svg.find("]]></script>", begin);
  EXPECT_NE(end, std::string::npos);
  if (end == std::string::npos) return svg;
  EXPECT_GT(end - begin, 1000U);
  return svg.substr(0, begin + open.size()) + svg.substr(end);
}

void Compare(const std::string& name, const std::string& actual) {
  const std::string path = kFolder + "/" + name;
  if (std::getenv("CPROF_GOLDEN_REGENERATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
  }
  const std::string expected = ReadFile(path);
  ASSERT_FALSE(actual.empty()) << name;
  EXPECT_EQ(actual, expected) << name;
}

class Golden : public testing::TestWithParam<const char*> {
 protected:
  std::string name_ = GetParam();
  std::string recording_ = ReadFile(kFolder + "/" + name_ + ".txt");
};

TEST_P(Golden, ReportByRequest) {
  ReportOptions options;
  options.session_header = true;
  Compare(name_ + ".requests.text", Report(recording_, options));
  options.format = ReportFormat::kCsv;
  Compare(name_ + ".requests.csv", Report(recording_, options));
  options.format = ReportFormat::kJson;
  Compare(name_ + ".requests.json", Report(recording_, options));
}

TEST_P(Golden, ReportByThreadAndIoRequest) {
  ReportOptions options;
  options.by = ReportBy::kThread;
  Compare(name_ + ".threads.text", Report(recording_, options));
  options.by = ReportBy::kIoRequest;
  Compare(name_ + ".io_requests.text", Report(recording_, options));
}

TEST_P(Golden, CausalPath) {
  ReportOptions options;
  options.request = "2";
  Compare(name_ + ".path.text", Report(recording_, options));
  options.format = ReportFormat::kJson;
  options.request = "slowest";
  Compare(name_ + ".slowest.json", Report(recording_, options));
}

TEST_P(Golden, Graph) {
  Compare(name_ + ".ndjson", GraphText(recording_, false, std::nullopt));
  Compare(name_ + ".dot", GraphText(recording_, true, std::nullopt));
  Compare(name_ + ".request.dot", GraphText(recording_, true, Key{0, 2}));
}

TEST_P(Golden, Flame) {
  Compare(name_ + ".svg", CutScript(Flame(recording_, {})));
  const auto folded = [this](FlameBy by, FlameWeight weight, const char* end) {
    Compare(name_ + end, Folded(recording_, by, weight));
  };
  folded(FlameBy::kRequest, FlameWeight::kCpu, ".folded");
  folded(FlameBy::kRequest, FlameWeight::kWall, ".wall.folded");
  folded(FlameBy::kRequest, FlameWeight::kCount, ".count.folded");
  folded(FlameBy::kThread, FlameWeight::kCpu, ".threads.folded");
  folded(FlameBy::kThread, FlameWeight::kWall, ".threads.wall.folded");
  folded(FlameBy::kIoRequest, FlameWeight::kWall, ".io_requests.wall.folded");
}

TEST_P(Golden, FlamesOfRequestsAddUpToTheReport) {
  const CsvRows rows = ReportRows(recording_, ReportBy::kRequest);
  ASSERT_FALSE(rows.empty());
  auto wall = FoldedSums(Folded(recording_, FlameBy::kRequest, FlameWeight::kWall));
  auto cpu = FoldedSums(Folded(recording_, FlameBy::kRequest, FlameWeight::kCpu));
  auto count = FoldedSums(Folded(recording_, FlameBy::kRequest, FlameWeight::kCount));
  size_t seen = 0;
  for (auto [name, row] : rows) {
    const std::string frame = "request " + name;
    EXPECT_EQ(wall[frame], row["wall_ns"]) << name;
    EXPECT_EQ(cpu[frame], row["cpu_ns"]) << name;
    EXPECT_EQ(count[frame], row["count"]) << name;
    // This recording has no tasks, so the states are the second frames.
    for (const char* state : {"running", "runnable", "io", "resource", "unknown"}) {
      EXPECT_EQ(wall[frame + ";" + state], row[std::string(state) + "_ns"]) << name << state;
      seen += row[std::string(state) + "_ns"] > 0 ? 1 : 0;
    }
  }
  EXPECT_GE(seen, 5U);
}

TEST_P(Golden, FlamesOfThreadsAndIoAddUpToTheReport) {
  std::map<std::string, uint64_t> wall_ns, cpu_ns;
  uint64_t all_cpu_ns = 0;
  for (auto [name, row] : ReportRows(recording_, ReportBy::kThread)) {
    const std::string frame = "thread " + name.substr(0, name.rfind('/'));
    wall_ns[frame] += row["wall_ns"];
    cpu_ns[frame] += row["cpu_ns"];
    all_cpu_ns += row["cpu_ns"];
  }
  ASSERT_GT(all_cpu_ns, 0U);
  auto wall = FoldedSums(Folded(recording_, FlameBy::kThread, FlameWeight::kWall));
  auto cpu = FoldedSums(Folded(recording_, FlameBy::kThread, FlameWeight::kCpu));
  for (const auto& [frame, amount_ns] : wall_ns) {
    EXPECT_EQ(wall[frame], amount_ns) << frame;
    EXPECT_EQ(cpu[frame], cpu_ns[frame]) << frame;
  }
  uint64_t by_request_ns = 0;
  for (const auto& [frame, sum_ns] :
       FoldedSums(Folded(recording_, FlameBy::kRequest, FlameWeight::kCpu))) {
    if (frame.find(';') == std::string::npos) by_request_ns += sum_ns;
  }
  EXPECT_EQ(by_request_ns, all_cpu_ns);
  auto io = FoldedSums(Folded(recording_, FlameBy::kIoRequest, FlameWeight::kWall));
  auto count = FoldedSums(Folded(recording_, FlameBy::kIoRequest, FlameWeight::kCount));
  for (auto [name, row] : ReportRows(recording_, ReportBy::kIoRequest)) {
    EXPECT_EQ(io["io " + name], row["total_ns"]) << name;
    EXPECT_EQ(count["io " + name], row["count"]) << name;
  }
}

TEST_P(Golden, StatesOfEveryRequestAddUpToItsWall) {
  ReportOptions options;
  options.format = ReportFormat::kCsv;
  std::stringstream lines(Report(recording_, options));
  std::string line;
  std::getline(lines, line);
  int rows = 0;
  while (std::getline(lines, line)) {
    // The kind's name may hold commas; the figures behind it do not.
    std::vector<uint64_t> figures;
    for (size_t i = 0; i < 21; ++i) {
      const size_t comma = line.rfind(',');
      ASSERT_NE(comma, std::string::npos);
      figures.insert(figures.begin(), std::strtoull(line.c_str() + comma + 1, nullptr, 10));
      line.resize(comma);
    }
    uint64_t sum_ns = 0;
    for (size_t i = 6; i < 19; ++i) sum_ns += figures[i];
    EXPECT_EQ(sum_ns, figures[5]) << line;
    ++rows;
  }
  EXPECT_GT(rows, 0);
}

DiffProfile ProfileOf(const std::string& name) {
  StringTable strings;
  const auto sink = MakeProfileSink(strings);
  const auto source = MakeStringSource(ReadFile(kFolder + "/" + name + ".txt"));
  const Result<ReadSummary> read = RunPipeline(*source, strings, {}, *sink);
  EXPECT_TRUE(read) << read.error().message;
  return sink->Finish(read ? *read : ReadSummary{});
}

TEST(GoldenDiff, TextAndJson) {
  const DiffProfile a = ProfileOf("contention");
  const DiffProfile b = ProfileOf("contention_free");
  const DiffView view{"contention", "contention_free", &a, &b, ConcernsOf(a, b), Compare(a, b)};
  std::string text, json;
  AppendDiffText(view, &text);
  AppendDiffJson(view, &json);
  Compare("contention.diff.text", text);
  Compare("contention.diff.json", json);
}

INSTANTIATE_TEST_SUITE_P(Recordings, Golden, testing::Values("contention"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace cprof
