// The recorder's parts that need no kernel programs: /proc texts, symbols, output, command,
// figures.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "record/command.h"
#include "record/mappings.h"
#include "record/output.h"
#include "record/procfs.h"
#include "record/progress.h"
#include "record/symbol_copy.h"

namespace cprof {
namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/cprof-parts-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void Fill(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string Content(const std::string& path) { return ReadSmallFile(path).value_or("[none]"); }

const char kStat[] =
    "17 (a) b (c\nd) S 4 17 17 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 3 0 5005 8192 100 1844\n";

TEST(TaskStat, CommMayHoldParenthesesAndNewlines) {
  const auto stat = ParseTaskStat(kStat);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->tid, 17u);
  EXPECT_EQ(stat->comm, "a) b (c\nd");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent_tgid, 4u);
  EXPECT_EQ(stat->start_ticks, 5005u);
  EXPECT_FALSE(stat->is_kernel_thread());
}

TEST(TaskStat, ShortTextIsRefused) {
  const std::string text = kStat;
  for (size_t length = 0; length < text.find("5005"); ++length) {
    EXPECT_FALSE(ParseTaskStat(text.substr(0, length))) << length;
  }
}

TEST(TaskStat, KernelThreadIsKnown) {
  const auto kthreadd = ReadTaskStat(2);
  ASSERT_TRUE(kthreadd);
  EXPECT_TRUE(kthreadd->is_kernel_thread());
  const auto self = ReadTaskStat(static_cast<uint32_t>(getpid()));
  ASSERT_TRUE(self);
  EXPECT_FALSE(self->is_kernel_thread());
}

TEST(TaskIds, NestedNamespacesAreListed) {
  const auto ids = ParseTaskIds("Name:\tx\nTgid:\t40\nNgid:\t0\nPid:\t41\nNStgid:\t40\t1\n");
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->tgid, 40u);
  EXPECT_EQ(ids->namespace_tgids, (std::vector<uint32_t>{40, 1}));
  EXPECT_FALSE(ParseTaskIds("Name:\tx\n"));
}

TEST(Mappings, OnlyExecutableOnesAreKept) {
  const auto mappings = ParseMaps(
      "1000-2000 r--p 00000000 fd:00 12 /bin/a b\n"
      "2000-3000 r-xp 00001000 fd:00 12                         /bin/a b\n"
      "3000-4000 r-xp 00000000 00:00 0 \n"
      "broken line\n"
      "9000-8000 r-xp 00000000 fd:00 12 /bin/backwards\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
      7);
  ASSERT_EQ(mappings.size(), 3u);
  EXPECT_EQ(mappings[0].start, 0x2000u);
  EXPECT_EQ(mappings[0].end, 0x3000u);
  EXPECT_EQ(mappings[0].file_offset, 0x1000u);
  EXPECT_EQ(mappings[0].path, "/bin/a b");
  EXPECT_EQ(mappings[0].tgid, 7u);
  EXPECT_EQ(mappings[1].path, "");
  EXPECT_EQ(mappings[2].path, "[vsyscall]");
}

TEST(Mappings, OwnImageIsReadOnceWithItsBuildId) {
  const auto self = static_cast<uint32_t>(getpid());
  MappingWatch watch;
  EXPECT_TRUE(watch.Notice(self, 5, false));
  const auto first = watch.Collect(10, false);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  bool found = false;
  for (const Mapping& mapping : first) {
    if (mapping.path != program) continue;
    found = true;
    EXPECT_EQ(mapping.time_ns, 5u);
    EXPECT_EQ(mapping.build_id, ReadBuildId(program));
    EXPECT_EQ(mapping.build_id.size(), 20u);
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(watch.Collect(20, true).empty()) << "nothing was mapped since";
}

TEST(Mappings, QuietProcessIsNotLookedAt) {
  MappingWatch watch;
  const auto self = static_cast<uint32_t>(getpid());
  watch.Notice(self, 1, true);
  EXPECT_EQ(watch.next_due_ns(), 0u);
  (void)watch.Collect(100, false);
  EXPECT_EQ(watch.next_due_ns(), UINT64_MAX);
  EXPECT_FALSE(watch.Notice(self, 200, false));
  EXPECT_EQ(watch.next_due_ns(), 100u + 20'000'000u);
}

TEST(Mappings, FileWithoutNotesHasNoBuildId) {
  Folder folder;
  Fill(folder.File("text"), "not an ELF file");
  EXPECT_EQ(ReadBuildId(folder.File("text")), "");
  EXPECT_EQ(ReadBuildId(folder.File("missing")), "");
}

TEST(Kallsyms, TextSymbolsAreRelativeAndUnique) {
  const auto symbols = ParseKallsyms(
      "ffffffff81000000 T _stext\n"
      "ffffffff81000000 T alias_of_stext\n"
      "ffffffff81000200 t later\n"
      "ffffffff81000100 t earlier\n"
      "ffffffff82000000 D data\n"
      "0000000000000000 T hidden\n"
      "ffffffffc0000000 t in_module\t[ext4]\n",
      0xffffffff81000000);
  const std::vector<KernelSymbol> expected = {
      {0, "_stext"}, {0x100, "earlier"}, {0x200, "later"}, {0x3f000000, "in_module [ext4]"}};
  EXPECT_EQ(symbols, expected);
}

TEST(Output, NewFileIsPrivateAndOldOneIsKept) {
  Folder folder;
  const std::string path = folder.File("cprof.data");
  Fill(path, "first");
  chmod(path.c_str(), 0666);
  std::atomic<bool> refused = false;
  auto sink = OpenOutput(path, &refused);
  ASSERT_TRUE(sink);
  const std::vector<uint8_t> bytes = {'n', 'e', 'w'};
  ASSERT_TRUE((*sink)->Write(bytes));
  EXPECT_EQ(Content(path), "new");
  EXPECT_EQ(Content(path + ".old"), "first");
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  EXPECT_FALSE(refused);
}

TEST(Output, LinksFoldersAndForeignFilesAreLeftAlone) {
  Folder folder;
  std::atomic<bool> refused = false;
  Fill(folder.File("victim"), "precious");
  ASSERT_EQ(symlink("victim", folder.File("link").c_str()), 0);
  EXPECT_FALSE(OpenOutput(folder.File("link"), &refused));
  EXPECT_EQ(Content(folder.File("victim")), "precious");
  ASSERT_EQ(mkdir(folder.File("sub").c_str(), 0700), 0);
  EXPECT_FALSE(OpenOutput(folder.File("sub"), &refused));
  EXPECT_FALSE(OpenOutput(folder.File("missing/cprof.data"), &refused));
  EXPECT_FALSE(OpenOutput("", &refused));
  if (geteuid() != 0) GTEST_SKIP() << "changing an owner needs root";
  Fill(folder.File("foreign"), "theirs");
  ASSERT_EQ(chown(folder.File("foreign").c_str(), 12345, 12345), 0);
  const auto result = OpenOutput(folder.File("foreign"), &refused);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("another user (uid 12345)"), std::string::npos);
  EXPECT_EQ(Content(folder.File("foreign")), "theirs");
}

