// What the commands that read say of bad input, bad words and outputs that fail.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "run.h"

namespace cprof::test {
namespace {

constexpr const char* kCommands[] = {"report", "graph", "flame", "script", "inject"};
const std::string kRecording = std::string(CPROF_GOLDEN_FOLDER) + "/contention.txt";

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A sentence and what to do about it, nothing else, and no output.
void ExpectRefused(const Outcome& outcome, int exit_code, const std::string& sentence,
                   const std::string& hint) {
  EXPECT_EQ(outcome.exit_code, exit_code);
  EXPECT_EQ(outcome.err, "cprof: error: " + sentence + "\ncprof: hint: " + hint + "\n");
  EXPECT_EQ(outcome.out, "");
}

class OfflineRefusal : public testing::TestWithParam<const char*> {
 protected:
  Outcome Run(std::vector<std::string> arguments, const RunOptions& options = {}) {
    arguments.insert(arguments.begin(), GetParam());
    return RunCprof(arguments, options);
  }
  const std::string command_ = GetParam();
  const Folder folder_;
};

TEST_P(OfflineRefusal, FileThatIsNoRecording) {
  const std::string path = folder_.File("noise");
  using std::string_literals::operator""s;
  Write(path,
        "\x7f"
        "ELF\x02\x01\x01\0\xff\xfe and so on, no recording at all"s);
  ExpectRefused(Run({"-i", path}), 1, path + ": not a cprof recording",
                "recordings are made with 'cprof record'");
}

TEST_P(OfflineRefusal, RecordingOfANewerFormat) {
  std::string bytes(
      "\x89"
      "CPROF\r\n"
      "\xff\x00\x00\x00",
      12);
  const auto checksum = static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size()));
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(checksum >> shift);
  bytes += std::string(4096, '\0');
  const std::string path = folder_.File("newer");
  Write(path, bytes);
  ExpectRefused(Run({"-i", path}), 1,
                path + ": the recording has format version 255; this cprof reads up to version 1",
                "read it with a newer cprof");
}

TEST_P(OfflineRefusal, FileThatIsNotThere) {
  RunOptions options;
  options.folder = folder_.path();
  ExpectRefused(Run({}, options), 1, "cannot open cprof.data: No such file or directory",
                "make a recording with 'cprof record', or name one with -i");
  ExpectRefused(Run({"-i", "/nowhere/x"}), 1, "cannot open /nowhere/x: No such file or directory",
                "name a recording with -i");
}

TEST_P(OfflineRefusal, FileThatMayNotBeRead) {
  const std::string path = folder_.File("foreign");
  Write(path, "x");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  RunOptions options;
  options.in_child = [] {
    // Root, too, without the right to pass over modes; who is not root has no bounding set to
    // change.
    for (const int capability : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) {
      if (geteuid() == 0 && prctl(PR_CAPBSET_DROP, capability) != 0) _exit(126);
    }
  };
  const Outcome outcome = Run({"-i", path}, options);
  ExpectRefused(outcome, 1, "cannot open " + path + ": Permission denied",
                "recordings are readable by their owner only; try as that user or as root");
}

TEST_P(OfflineRefusal, FolderAndEmptyFile) {
  ExpectRefused(Run({"-i", folder_.path()}), 1, folder_.path() + " is a directory",
                "name a recording with -i");
  const std::string path = folder_.File("empty");
  Write(path, "");
  ExpectRefused(Run({"-i", path}), 1, path + " is empty",
                "a recorder that was stopped at once writes nothing; record again");
}

TEST_P(OfflineRefusal, UnknownOption) {
  ExpectRefused(Run({"--bogus"}), 2, "'cprof " + command_ + "' has no option --bogus",
                "'cprof " + command_ + " --help' lists the options");
  ExpectRefused(Run({"-i", kRecording, "--bogus"}), 2,
                "'cprof " + command_ + "' has no option --bogus",
                "'cprof " + command_ + " --help' lists the options");
}

