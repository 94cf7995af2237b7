// Bad use of record gets a sentence and a hint, an exit code, and leaves everything as it was.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "run.h"

namespace cprof::test {
namespace {

// Exactly one error, one hint, nothing on standard output, no recording.
void ExpectRefusal(const std::vector<std::string>& arguments, int exit_code,
                   const std::string& message, const RunOptions& given = {}) {
  Folder folder;
  RunOptions options = given;
  if (options.folder.empty()) options.folder = folder.path();
  std::vector<std::string> all = {"record"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Outcome outcome = RunCprof(all, options);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_NE(outcome.err.find("cprof: error: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("\ncprof: hint: "), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_FALSE(std::filesystem::exists(options.folder + "/cprof.data"));
}

TEST(RecordRefusal, WrongWords) {
  ExpectRefusal({}, 2, "nothing to record");
  ExpectRefusal({"--no-such-option"}, 2, "--no-such-option");
  ExpectRefusal({"sleep", "1"}, 2, "unexpected word 'sleep'");
  ExpectRefusal({"stray", "--", "sleep", "1"}, 2, "unexpected words beside the command");
  ExpectRefusal({"-p", "abc"}, 2, "-p 'abc'");
  ExpectRefusal({"-p"}, 2, "-p");
  ExpectRefusal({"-t", "1,x"}, 2, "-t '1,x'");
  ExpectRefusal({"-a", "-p", "1"}, 2, "-a records everything");
  ExpectRefusal({"-a", "--duration", "5parsecs"}, 2, "--duration '5parsecs'");
  ExpectRefusal({"-a", "-F", "fast"}, 2, "-F 'fast'");
  ExpectRefusal({"-a", "-m", "3"}, 2, "-m '3'");
  ExpectRefusal({"-a", "-C", "1-0"}, 2, "-C '1-0'");
  ExpectRefusal({"-a", "-D", "soon"}, 2, "-D 'soon'");
  ExpectRefusal({"-a", "-e", "cycles"}, 2, "no adapter is called 'cycles'");
  ExpectRefusal({"-a", "--max-size", "1K"}, 2, "too small");
}

TEST(RecordRefusal, CpuThatIsNotThere) { ExpectRefusal({"-a", "-C", "4000"}, 1, "4000"); }

TEST(RecordRefusal, RingsBeyondMemory) { ExpectRefusal({"-a", "-m", "1073741824"}, 1, "-m"); }

TEST(RecordRefusal, NoSuchProcessOrThread) {
  ExpectRefusal({"-p", "4194303"}, 1, "no process has the PID 4194303");
  ExpectRefusal({"-t", "4194303"}, 1, "no thread has the TID 4194303");
}

TEST(RecordRefusal, ThreadGivenAsProcess) {
  std::atomic<pid_t> tid = 0;
  std::atomic<bool> end = false;
  std::thread thread([&] {
    tid = gettid();
    while (!end) usleep(1000);
  });
  while (tid == 0) usleep(1000);
  ExpectRefusal({"-p", std::to_string(tid)}, 1,
                "is a thread of process " + std::to_string(getpid()));
  end = true;
  thread.join();
}

TEST(RecordRefusal, KernelThread) {
  ExpectRefusal({"-p", "2"}, 1, "is a kernel thread");
  ExpectRefusal({"-t", "2"}, 1, "is a kernel thread");
}

TEST(RecordRefusal, Zombie) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  ExpectRefusal({"-p", std::to_string(pid)}, 1, "is a zombie");
  waitpid(pid, nullptr, 0);
}

TEST(RecordRefusal, TheRecorderItself) {
  Folder folder;
  const Outcome outcome =
      RunProgram({"sh", "-c", "exec " CPROF_BINARY " record -p $$"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("is this cprof itself"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("cprof: hint: "), std::string::npos) << outcome.err;
}

// A process that has the number `inner` in a pid namespace of its own, and ends with this one.
pid_t SpawnInNamespace(pid_t inner) {
  const pid_t outer = fork();
  if (outer != 0) return outer;
  if (unshare(CLONE_NEWPID) != 0) _exit(1);
  const pid_t init = fork();
  if (init == 0) {
    clone_args arguments = {};
    pid_t ids[1] = {inner};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<uint64_t>(ids);
    arguments.set_tid_size = 1;
    if (syscall(SYS_clone3, &arguments, sizeof(arguments)) < 0) _exit(1);
    while (true) pause();
  }
  waitpid(init, nullptr, 0);
  _exit(0);
}

TEST(RecordRefusal, PidOfAnotherNamespaceIsTranslatedInTheHint) {
  pid_t inner = 31000;
  while (kill(inner, 0) == 0) ++inner;
  const pid_t outer = SpawnInNamespace(inner);
  usleep(300'000);
  Folder folder;
  const Outcome outcome =
      RunCprof({"record", "-p", std::to_string(inner)}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("in this pid namespace"), std::string::npos) << outcome.err;
  const size_t at = outcome.err.find("try -p ");
  ASSERT_NE(at, std::string::npos) << outcome.err;
  const std::string here = outcome.err.substr(at + 7, outcome.err.find('\n', at) - at - 7);
  const Outcome recorded =
      RunCprof({"record", "-p", here, "--duration", "50ms"}, {.folder = folder.path()});
  EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
  // The namespace's first process ends all of it.
  const Outcome children = RunProgram({"pgrep", "-P", std::to_string(outer)});
  kill(static_cast<pid_t>(std::stol(children.out)), SIGKILL);
  waitpid(outer, nullptr, 0);
}

TEST(RecordRefusal, NotRoot) {
  Folder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  // The binary may lie where nobody else may look: it is opened before.
  const int fd = open(CPROF_BINARY, O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const std::string program = "/proc/self/fd/" + std::to_string(fd);
  const Outcome outcome =
      RunProgram({program, "record", "-a"}, {.folder = folder.path(), .in_child = [] {
                                               if (setgid(65534) != 0 || setuid(65534) != 0)
                                                 _exit(99);
                                             }});
  close(fd);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("recording takes root"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("cprof: hint: "), std::string::npos) << outcome.err;
}

TEST(RecordRefusal, CommandThatCannotRun) {
  ExpectRefusal({"--", "cprof-no-such-program"}, 1, "cannot run 'cprof-no-such-program'");
  ExpectRefusal({"--", "/etc/passwd"}, 1, "cannot run '/etc/passwd': Permission denied");
}

TEST(RecordRefusal, OutputThatCannotBeWritten) {
  Folder folder;
  std::ofstream(folder.File("victim")) << "precious";
  std::filesystem::create_symlink("victim", folder.File("link"));
  ExpectRefusal({"-a", "-o", folder.File("link")}, 1, "is a symbolic link");
  ExpectRefusal({"-a", "-o", folder.File("missing/x")}, 1, "No such file or directory");
  ExpectRefusal({"-a", "-o", folder.path()}, 1, "Is a directory");
  std::ofstream(folder.File("foreign")) << "theirs";
  ASSERT_EQ(chown(folder.File("foreign").c_str(), 12345, 12345), 0);
  ExpectRefusal({"-a", "-o", folder.File("foreign")}, 1, "belongs to another user (uid 12345)");
  std::string text;
  std::ifstream(folder.File("victim")) >> text;
  EXPECT_EQ(text, "precious");
}

// Runs cprof with a terminal for standard output and error; returns what the terminal got.
std::string RunOnTerminal(const std::vector<std::string>& arguments, int* exit_code) {
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    std::vector<char*> words = {const_cast<char*>(CPROF_BINARY)};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(terminal, buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(got));
  }
  close(terminal);
  int status = 0;
  waitpid(pid, &status, 0);
  *exit_code = WEXITSTATUS(status);
  return text;
}

TEST(RecordRefusal, BinaryToATerminal) {
  int exit_code = 0;
  const std::string text = RunOnTerminal({"record", "-a", "-o", "-"}, &exit_code);
  EXPECT_EQ(exit_code, 1);
  EXPECT_NE(text.find("not written to a terminal"), std::string::npos) << text;
  EXPECT_NE(text.find("cprof: hint: "), std::string::npos) << text;
}

TEST(RecordTerminal, ProgressIsDrawnAndTakenAway) {
  Folder folder;
  int exit_code = 1;
  const std::string file = folder.File("cprof.data");
  const std::vector<std::string> arguments = {"record", "-a", "-e",         "sched",
                                              "-o",     file, "--duration", "700ms"};
  const std::string text = RunOnTerminal(arguments, &exit_code);
  EXPECT_EQ(exit_code, 0);
  EXPECT_NE(text.find("\r[ cprof record: 0."), std::string::npos) << text;
  EXPECT_NE(text.find(" lost ]"), std::string::npos) << text;
  EXPECT_NE(text.find("\r[ cprof record: Captured and wrote"), std::string::npos) << text;
  std::vector<std::string> quiet = arguments;
  quiet.emplace_back("-q");
  EXPECT_EQ(RunOnTerminal(quiet, &exit_code), "");
}

}  // namespace
}  // namespace cprof::test
