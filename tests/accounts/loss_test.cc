// Losses under load: exact to the event, and no join that one touches is called observed.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "tests/accounts/loss_rules.h"
#include "tests/cli/run.h"

namespace cprof::test {
namespace {

struct Recording {
  LossFindings found;
  std::map<std::string, uint64_t> lost;  // by kind of stream: "edge", "app"
};

// Records the demo server from its start; stopped for a second in the middle if told so.
Recording RecordDemo(const std::vector<std::string>& options, const std::string& requests,
                     bool stop) {
  const Folder folder;
  const std::string file = folder.File("data");
  std::vector<std::string> words = {"record", "-q", "-o", file};
  words.insert(words.end(), options.begin(), options.end());
  for (const char* word : {"--", DEMO_BINARY, "--seconds", "0", "--requests", requests.c_str(),
                           "--dir", folder.path().c_str()}) {
    words.emplace_back(word);
  }
  RunOptions run;
  if (stop) {
    words[1] = "-v";  // says when it is armed
    run.until = "hook.";
    run.while_running = [](pid_t pid) {
      usleep(400'000);
      kill(pid, SIGSTOP);
      sleep(1);
      kill(pid, SIGCONT);
    };
  }
  const Outcome recorded = RunCprof(words, run);
  EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
  const std::string script = folder.File("script"), graph = folder.File("graph");
  EXPECT_EQ(RunProgram({"sh", "-c",
                        std::string(CPROF_BINARY) + " script -i " + file + " > " + script + " && " +
                            CPROF_BINARY + " graph -i " + file + " --format ndjson > " + graph})
                .exit_code,
            0);
  Recording recording;
  recording.found = ApplyLossRules(script, graph);
  const Content content = ReadFile(file);
  for (const Break& lost : content.breaks) {
    const auto stream = content.streams.find(lost.stream);
    if (stream == content.streams.end()) continue;
    recording.lost[stream->second.kind == StreamKind::kApp ? "app" : "edge"] += lost.total;
  }
  return recording;
}

void ExpectHonest(const Recording& recording) {
  const LossFindings& found = recording.found;
  std::printf(
      "%lu breaks, %lu lost; observed: %lu completes, %lu wakes, %lu bindings, of these touched "
      "%lu, %lu, %lu; others %lu, orphans for a break %lu; %lu requests, %lu touched in their "
      "ring, unflagged "
      "%lu\n",
      found.breaks, found.lost, found.completes, found.wakes, found.bindings,
      found.touched_completes, found.touched_wakes, found.touched_bindings, found.doubted,
      found.in_break, found.requests, found.touched_requests, found.unflagged_requests);
  EXPECT_GT(found.lost, 0U);
  EXPECT_EQ(found.uneven_streams, 0U) << found.first;
  EXPECT_EQ(found.touched_completes, 0U) << found.first;
  EXPECT_EQ(found.touched_wakes, 0U) << found.first;
  EXPECT_EQ(found.touched_bindings, 0U) << found.first;
  EXPECT_EQ(found.uneven_requests, 0U) << found.first;
  EXPECT_EQ(found.unexplained, 0U);
  EXPECT_GT(found.completes, 0U);
  EXPECT_GT(found.wakes, 0U);
  EXPECT_GT(found.requests, 0U);
}

TEST(AccountsLoss, OnePageRingsLoseExactlyAndHonestly) {
  if (geteuid() != 0) GTEST_SKIP() << "recording needs root";
  const Recording recording =
      RecordDemo({"-m", "1", "-e", "sched,io_uring,futex,app"}, "6000", false);
  ExpectHonest(recording);
  EXPECT_GT(recording.lost.at("edge"), 0U);
  EXPECT_GT(recording.found.in_break, 0U);
}

TEST(AccountsLoss, AStoppedRecorderLosesExactlyAndHonestly) {
  if (geteuid() != 0) GTEST_SKIP() << "recording needs root";
  const Recording recording =
      RecordDemo({"-m", "64", "-e", "sched,io_uring,futex,app"}, "20000", true);
  ExpectHonest(recording);
  EXPECT_GT(recording.lost.at("edge"), 0U);
}

// The rules themselves: a break that lost a birth and an end of the object inside an observed join,
// and a waking of the wakee, must be found, and one of another key must not.
TEST(AccountsLoss, TheRulesFindAPlantedLie) {
  const Folder folder;
  const std::string script = folder.File("script"), graph = folder.File("graph");
  std::ofstream(graph)
      << R"({"t":"header","version":1,"t0_ns":"1000"})"
         "\n"
         R"({"t":"node","id":1,"kind":"thread","born_ns":0,"died_ns":null)"
         R"(,"attrs":{"tid":41,"tgid":41,"comm":"a"}})"
         "\n"
         R"({"t":"node","id":2,"kind":"io_request","born_ns":100,"died_ns":500)"
         R"(,"attrs":{}})"
         "\n"
         R"({"t":"edge","id":1,"type":"complete","src":2,"dst":1,"src_time_ns":500)"
         R"(,"dst_time_ns":500,"src_event":"0.1","dst_event":"0.1")"
         R"(,"source":"kernel","confidence":"observed","rule":null})"
         "\n"
         R"({"t":"edge","id":2,"type":"wake","src":1,"dst":1,"src_time_ns":200)"
         R"(,"dst_time_ns":600,"src_event":"0.0","dst_event":"0.2")"
         R"(,"source":"kernel","confidence":"observed","rule":null})"
         "\n";
  const auto rules = [&](const std::string& signature) {
    std::ofstream(script) << "!stream id=0 name=edge.cpu0\n"
                          << "!break stream=edge.cpu0 reason=ring_full from_ns=1250 to_ns=1300 "
                             "total=3 signature="
                          << signature
                          << " lost=sched:waking:1 lost=io_uring:submit:1 "
                             "lost=io_uring:complete:1\n"
                          << "0.000001500 edge.cpu0.1 41/41@9 task io_uring:complete req=0x10 "
                             "ring=0x20 result=0\n"
                          << "0.000001600 edge.cpu0.2 41/41@9 task sched:switch thread=41/41@9 "
                             "prev_state=1\n"
                          << "!footer end_ns=2000 final_ns=2000 count=edge.cpu0:5:3\n";
    return ApplyLossRules(script, graph);
  };
  const LossFindings touched = rules("0xffffffffffffffff");
  EXPECT_EQ(touched.uneven_streams, 0U) << touched.first;
  EXPECT_EQ(touched.touched_completes, 1U);
  EXPECT_EQ(touched.touched_wakes, 1U);
  const LossFindings other = rules("0x0");
  EXPECT_EQ(other.completes, 1U);
  EXPECT_EQ(other.wakes, 1U);
  EXPECT_EQ(other.touched_completes + other.touched_wakes, 0U) << other.first;
}

}  // namespace
}  // namespace cprof::test