TEST_P(OfflineRefusal, StrayWord) {
  ExpectRefused(Run({"other.data"}), 2, "'cprof " + command_ + "' takes no word 'other.data'",
                "a recording is named with -i, as in 'cprof " + command_ + " -i other.data'");
}

TEST_P(OfflineRefusal, OptionWithoutItsValue) {
  ExpectRefused(Run({"-i"}), 2, "--input: 1 required FILE missing",
                "see 'cprof " + command_ + " --help'");
}

TEST_P(OfflineRefusal, FullDisk) {
  RunOptions options;
  options.in_child = [] {
    const int full = open("/dev/full", O_WRONLY);
    if (full < 0 || dup2(full, STDOUT_FILENO) < 0) _exit(126);
  };
  ExpectRefused(Run({"-i", kRecording}, options), 1,
                "cannot write to standard output: No space left on device",
                "free some space or write elsewhere");
}

TEST_P(OfflineRefusal, BrokenPipeIsSilent) {
  RunOptions options;
  options.in_child = [] {
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) _exit(126);
    close(ends[0]);
    close(ends[1]);
  };
  const Outcome outcome = Run({"-i", kRecording}, options);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "");
}

INSTANTIATE_TEST_SUITE_P(Commands, OfflineRefusal, testing::ValuesIn(kCommands),
                         [](const auto& test) { return std::string(test.param); });

TEST(OfflineOutput, FileThatCannotBeWritten) {
  for (const char* command : {"graph", "flame", "inject"}) {
    ExpectRefused(RunCprof({command, "-i", kRecording, "-o", "/nowhere/x"}), 1,
                  "cannot write /nowhere/x: No such file or directory",
                  "name a file in a folder that you may write to");
    ExpectRefused(RunCprof({command, "-i", kRecording, "-o", "/dev/full"}), 1,
                  "cannot write to /dev/full: No space left on device",
                  "free some space or write elsewhere");
  }
}

TEST(OfflineOutput, RecordingThatIsReadIsNotOverwritten) {
  const Folder folder;
  const std::string path = folder.File("cprof.data");
  const std::string bytes = "1ns edge.cpu0.0 1/1@1 task sched:switch\n";
  for (const char* command : {"graph", "flame", "inject"}) {
    Write(path, bytes);
    ExpectRefused(RunCprof({command, "-i", path, "-o", path}), 1,
                  path + " is the recording that is read", "write to another file with -o");
    std::stringstream after;
    after << std::ifstream(path).rdbuf();
    EXPECT_EQ(after.str(), bytes);
  }
}

TEST(OfflineWords, CommandThatDoesNotExist) {
  ExpectRefused(RunCprof({"bogus"}), 2, "no such command: bogus",
                "'cprof --help' lists the commands");
  ExpectRefused(RunCprof({}), 2, "no command", "'cprof --help' lists the commands");
}

TEST(OfflineWords, RequestThatIsNotThere) {
  for (const char* id : {"99", "0x63", "NONE:slowest"}) {
    const Outcome outcome = RunCprof({"report", "-i", kRecording, "--request", id});
    EXPECT_EQ(outcome.exit_code, 1) << id;
    EXPECT_EQ(outcome.err, "cprof: error: " + kRecording + ": no request '" + id +
                               "' in it\ncprof: hint: 'cprof report --by request' lists the kinds "
                               "of request\n");
  }
  ExpectRefused(RunCprof({"report", "-i", kRecording, "--request", "zz"}), 2,
                "--request takes an id, 'slowest' or NAME:slowest, not 'zz'",
                "an id is decimal, hexadecimal with 0x, or 32 hexadecimal digits");
  ExpectRefused(RunCprof({"report", "-i", kRecording, "--request", ""}), 2,
                "--request: needs a value", "see 'cprof report --help'");
  ExpectRefused(RunCprof({"graph", "-i", kRecording, "--request", "2"}), 2,
                "--request goes with --format dot only",
                "add --format dot, or see one request with 'cprof report --request'");
}

