// The house rules of CONTRIBUTING.md, read off the tree itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace cprof {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;  // relative to the root
  std::vector<std::string> lines;
};

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool IsSource(const std::string& path) {
  for (const char* end : {".cc", ".h", ".c", ".def"}) {
    if (EndsWith(path, end)) return true;
  }
  return false;
}

const std::vector<SourceFile>& Tree() {
  static const std::vector<SourceFile> files = [] {
    std::vector<SourceFile> found;
    const fs::path root = CPROF_SOURCE_DIR;
    for (const char* room : {"format", "bpf", "record", "report", "cmd", "tests"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
        const std::string path = fs::relative(entry.path(), root).string();
        if (!entry.is_regular_file() || !IsSource(path)) continue;
        SourceFile file{path, {}};
        std::ifstream in(entry.path());
        for (std::string line; std::getline(in, line);) file.lines.push_back(line);
        found.push_back(std::move(file));
      }
    }
    std::sort(found.begin(), found.end(),
              [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
    return found;
  }();
  return files;
}

std::string RoomOf(const std::string& path) { return path.substr(0, path.find('/')); }

TEST(Tidy, TreeIsThere) { EXPECT_GT(Tree().size(), 20U); }

// Which rooms each room may include from; system and library headers are not in the table.
TEST(Tidy, RoomsIncludeOnlyWhatTheTableAllows) {
  const std::map<std::string, std::vector<std::string>> allowed = {
      {"format", {"format"}},
      {"bpf", {"bpf"}},
      {"record", {"record", "format", "cprof/cprof.h", "bpf/event.h", "bpf/adapters/app.h"}},
      {"report", {"report", "format"}},
      {"cmd", {"cmd", "record", "report", "format", "bpf/event.h"}},
  };
  for (const SourceFile& file : Tree()) {
    const auto row = allowed.find(RoomOf(file.path));
    if (row == allowed.end()) continue;
    for (const std::string& line : file.lines) {
      if (line.rfind("#include \"", 0) != 0) continue;
      const std::string target = line.substr(10, line.find('"', 10) - 10);
      if (target.find('/') == std::string::npos) continue;  // generated, or beside the file
      const bool fine =
          std::any_of(row->second.begin(), row->second.end(), [&](const std::string& prefix) {
            return target == prefix || target.rfind(prefix + "/", 0) == 0;
          });
      EXPECT_TRUE(fine) << file.path << " includes " << target;
    }
  }
}

TEST(Tidy, ApplicationHeaderIncludesNothingOfOurs) {
  int seen = 0;
  for (const SourceFile& file : Tree()) {
    if (file.path.rfind("record/include/", 0) != 0) continue;
    ++seen;
    for (const std::string& line : file.lines) {
      EXPECT_NE(line.rfind("#include \"", 0), 0U) << file.path << ": " << line;
    }
  }
  EXPECT_GT(seen, 0);
}

TEST(Tidy, FirstLineSaysWhatTheFileIsFor) {
  for (const SourceFile& file : Tree()) {
    ASSERT_FALSE(file.lines.empty()) << file.path;
    const std::string& first = file.lines.front();
    EXPECT_TRUE(first.rfind("// ", 0) == 0 || first.rfind("/* ", 0) == 0) << file.path;
    EXPECT_EQ(first.find("SPDX"), std::string::npos) << file.path << " opens with a licence";
  }
}

TEST(Tidy, FilesStayUnderSixHundredLines) {
  for (const SourceFile& file : Tree()) {
    // The application's header is one file by contract: nothing to link, nothing beside it.
    if (file.path == "record/include/cprof/cprof.h") continue;
    EXPECT_LE(file.lines.size(), 600U) << file.path;
  }
}

TEST(Tidy, LinesStayWithinAHundredColumns) {
  for (const SourceFile& file : Tree()) {
    if (RoomOf(file.path) == "bpf") continue;  // kernel style: tabs
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const auto columns = std::count_if(file.lines[i].begin(), file.lines[i].end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // UTF-8 continuation bytes
      });
      EXPECT_LE(columns, 100) << file.path << ":" << i + 1;
    }
  }
}

// A function begins on the last line in column 0 before the "}" in column 0 that closes it; types
// and tables close with "};", namespaces with a comment behind the brace (both styles see to that).
TEST(Tidy, FunctionsStayWithinSeventyLines) {
  for (const SourceFile& file : Tree()) {
    size_t begin = 0;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (line == "}") {
        EXPECT_LE(i - begin, 70U) << file.path << ":" << begin + 1;
      } else if (!line.empty() && line[0] != ' ' && line[0] != '\t') {
        begin = i;
      }
    }
  }
}

TEST(Tidy, NothingIsLeftForLater) {
  const std::vector<std::string> words = {std::string("TO") + "DO", std::string("FIX") + "ME",
                                          std::string("XX") + "X:"};
  for (const SourceFile& file : Tree()) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      for (const std::string& word : words) {
        EXPECT_EQ(file.lines[i].find(word), std::string::npos) << file.path << ":" << i + 1;
      }
    }
  }
}

TEST(Tidy, EveryTestFileAsserts) {
  for (const SourceFile& file : Tree()) {
    if (!EndsWith(file.path, "_test.cc")) continue;
    const bool asserts = std::any_of(file.lines.begin(), file.lines.end(), [](const auto& line) {
      return line.find("EXPECT_") != std::string::npos || line.find("ASSERT_") != std::string::npos;
    });
    EXPECT_TRUE(asserts) << file.path;
  }
}

// Rooms are linked together: two types of one name would share their inline functions, whichever
// the linker takes, and no tool says so.
TEST(Tidy, EveryTypeHasANameOfItsOwn) {
  const std::regex space("^namespace ([a-z_:]+) \\{$");
  const std::regex type("^(?:struct|class|enum class) (\\w+)(?: final)?(?: : .*)? \\{.*");
  std::map<std::string, std::string> owners;
  for (const SourceFile& file : Tree()) {
    const std::string room = RoomOf(file.path);
    if (room != "format" && room != "record" && room != "report" && room != "cmd") continue;
    std::string scope;
    bool is_private = false;
    for (const std::string& line : file.lines) {
      std::smatch match;
      if (line == "namespace {") {
        is_private = true;
      } else if (line == "}  // namespace") {
        is_private = false;
      } else if (std::regex_match(line, match, space)) {
        scope = match[1];
      } else if (!is_private && std::regex_match(line, match, type)) {
        const auto [at, is_new] = owners.emplace(scope + "::" + match[1].str(), file.path);
        EXPECT_TRUE(is_new) << at->first << " is in " << at->second << " and in " << file.path;
      }
    }
  }
  EXPECT_GT(owners.size(), 50U);
}

TEST(Tidy, RecordAndReportDoNotThrow) {
  for (const SourceFile& file : Tree()) {
    const std::string room = RoomOf(file.path);
    if (room != "format" && room != "record" && room != "report") continue;
    for (size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_EQ(file.lines[i].find("throw "), std::string::npos) << file.path << ":" << i + 1;
    }
  }
}

}  // namespace
}  // namespace cprof
