// How a recording begins and ends: commands, targets, signals, times.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "run.h"

namespace cprof::test {
namespace {

TEST(RecordSession, ExitStatusOfTheCommandIsPassedOn) {
  Folder folder;
  const std::pair<const char*, int> cases[] = {
      {"exit 0", 0}, {"exit 3", 3}, {"kill -11 $$", 139}, {"kill -15 $$", 143}};
  for (const auto& [script, code] : cases) {
    const Outcome outcome =
        RunCprof({"record", "--", "sh", "-c", script}, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit_code, code) << script << outcome.err;
    EXPECT_NE(outcome.err.find("[ cprof record: Captured and wrote "), std::string::npos);
  }
  EXPECT_EQ(ReadFile(folder.File("cprof.data")).footer.attributes["exit_status"], "signal 15");
}

TEST(RecordSession, CommandIsTheTargetFromItsFirstInstruction) {
  Folder folder;
  const Outcome outcome =
      RunCprof({"record", "--", "sh", "-c", "echo $$; exec sleep 0.1"}, {.folder = folder.path()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Content content = ReadFile(folder.File("cprof.data"));
  ASSERT_TRUE(content.has_footer);
  const auto pid = static_cast<uint32_t>(std::stoul(outcome.out));
  EXPECT_EQ(content.header.target_tgids, std::vector<uint32_t>{pid});
  // Two images: the shell, then sleep.
  EXPECT_EQ(content.verb_counts.at(verbs::kSchedExec), 2u);
  EXPECT_EQ(content.verb_counts.at(verbs::kSchedExit), 1u);
  EXPECT_EQ(content.footer.attributes.at("reason"), "the command has ended");
  ExpectEveryEventAccounted(content);
}

TEST(RecordSession, ChildrenAreRecordedUnlessLeftOut) {
  Folder folder;
  const std::vector<std::string> command = {"--", "sh", "-c", "sleep 0.05; sleep 0.05; true"};
  for (const bool inherit : {true, false}) {
    std::vector<std::string> words = {"record", "-e", "sched"};
    if (!inherit) words.emplace_back("--no-inherit");
    words.insert(words.end(), command.begin(), command.end());
    ASSERT_EQ(RunCprof(words, {.folder = folder.path()}).exit_code, 0);
    const Content content = ReadFile(folder.File("cprof.data"));
    EXPECT_EQ(content.verb_counts.at(verbs::kSchedExec), inherit ? 3u : 1u);
  }
}

TEST(RecordSession, CommandOnlyBoundsTheTimeBesideATarget) {
  Folder folder;
  PingPong load;
  for (const bool system_wide : {false, true}) {
    std::vector<std::string> words = {"record", "-e", "sched"};
    if (system_wide) {
      words.emplace_back("-a");
    } else {
      words.insert(words.end(), {"-p", load.pids()});
    }
    words.insert(words.end(), {"--", "sh", "-c", "sleep 0.1; exit 5"});
    const Outcome outcome = RunCprof(words, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
    const Content content = ReadFile(folder.File("cprof.data"));
    EXPECT_GT(content.verb_counts.at(verbs::kSchedSwitch), 100u);
    EXPECT_EQ(content.header.target_tgids.size(), system_wide ? 0u : 2u);
    EXPECT_EQ(content.header.system_wide, system_wide);
    ExpectEveryEventAccounted(content);
  }
}

// A program that tells events as fast as it can, until destroyed.
class Teller {
 public:
  Teller() {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      execl(CPROF_APP_TARGET, CPROF_APP_TARGET, nullptr);
      _exit(127);
    }
    char ready[6] = {};
    EXPECT_EQ(read(out[0], ready, sizeof(ready)), 6);
    const std::string command = "emit 1000000000000\n";
    EXPECT_EQ(write(in[1], command.data(), command.size()), ssize_t(command.size()));
    for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
  }
  ~Teller() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST(RecordSession, WhatIsToldAndLostAfterTheGateHasClosedIsNoPartOfIt) {
  Folder folder;
  const Teller teller;
  const Outcome outcome = RunCprof(
      {"record", "-q", "-e", "app", "--duration", "0.3", "-p", std::to_string(teller.pid())},
      {.folder = folder.path()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Content content = ReadFile(folder.File("cprof.data"));
  ASSERT_TRUE(content.has_footer);
  EXPECT_GT(content.verb_counts.at(verbs::kAppEnter), 10000u);
  // A break alone stands in the stream of what was told before the recorder listened.
  size_t app_streams = 0;
  for (const auto& [stream, info] : content.streams) {
    const auto latest = content.latest_ns.find(stream);
    if (info.kind != StreamKind::kApp || latest == content.latest_ns.end()) continue;
    EXPECT_LE(latest->second, content.footer.end_ns);
    ++app_streams;
  }
  EXPECT_GT(app_streams, 0u);
  for (const Break& lost : content.breaks) EXPECT_LE(lost.to_ns, content.footer.end_ns);
  ExpectEveryEventAccounted(content);
}

TEST(RecordSession, ThreadsThatExistAreStatedAndTheGateIsWritten) {
  Folder folder;
  PingPong load;
  ASSERT_EQ(RunCprof({"record", "-p", std::to_string(load.pid()), "--duration", "100ms"},
                     {.folder = folder.path()})
                .exit_code,
            0);
  const Content content = ReadFile(folder.File("cprof.data"));
  ASSERT_EQ(content.recorder_events.size(), 3u);
  const Event& thread = content.recorder_events[0];
  EXPECT_EQ(thread.verb, verbs::kRecorderThread);
  EXPECT_EQ(OtherThread(thread).tid, static_cast<uint32_t>(load.pid()));
  EXPECT_EQ(OtherThread(thread).tgid, static_cast<uint32_t>(load.pid()));
  EXPECT_LT(OtherThread(thread).start_time_ns, thread.time_ns);
  EXPECT_EQ(content.recorder_events[1].verb, verbs::kRecorderGate);
  EXPECT_EQ(content.recorder_events[1].arg, 1u);
  EXPECT_EQ(content.recorder_events[2].verb, verbs::kRecorderGate);
  EXPECT_EQ(content.recorder_events[2].arg, 0u);
}

TEST(RecordSession, OneThreadCanBeRecorded) {
  Folder folder;
  PingPong load;
  ASSERT_EQ(RunCprof({"record", "-t", std::to_string(load.pid()), "--duration", "100ms"},
                     {.folder = folder.path()})
                .exit_code,
            0);
  const Content content = ReadFile(folder.File("cprof.data"));
  EXPECT_GT(content.verb_counts.at(verbs::kSchedSwitch), 100u);
  EXPECT_EQ(content.recorder_events.size(), 3u);
}

TEST(RecordSession, EndsWhenAllTargetsHaveEnded) {
  Folder folder;
  auto load = std::make_unique<PingPong>();
  const Outcome outcome = RunCprof({"record", "-v", "-p", load->pids()},
                                   {.folder = folder.path(),
                                    .while_running = [&](pid_t) { usleep(300'000), load.reset(); },
                                    .until = "ring_bytes.edge"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Content content = ReadFile(folder.File("cprof.data"));
  EXPECT_EQ(content.footer.attributes.at("reason"), "all targets have ended");
}

TEST(RecordSession, SignalsFinishTheFile) {
  Folder folder;
  PingPong load;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const Outcome outcome =
        RunCprof({"record", "-v", "-p", load.pids()},
                 {.folder = folder.path(),
                  .while_running = [number](pid_t pid) { usleep(300'000), kill(pid, number); },
                  .until = "ring_bytes.edge"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Content content = ReadFile(folder.File("cprof.data"));
    EXPECT_TRUE(content.summary.clean_end);
    EXPECT_EQ(content.footer.attributes.at("reason"),
              std::string("signal ") + sigabbrev_np(number));
    EXPECT_GT(content.total, 100u);
    ExpectEveryEventAccounted(content);
  }
}

TEST(RecordSession, SecondCtrlCEndsACommandThatDoesNot) {
  Folder folder;
  const Outcome outcome =
      RunCprof({"record", "-v", "--", "sh", "-c", "trap '' INT TERM; while :; do sleep 0.1; done"},
               {.folder = folder.path(),
                .while_running =
                    [](pid_t pid) {
                      usleep(300'000);
                      kill(pid, SIGINT);
                      usleep(200'000);
                      kill(pid, SIGINT);
                    },
                .until = "ring_bytes.edge"});
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL) << outcome.err;
  EXPECT_TRUE(ReadFile(folder.File("cprof.data")).summary.clean_end);
}

TEST(RecordSession, DelayKeepsTheGateClosed) {
  Folder folder;
  const Outcome outcome = RunCprof(
      {"record", "-e", "sched", "-D", "400", "--", "sh", "-c", "sleep 0.1; sleep 0.1; sleep 0.5"},
      {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Content content = ReadFile(folder.File("cprof.data"));
  EXPECT_EQ(content.verb_counts.count(verbs::kSchedExec), 0u) << "all began within the delay";
  EXPECT_EQ(content.verb_counts.at(verbs::kSchedExit), 2u) << "the last sleep, and the shell";
}

TEST(RecordSession, DurationEndsACommand) {
  Folder folder;
  const Outcome outcome =
      RunCprof({"record", "--duration", "200ms", "--", "sleep", "100"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.err;
  EXPECT_EQ(ReadFile(folder.File("cprof.data")).footer.attributes.at("reason"),
            "the duration is over");
}

TEST(RecordSession, KilledRecorderLeavesAReadableFile) {
  Folder folder;
  PingPong load;
  const Outcome outcome =
      RunCprof({"record", "-v", "-p", load.pids()},
               {.folder = folder.path(),
                .while_running = [](pid_t pid) { usleep(1'500'000), kill(pid, SIGKILL); },
                .until = "ring_bytes.edge"});
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  const Content content = ReadFile(folder.File("cprof.data"));
  EXPECT_FALSE(content.has_footer);
  EXPECT_GT(content.total, 1000u);
  EXPECT_FALSE(content.mappings.empty()) << "those of the targets are written at once";
}

TEST(RecordSession, SamplesBringTheMappingsOfTheirProcess) {
  Folder folder;
  const Outcome outcome = RunCprof({"record", "-F", "999", "--", "sh", "-c",
                                    "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"},
                                   {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Content content = ReadFile(folder.File("cprof.data"));
  EXPECT_GT(content.verb_counts.at(verbs::kSampleCpu), 10u);
  bool has_shell = false;
  const std::string shell = std::filesystem::canonical("/bin/sh");
  for (const Mapping& mapping : content.mappings) {
    if (mapping.path != shell) continue;
    has_shell = true;
    EXPECT_EQ(mapping.build_id.size(), 20u);
    EXPECT_EQ(mapping.tgid, content.header.target_tgids.at(0));
  }
  EXPECT_TRUE(has_shell);
}

TEST(RecordSession, ChosenAdaptersOnly) {
  Folder folder;
  PingPong load;
  ASSERT_EQ(RunCprof({"record", "-e", "io_uring", "-p", load.pids(), "--duration", "100ms"},
                     {.folder = folder.path()})
                .exit_code,
            0);
  const Content content = ReadFile(folder.File("cprof.data"));
  EXPECT_EQ(content.header.adapters, std::vector<std::string>{"io_uring"});
  EXPECT_EQ(content.verb_counts.count(verbs::kSchedSwitch), 0u);
  EXPECT_EQ(content.verb_counts.count(verbs::kSampleCpu), 0u);
}

TEST(RecordSession, ListOfAdaptersNeedsNoTarget) {
  const Outcome outcome = RunCprof({"record", "--list-adapters"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* name : {"sched", "io_uring", "futex", "app", "sample"}) {
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace cprof::test
