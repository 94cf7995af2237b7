// Where a recording goes, and what happens where it does not fit.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "run.h"

namespace cprof::test {
namespace {

TEST(RecordOutput, FileIsPrivateAndTheOldOneIsKept) {
  Folder folder;
  for (const char* reason : {"first", "second"}) {
    ASSERT_EQ(RunCprof({"record", "--", "true", reason}, {.folder = folder.path()}).exit_code, 0);
  }
  struct stat status {};
  ASSERT_EQ(stat(folder.File("cprof.data").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0600u);
  const Content now = ReadFile(folder.File("cprof.data"));
  const Content old = ReadFile(folder.File("cprof.data.old"));
  EXPECT_TRUE(now.header.attributes.at("cmdline").ends_with("-- true second"));
  EXPECT_TRUE(old.header.attributes.at("cmdline").ends_with("-- true first"));
}

TEST(RecordOutput, HeaderSaysWhereAndWhen) {
  Folder folder;
  ASSERT_EQ(RunCprof({"record", "--", "true"}, {.folder = folder.path()}).exit_code, 0);
  const Content content = ReadFile(folder.File("cprof.data"));
  const auto& attributes = content.header.attributes;
  for (const char* name : {"hostname", "kernel", "machine", "cprof_version", "cmdline", "boot_id",
                           "frequency_hz", "filter.0", "ring_bytes.edge", "hook.sched.switch"}) {
    EXPECT_TRUE(attributes.contains(name)) << name;
  }
  EXPECT_GT(content.header.t0_ns, 0u);
  EXPECT_GT(content.header.wall_t0_ns, content.header.t0_ns);
  EXPECT_GT(content.footer.end_ns, content.header.t0_ns);
}

TEST(RecordOutput, PipeTakesItAndTheCommandsWordsGoElsewhere) {
  const Outcome outcome = RunCprof({"record", "-o", "-", "--", "echo", "said by the command"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("said by the command"), std::string::npos);
  const Content content = ReadBytes(outcome.out);
  EXPECT_TRUE(content.summary.clean_end);
  EXPECT_EQ(content.verb_counts.at(verbs::kSchedExec), 1u);
}

TEST(RecordOutput, ReaderThatGoesAwayEndsIt) {
  Folder folder;
  PingPong load;
  const Outcome outcome = RunProgram({"sh", "-c",
                                      std::string("set -m; ") + CPROF_BINARY + " record -p " +
                                          load.pids() + " -o - | head -c 100000 >/dev/null; true"},
                                     {.folder = folder.path()});
  EXPECT_NE(outcome.err.find("cprof: error: cannot write to standard output: Broken pipe"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("cprof: hint: "), std::string::npos);
}

// Records the load until the output refuses; expects exit code 1 and what was finished to be whole.
void ExpectRefusedInMidRun(const std::string& file, const RunOptions& options,
                           const std::string& why) {
  PingPong load;
  const Outcome outcome =
      RunCprof({"record", "-F", "0", "-p", load.pids(), "-o", file, "--duration", "60"}, options);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("cprof: error: cannot write to '" + file + "': " + why),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("what was written up to there can be read"), std::string::npos);
  const Content content = ReadFile(file);
  EXPECT_TRUE(content.has_header);
  EXPECT_GT(content.total, 1000u);
  for (const LossEntry& entry : content.summary.losses) {
    EXPECT_NE(entry.name, "damaged_chunk");
  }
}

TEST(RecordOutput, FullDiskKeepsWhatIsFinished) {
  Folder folder;
  ASSERT_EQ(mount("cprof-test", folder.path().c_str(), "tmpfs", 0, "size=256k"), 0);
  ExpectRefusedInMidRun(folder.File("cprof.data"), {}, "No space left on device");
  EXPECT_EQ(umount2(folder.path().c_str(), MNT_DETACH), 0);
}

TEST(RecordOutput, FileSizeLimitKeepsWhatIsFinished) {
  Folder folder;
  ExpectRefusedInMidRun(folder.File("cprof.data"),
                        {.in_child =
                             [] {
                               const rlimit limit = {200'000, 200'000};
                               setrlimit(RLIMIT_FSIZE, &limit);
                             }},
                        "File too large");
}

TEST(RecordOutput, MaxSizeEndsInGoodOrder) {
  Folder folder;
  PingPong load;
  const Outcome outcome =
      RunCprof({"record", "-F", "0", "-p", load.pids(), "--max-size", "256K", "--duration", "60"},
               {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("Ended early: the recording has reached --max-size"),
            std::string::npos)
      << outcome.err;
  EXPECT_LE(std::filesystem::file_size(folder.File("cprof.data")), 256u << 10);
  const Content content = ReadFile(folder.File("cprof.data"));
  EXPECT_TRUE(content.summary.clean_end);
  EXPECT_GT(content.total, 1000u);
  ExpectEveryEventAccounted(content);
}

TEST(RecordOutput, SmallRingsLoseAndCountEveryEvent) {
  Folder folder;
  PingPong load;
  const Outcome outcome =
      RunCprof({"record", "-v", "-F", "0", "-m", "1", "-p", load.pids(), "--duration", "1500ms"},
               {.folder = folder.path(),
                .while_running =
                    [](pid_t pid) {
                      usleep(200'000);
                      kill(pid, SIGSTOP);
                      usleep(500'000);
                      kill(pid, SIGCONT);
                    },
                .until = "ring_bytes.edge"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("[ cprof record: Lost "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("(ring full: "), std::string::npos) << outcome.err;
  const Content content = ReadFile(folder.File("cprof.data"));
  uint64_t lost = 0;
  for (const Break& entry : content.breaks) {
    lost += entry.total;
    uint64_t verbs_total = 0;
    for (const auto& [verb, count] : entry.lost) verbs_total += count;
    EXPECT_EQ(verbs_total, entry.total);
    EXPECT_LE(entry.from_ns, entry.to_ns);
    EXPECT_NE(entry.signature, 0u);
  }
  EXPECT_GT(lost, 1000u);
  ExpectEveryEventAccounted(content);
}

TEST(RecordOutput, SecondCtrlCDropsWhatWaitsAndStillEndsTheFile) {
  Folder folder;
  PingPong load;
  // A pipe that is not read until both signals were sent: the writer hangs in it.
  const std::string fifo = folder.File("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  std::string bytes;
  const Outcome outcome = RunCprof({"record", "-v", "-F", "0", "-p", load.pids(), "-o", fifo},
                                   {.while_running =
                                        [&](pid_t pid) {
                                          usleep(1'500'000);
                                          kill(pid, SIGINT);
                                          usleep(200'000);
                                          kill(pid, SIGINT);
                                          char buffer[65536];
                                          for (int i = 0; i < 300; ++i) {
                                            const ssize_t got =
                                                read(reader, buffer, sizeof(buffer));
                                            if (got == 0) break;
                                            if (got > 0)
                                              bytes.append(buffer, static_cast<size_t>(got));
                                            if (got < 0) usleep(10'000);
                                          }
                                        },
                                    .until = "ring_bytes.edge"});
  close(reader);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Content content = ReadBytes(bytes);
  EXPECT_TRUE(content.summary.clean_end);
  ExpectEveryEventAccounted(content);
}

TEST(RecordOutput, PipeThatNobodyReadsIsGivenUpAfterTheSecondCtrlC) {
  Folder folder;
  PingPong load;
  const std::string fifo = folder.File("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  const Outcome outcome = RunCprof({"record", "-v", "-F", "0", "-p", load.pids(), "-o", fifo},
                                   {.while_running =
                                        [](pid_t pid) {
                                          usleep(2'000'000);
                                          kill(pid, SIGINT);
                                          usleep(200'000);
                                          kill(pid, SIGINT);
                                        },
                                    .until = "ring_bytes.edge"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("the output does not take the rest"), std::string::npos);
  close(reader);
}

}  // namespace
}  // namespace cprof::test