TEST(OfflineWords, WhatCannotBeInjected) {
  ExpectRefused(RunCprof({"inject", "-i", kRecording, "--drop", "2"}), 2,
                "--drop takes a share of the records, not '2'",
                "as in 1%, 0.5% or 0.01; at most 100%");
  ExpectRefused(RunCprof({"inject", "-i", kRecording, "-e", "none"}), 2, "no such adapter: none",
                "'cprof record --list-adapters' lists the adapters");
  ExpectRefused(RunCprof({"inject", "-i", kRecording, "-e", "recorder"}), 2,
                "what the recorder itself wrote is never lost",
                "'cprof record --list-adapters' lists the adapters");
  ExpectRefused(RunCprof({"inject", "-i", kRecording, "--truncate", "1%", "-e", "app"}), 2,
                "--truncate does not go with -e",
                "a chunk holds the records of all adapters; choose with --plane");
}

TEST(OfflineWords, DamagedRecordingIsReadAndSaysWhatIsMissing) {
  std::ifstream file(std::string(CPROF_GOLDEN_FOLDER) + "/format-1.cprof", std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const Folder folder;
  const std::string path = folder.File("torn");
  Write(path, bytes.str().substr(0, bytes.str().size() * 2 / 3));
  const Outcome outcome = RunCprof({"script", "-i", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("cprof: warning: " + path + ": "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("!header"), std::string::npos);
}

const std::string kFree = std::string(CPROF_GOLDEN_FOLDER) + "/contention_free.txt";
const std::string kUnfair =
    "A (" + kRecording + ") and B (" + kFree +
    ") cannot be compared fairly: A lost 3 events (6.00 %): waits that they explain are unknown on "
    "that side";

TEST(OfflineDiff, UnfairPairIsRefusedUnlessForced) {
  const char* hint = "record both in the same way, or compare them all the same with --force";
  ExpectRefused(RunCprof({"diff", kRecording, kFree}), 1, kUnfair, hint);
  ExpectRefused(RunCprof({"flame", "--diff", kRecording, kFree}), 1, kUnfair, hint);
  const Outcome forced = RunCprof({"diff", "--force", kRecording, kFree});
  EXPECT_EQ(forced.exit_code, 0);
  EXPECT_NE(forced.out.find("# unfair     : A lost 3 events"), std::string::npos);
  const Outcome flame = RunCprof({"flame", "--force", "--diff", kRecording, kFree});
  EXPECT_EQ(flame.exit_code, 0);
  EXPECT_NE(flame.err.find("cprof: warning: A lost 3 events"), std::string::npos) << flame.err;
}

TEST(OfflineDiff, WrongWordsAreUsage) {
  EXPECT_EQ(RunCprof({"diff", kRecording}).exit_code, 2);
  EXPECT_EQ(RunCprof({"diff", kRecording, kFree, kFree}).exit_code, 2);
  ExpectRefused(RunCprof({"diff", "-", "-"}), 2, "standard input cannot be both recordings",
                "name a file for one of them");
  ExpectRefused(RunCprof({"flame", "--diff", kRecording, kFree, "--by", "thread"}), 2,
                "--diff compares requests", "use --by request, the default");
  ExpectRefused(RunCprof({"flame", "-i", kRecording, "--force"}), 2, "--force is for --diff alone",
                "leave it out");
}

TEST(OfflineDiff, NeitherRecordingIsOverwritten) {
  const Folder folder;
  const std::string copy = folder.File("b.txt");
  std::filesystem::copy_file(kRecording, copy);
  const Outcome outcome = RunCprof({"flame", "--force", "--diff", kRecording, copy, "-o", copy});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("is the recording that is read"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::filesystem::file_size(copy), std::filesystem::file_size(kRecording));
}

}  // namespace
}  // namespace cprof::test