TEST(Output, FullDeviceIsRefusedWithAHint) {
  std::atomic<bool> refused = false;
  auto sink = OpenOutput("/dev/full", &refused);
  ASSERT_TRUE(sink);
  const std::vector<uint8_t> bytes(10);
  const auto result = (*sink)->Write(bytes);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "cannot write to '/dev/full': No space left on device");
  EXPECT_FALSE(result.error().hint.empty());
  EXPECT_TRUE(refused);
}

TEST(Command, ExitAndSignalBecomeExitCodes) {
  for (const auto& [script, code] : {std::pair("exit 0", 0), std::pair("exit 7", 7),
                                     std::pair("kill -9 $$", 137), std::pair("kill -15 $$", 143)}) {
    auto command = Command::Prepare({"sh", "-c", script}, false);
    ASSERT_TRUE(command);
    ASSERT_TRUE((*command)->Release());
    (*command)->Wait();
    EXPECT_EQ((*command)->exit_code(), code) << script;
  }
}

TEST(Command, NothingRunsBeforeRelease) {
  Folder folder;
  {
    auto command = Command::Prepare({"touch", folder.File("ran")}, false);
    ASSERT_TRUE(command);
  }
  EXPECT_FALSE(std::filesystem::exists(folder.File("ran")));
}

TEST(Command, MissingProgramIsNamed) {
  const auto result = CheckCommand("cprof-no-such-program");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "cannot run 'cprof-no-such-program': No such file or directory");
  EXPECT_TRUE(CheckCommand("sh"));
  EXPECT_TRUE(CheckCommand("/bin/sh"));
}

TEST(Progress, FiguresReadLikePerf) {
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.0 kB");
  EXPECT_EQ(FormatBytes(999'960), "1.0 MB");
  EXPECT_EQ(FormatSummary({.elapsed_ns = 0, .events = 12, .bytes = 1'200'000}, "cprof.data"),
            "[ cprof record: Captured and wrote 1.2 MB cprof.data (12 events) ]");
  EXPECT_EQ(FormatProgress({.elapsed_ns = 1'500'000'000, .events = 3, .bytes = 10, .lost = 2}),
            "[ cprof record: 1.5 s, 3 events, 10 B, 2 lost ]");
}

TEST(Progress, LossLineNamesWhatWhereAndWhy) {
  const std::map<StreamId, StreamInfo> streams = {
      {0, {.id = 0, .kind = StreamKind::kEdgeCpu, .cpu = 0}},
      {1, {.id = 1, .kind = StreamKind::kEdgeCpu, .cpu = 1}}};
  LossTotals losses;
  EXPECT_EQ(FormatLosses(losses, streams), "");
  losses[{0, BreakReason::kRingFull}] = {.total = 5, .verbs = {{verbs::kSchedWaking, 5}}};
  losses[{1, BreakReason::kWriterStalled}] = {
      .total = 9, .verbs = {{verbs::kIoUringSubmit, 4}, {verbs::kIoUringComplete, 5}}};
  EXPECT_EQ(FormatLosses(losses, streams),
            "[ cprof record: Lost 14 events: edge.cpu1 9 (not written: io_uring:complete 5, "
            "io_uring:submit 4); edge.cpu0 5 (ring full: sched:waking 5); larger rings (-m) lose "
            "less ]");
}

}  // namespace
}  // namespace cprof
