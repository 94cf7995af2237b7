// A small recorder of the app plane, and the handling of a recorded program.
#include "tests/app/harness.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "bpf/event.h"

// The skeleton speaks of the programs' own names for numbers.
using u8 = uint8_t;
using u64 = uint64_t;
#include "cprof.skel.h"

namespace cprof {

void Collected::Put(DrainedBlock block) {
  const std::lock_guard lock(mutex_);
  for (const StreamInfo& stream : block.new_streams) streams_[stream.id] = stream;
  for (const Event& event : block.events) {
    EXPECT_EQ(event.stream, block.stream);
    events_.push_back(event);
  }
  for (const Break& lost : block.breaks) {
    EXPECT_EQ(lost.stream, block.stream);
    EXPECT_LE(lost.from_ns, lost.to_ns);
    breaks_.push_back(lost);
  }
  EXPECT_TRUE(streams_.contains(block.stream));
}

StringId Collected::Intern(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  texts_.emplace_back(text);
  const auto id = static_cast<StringId>(texts_.size() - 1);
  ids_.emplace(std::string(text), id);
  return id;
}

std::vector<Event> Collected::EventsOf(uint32_t tgid) const {
  const std::lock_guard lock(mutex_);
  std::vector<Event> events;
  for (const Event& event : events_) {
    if (streams_.at(event.stream).tgid == tgid) events.push_back(event);
  }
  return events;
}

std::vector<Break> Collected::BreaksOf(uint32_t tgid) const {
  const std::lock_guard lock(mutex_);
  std::vector<Break> breaks;
  for (const Break& lost : breaks_) {
    if (streams_.at(lost.stream).tgid == tgid) breaks.push_back(lost);
  }
  return breaks;
}

std::string Collected::Text(StringId id) const {
  const std::lock_guard lock(mutex_);
  return texts_.at(id);
}

uint64_t Collected::LostBy(uint32_t tgid) const {
  uint64_t lost = 0;
  for (const Break& each : BreaksOf(tgid)) lost += each.total;
  return lost;
}

uint64_t Collected::AccountedFor(uint32_t tgid) const {
  return EventsOf(tgid).size() + LostBy(tgid);
}

AppRecorder::AppRecorder(bool inherit) {
  skeleton_ = cprof_bpf::open();
  EXPECT_NE(skeleton_, nullptr);
  skeleton_->rodata->config.self_tgid = static_cast<__u32>(getpid());
  skeleton_->rodata->config.inherit = inherit;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton_->obj) {
    const std::string_view name = bpf_program__name(program);
    bpf_program__set_autoload(program, name.starts_with("app__") || name == "filter__newtask");
  }
  EXPECT_EQ(cprof_bpf::load(skeleton_), 0);
  skeleton_->bss->control.single_tgid = CPROF_NO_TGID;
  skeleton_->bss->control.more_targets = 1;
  links_.push_back(bpf_program__attach(skeleton_->progs.filter__newtask));
  EXPECT_NE(links_.back(), nullptr);
  auto rings = AppRings::Open(skeleton_->obj, streams_, {inherit});
  EXPECT_TRUE(rings) << rings.error().message;
  rings_ = std::move(*rings);
}

AppRecorder::~AppRecorder() {
  StopSweeping();
  rings_.reset();
  for (void* link : links_) bpf_link__destroy(static_cast<bpf_link*>(link));
  cprof_bpf::destroy(skeleton_);
}

void AppRecorder::Add(uint32_t tgid, uint64_t recording_ns) {
  const uint8_t one = 1;
  EXPECT_EQ(bpf_map__update_elem(skeleton_->maps.target_processes, &tgid, sizeof(tgid), &one,
                                 sizeof(one), BPF_ANY),
            0);
  const auto added = rings_->AddProcess(tgid, recording_ns);
  EXPECT_TRUE(added) << added.error().message;
}

void AppRecorder::StartSweeping() {
  stop_ = false;
  sweeper_ = std::thread([this] {
    while (!stop_) {
      SweepOnce();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
}

void AppRecorder::StopSweeping() {
  stop_ = true;
  if (sweeper_.joinable()) sweeper_.join();
}

void AppRecorder::Finish() {
  StopSweeping();
  rings_->Disarm();
  for (int i = 0; i < 1000 && !SweepOnce(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool AppRecorder::WaitFor(uint32_t tgid, uint64_t attempts) {
  for (int i = 0; i < 5000; ++i) {
    if (collected_.AccountedFor(tgid) >= attempts) return true;
    if (!sweeper_.joinable()) SweepOnce();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

uint64_t AppRecorder::Attempted() {
  std::vector<RoundMark::Counter> counters;
  rings_->AppendCounters(&counters);
  uint64_t attempted = 0;
  for (const RoundMark::Counter& counter : counters) attempted += counter.attempted;
  return attempted;
}

Target::Target(std::vector<std::string> arguments) {
  int in[2], out[2];
  EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  in_ = in[1];
  out_ = out[0];
  EXPECT_EQ(Receive(), "ready");
}

Target::~Target() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
  if (in_ >= 0) close(in_);
  close(out_);
}

void Target::Send(const std::string& command) {
  const std::string line = command + "\n";
  EXPECT_EQ(write(in_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
}

std::string Target::Receive() {
  size_t end = 0;
  while ((end = buffered_.find('\n')) == std::string::npos) {
    char bytes[4096];
    const ssize_t got = read(out_, bytes, sizeof(bytes));
    if (got <= 0) return "(gone)";
    buffered_.append(bytes, static_cast<size_t>(got));
  }
  const std::string line = buffered_.substr(0, end);
  buffered_.erase(0, end + 1);
  return line;
}

std::string Target::Ask(const std::string& command) {
  Send(command);
  return Receive();
}

uint64_t Target::AskNumber(const std::string& command) {
  const std::string answer = Ask(command);
  EXPECT_TRUE(!answer.empty() && answer[0] >= '0' && answer[0] <= '9') << command << ": " << answer;
  return std::strtoull(answer.c_str(), nullptr, 10);
}

int Target::Wait() {
  if (in_ >= 0) close(in_);
  in_ = -1;
  int status = 0;
  if (pid_ > 0) waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

void Target::Kill(int signal) { kill(pid_, signal); }

}  // namespace cprof
