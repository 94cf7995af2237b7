// Targets that do not hold still while they are attached to.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "run.h"

namespace cprof::test {
namespace {

// Executes itself again and again, as the same process, until destroyed.
class Changeling {
 public:
  explicit Changeling(const Folder& folder) : script_(folder.File("again")) {
    std::ofstream(script_) << "#!/bin/sh\nexec \"$0\"\n";
    chmod(script_.c_str(), 0700);
    pid_ = fork();
    if (pid_ == 0) {
      execl(script_.c_str(), script_.c_str(), nullptr);
      _exit(127);
    }
  }
  ~Changeling() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  const std::string script_;
  pid_t pid_ = -1;
};

int Attempts() {
  const char* wanted = getenv("CPROF_ATTACH_ATTEMPTS");
  return wanted != nullptr ? std::stoi(wanted) : 4;
}

TEST(RecordAttach, ATargetThatExecutesAllTheTimeGivesAWholeFile) {
  const Folder folder;
  const Changeling target(folder);
  for (int i = 0; i < Attempts(); ++i) {
    const std::string file = folder.File("data");
    std::filesystem::remove(file);
    const Outcome outcome =
        RunCprof({"record", "-p", std::to_string(target.pid()), "--duration", "60ms", "-o", file});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Content content = ReadFile(file);
    EXPECT_TRUE(content.summary.clean_end);
    EXPECT_GT(content.verb_counts.at(verbs::kSchedExec), 0u);
    ExpectEveryEventAccounted(content);
    const Outcome graph = RunCprof({"graph", "-i", file, "--format", "ndjson"});
    EXPECT_EQ(graph.exit_code, 0) << graph.err;
    EXPECT_EQ(graph.out.find("\"reason\":\"unexplained\""), std::string::npos);
  }
}

TEST(RecordAttach, ATargetThatEndsMeanwhileIsRecordedOrSaidToBeGone) {
  const Folder folder;
  for (int i = 0; i < Attempts(); ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      usleep(static_cast<useconds_t>(20'000 + i * 40'000));
      _exit(0);
    }
    const std::string file = folder.File("data" + std::to_string(i));
    RunOptions options;
    options.in_child = [] { signal(SIGCHLD, SIG_DFL); };
    // Reaped at once: a zombie would be another story.
    std::thread reaper([pid] { waitpid(pid, nullptr, 0); });
    const Outcome outcome = RunCprof({"record", "-p", std::to_string(pid), "-o", file}, options);
    reaper.join();
    if (outcome.exit_code == 0) {
      EXPECT_EQ(ReadFile(file).footer.attributes.at("reason"), "all targets have ended");
      continue;
    }
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("cprof: error: "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("cprof: hint: "), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(file));
  }
}

}  // namespace
}  // namespace cprof::test
