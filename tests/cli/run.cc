// Forks, execs, reads.
#include "run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace cprof::test {
namespace {

[[noreturn]] void Exec(const std::vector<std::string>& words, const RunOptions& options, int out,
                       int err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(125);
  if (options.in_child) options.in_child();
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  _exit(127);
}

[[noreturn]] void HandToAndFro(int from, int to, bool starts) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte = 0;
  if (starts && write(to, &byte, 1) != 1) _exit(1);
  while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1) {
  }
  _exit(0);
}

Content ReadSource(std::unique_ptr<ByteSource> source) {
  Content content;
  StringTable strings;
  auto summary = ReadRecording(*source, strings, content);
  if (summary) {
    content.summary = *summary;
  } else {
    ADD_FAILURE() << summary.error().message;
  }
  return content;
}

}  // namespace

Folder::Folder() {
  char name[] = "/tmp/cprof-cli-XXXXXX";
  path_ = mkdtemp(name);
}
Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Outcome RunProgram(const std::vector<std::string>& words, const RunOptions& options) {
  int out[2] = {-1, -1};
  int err[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) std::abort();
  const pid_t pid = fork();
  if (pid == 0) Exec(words, options, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  Outcome outcome;
  bool called = !options.while_running;
  pollfd queries[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  int open = 2;
  while (open > 0) {
    if (!called && outcome.err.find(options.until) != std::string::npos) {
      called = true;
      options.while_running(pid);
    }
    poll(queries, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (queries[i].revents == 0) continue;
      char buffer[65536];
      const ssize_t got = read(queries[i].fd, buffer, sizeof(buffer));
      if (got > 0) {
        (i == 0 ? outcome.out : outcome.err).append(buffer, static_cast<size_t>(got));
      } else {
        close(queries[i].fd);
        queries[i].fd = -1;
        --open;
      }
    }
  }
  int status = 0;
  waitpid(pid, &status, 0);
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

Outcome RunCprof(const std::vector<std::string>& arguments, const RunOptions& options) {
  std::vector<std::string> words = {CPROF_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return RunProgram(words, options);
}

PingPong::PingPong() {
  int there[2] = {-1, -1};
  int back[2] = {-1, -1};
  if (pipe2(there, O_CLOEXEC) != 0 || pipe2(back, O_CLOEXEC) != 0) std::abort();
  for (int i = 0; i < 2; ++i) {
    pids_[i] = fork();
    if (pids_[i] == 0)
      HandToAndFro(i == 0 ? back[0] : there[0], i == 0 ? there[1] : back[1], i == 0);
  }
  for (const int fd : {there[0], there[1], back[0], back[1]}) close(fd);
}

PingPong::~PingPong() {
  for (const pid_t pid : pids_) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

void Content::OnHeader(const SessionHeader& value) {
  header = value;
  has_header = true;
}

void Content::OnEvents(StreamId stream, std::span<const Event> values) {
  events[stream] += values.size();
  total += values.size();
  for (const Event& event : values) {
    ++verb_counts[event.verb];
    latest_ns[stream] = std::max(latest_ns[stream], event.time_ns);
    if (event.verb >= verbs::kRecorderThread) recorder_events.push_back(event);
  }
}

void Content::OnSamples(StreamId stream, std::span<const StackSample> values) {
  events[stream] += values.size();
  total += values.size();
  verb_counts[cprof::verbs::kSampleCpu] += values.size();
}

void Content::OnMappings(std::span<const Mapping> values) {
  mappings.insert(mappings.end(), values.begin(), values.end());
}

void Content::OnFooter(const Footer& value) {
  footer = value;
  has_footer = true;
}

Content ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    ADD_FAILURE() << path << " is not there";
    return {};
  }
  Content content = ReadSource(MakeFdSource(fd, path));
  close(fd);
  return content;
}

Content ReadBytes(const std::string& bytes) { return ReadSource(MakeStringSource(bytes)); }

void ExpectEveryEventAccounted(const Content& content) {
  ASSERT_TRUE(content.has_footer);
  std::map<StreamId, uint64_t> lost;
  for (const Break& entry : content.breaks) lost[entry.stream] += entry.total;
  ASSERT_FALSE(content.footer.final_counters.counters.empty());
  for (const RoundMark::Counter& counter : content.footer.final_counters.counters) {
    const auto kept = content.events.find(counter.stream);
    EXPECT_EQ(counter.attempted,
              (kept == content.events.end() ? 0 : kept->second) + lost[counter.stream])
        << "stream " << counter.stream;
  }
}

}  // namespace cprof::test
