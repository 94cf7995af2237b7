// A recording as text: cold requests read while hot ones want the same shard, again and again.
#ifndef CPROF_TESTS_UNIT_SHELF_STORY_H_
#define CPROF_TESTS_UNIT_SHELF_STORY_H_

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace cprof::testing {

struct ShelfStory {
  int rounds = 20;
  bool holds = true;          // the shard is kept while its holder reads
  uint64_t read_us = 10'000;  // of a cold request, and up to 400 us more
  std::string adapters = R"(adapter="sched" adapter="io_uring" adapter="futex" adapter="app")";
  int io_samples = 0;  // of 1 ms each, in a cold request
  int futex_samples = 0;
  std::string breaks;  // lines to put at the end
  uint32_t tgid = 40;
  std::string session = "000102030405060708090a0b0c0d0e0f";
};

class ShelfText {
 public:
  explicit ShelfText(const ShelfStory& story) : story_(story) {
    text_ = "!header session_id=" + story.session +
            " t0_ns=1000000000 wall_t0_ns=1764550000123456789 cpus=2 target=" + Tgid() + " " +
            story.adapters + "\n";
    const char* names[] = {"edge.cpu0", "edge.cpu1", "app.T.0",
                           "app.T.1",   "recorder",  "context.cpu0"};
    for (int i = 0; i < 6; ++i) {
      text_ += "!stream id=" + std::to_string(i) + " name=" + Stream(names[i]) + "\n";
    }
    At(0, "recorder", "0/0@0", "recorder:gate open=1");
    for (int i = 0; i < 2; ++i) {
      const std::string thread = Thread(i);
      At(1, "recorder", "0/0@0",
         "recorder:thread thread=" + thread + " comm=\"worker-" + std::to_string(i) + "\"");
    }
    At(2, "recorder", "0/0@0", "recorder:ring ring=0x77 fd=5");
    for (int i = 0; i < 2; ++i) Switch(3, i, "thread=" + Thread(i));
    At(4, "app.T.0", Thread(0), "app:begin id=0x9 kind=resource name=\"shard-3\" domain=\"cache\"");
    text_ += "!ksym offset=0x100 name=\"io_read\"\n!ksym offset=0x200 name=\"futex_wait\"\n";
    for (int round = 0; round < story.rounds; ++round) Round(round);
    text_ += story.breaks;
    const uint64_t end_us = 1'000 + uint64_t{50'000} * static_cast<uint64_t>(story.rounds);
    At(end_us, "recorder", "0/0@0", "recorder:gate");
    const std::string end = std::to_string(1'000'000'000 + (end_us + 1) * 1000);
    text_ += "!footer end_ns=" + end + " final_ns=" + end + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string Tgid() const { return std::to_string(story_.tgid); }
  std::string Thread(int index) const { return std::to_string(42 + index) + "/" + Tgid() + "@900"; }
  std::string Stream(std::string name) const {
    const size_t at = name.find(".T.");
    if (at != std::string::npos) name.replace(at + 1, 1, Tgid());
    return name;
  }
  void At(uint64_t time_us, const std::string& stream, const std::string& who,
          const std::string& what, const char* level = "task") {
    char time[32];
    std::snprintf(time, sizeof(time), "%llu.%06llu000",
                  static_cast<unsigned long long>(1 + time_us / 1'000'000),
                  static_cast<unsigned long long>(time_us % 1'000'000));
    text_ += std::string(time) + " " + Stream(stream) + "." + std::to_string(sequences_[stream]++) +
             " " + who + " " + level + " " + what + "\n";
  }
  void App(uint64_t time_us, int thread, const std::string& what) {
    At(time_us, "app.T." + std::to_string(thread), Thread(thread), "app:" + what);
  }
  void Kernel(uint64_t time_us, int thread, const std::string& what) {
    At(time_us, "edge.cpu" + std::to_string(thread), Thread(thread), what);
  }
  void Switch(uint64_t time_us, int cpu, const std::string& what) {
    At(time_us, "edge.cpu" + std::to_string(cpu), "0/0@0", "sched:switch " + what);
  }
  void Edge(uint64_t time_us, int thread, const std::string& request, bool acquire,
            uint64_t wanted_us) {
    const std::string shard = "0x9";
    if (acquire) {
      App(time_us, thread,
          "edge from=" + shard + " to=" + request +
              " from_kind=resource to_kind=request edge=acquire domain=\"cache\" domain2=\"http\" "
              "wanted_ns=" +
              std::to_string(1'000'000'000 + wanted_us * 1000));
    } else {
      App(time_us, thread,
          "edge from=" + request + " to=" + shard +
              " from_kind=request to_kind=resource edge=release domain=\"http\" domain2=\"cache\"");
    }
  }
  void Begin(uint64_t time_us, int thread, const std::string& request, const std::string& name) {
    App(time_us, thread,
        "begin id=" + request + " kind=request name=\"" + name + "\" domain=\"http\"");
    App(time_us + 1, thread, "enter id=" + request + " kind=request domain=\"http\"");
  }
  void End(uint64_t time_us, int thread, const std::string& request) {
    App(time_us, thread, "leave id=" + request + " kind=request domain=\"http\"");
    App(time_us + 1, thread, "end id=" + request + " kind=request domain=\"http\"");
  }

  void Sample(uint64_t time_us, const char* address) {
    text_ += "!sample ";
    At(time_us, "context.cpu0", Thread(0),
       std::string("sample:cpu weight_ns=1000000 user_frames=0 kernel_frames=1 p=1 kernel=") +
           address);
  }

  void Round(int round) {
    const uint64_t from = 1'000 + uint64_t{50'000} * static_cast<uint64_t>(round);
    const auto number = static_cast<uint64_t>(round);
    const uint64_t read_end = from + 200 + story_.read_us + number % 5 * 100;
    char cold[32], hot[32], read[32];
    std::snprintf(cold, sizeof(cold), "0x%x", 0x100 + 2 * round);
    std::snprintf(hot, sizeof(hot), "0x%x", 0x101 + 2 * round);
    std::snprintf(read, sizeof(read), "0x%x", 0x5000 + round);
    Begin(from, 0, cold, "GET cold");
    Edge(from + 10, 0, cold, true, from + 5);
    for (int i = 0; i < story_.io_samples; ++i) Sample(from + 20, "0x110");
    for (int i = 0; i < story_.futex_samples; ++i) Sample(from + 21, "0x210");
    if (!story_.holds) Edge(from + 50, 0, cold, false, 0);
    // The ring's descriptor above, what the program calls the read below.
    char io_key[32];
    std::snprintf(io_key, sizeof(io_key), "0x5%016x", 0x5000 + round);
    const std::string io = io_key;
    App(from + 99, 0,
        "edge from=" + std::string(cold) + " to=" + io +
            " from_kind=request to_kind=io edge=submit domain=\"http\"");
    Kernel(
        from + 100, 0,
        std::string("io_uring:submit req=") + read + " ring=0x77 user_data=" + read + " op=0x16");
    Kernel(from + 110, 0, "io_uring:cq_wait ring=0x77 min_complete=1 queue=0x0");
    Kernel(from + 120, 0, "sched:switch prev_state=1");
    // The hot one comes while the read is on its way.
    Begin(from + 200, 1, hot, "GET hot");
    uint64_t hot_end = from + 300 + number % 3 * 20;
    if (story_.holds) {
      Kernel(from + 250, 1, "futex:futex_wait uaddr=0x7000 value=2");
      Kernel(from + 260, 1, "sched:switch prev_state=1");
      hot_end = read_end + 200 + number % 3 * 20;
    } else {
      Edge(from + 240, 1, hot, true, from + 230);
      Edge(hot_end - 10, 1, hot, false, 0);
      End(hot_end, 1, hot);
    }
    At(read_end, "edge.cpu0", "0/0@0",
       std::string("io_uring:complete req=") + read + " ring=0x77 user_data=" + read +
           " result=0x1000",
       "hardirq");
    At(read_end + 1, "edge.cpu0", "0/0@0", "sched:waking thread=" + Thread(0), "hardirq");
    Switch(read_end + 20, 0, "thread=" + Thread(0));
    App(read_end + 30, 0,
        "edge from=" + io + " to=" + cold +
            " from_kind=io to_kind=request edge=resume domain2=\"http\"");
    if (story_.holds) {
      Edge(read_end + 50, 0, cold, false, 0);
      Kernel(read_end + 51, 0, "futex:futex_wake uaddr=0x7000 wakee=43");
      Kernel(read_end + 52, 0, "sched:waking thread=" + Thread(1));
      Switch(read_end + 60, 1, "thread=" + Thread(1));
      Edge(read_end + 70, 1, hot, true, from + 230);
      Edge(hot_end - 10, 1, hot, false, 0);
      End(hot_end, 1, hot);
    }
    End(read_end + 80, 0, cold);
  }

  const ShelfStory story_;
  std::string text_;
  std::map<std::string, uint64_t> sequences_;
};

inline std::string ShelfRecording(const ShelfStory& story) { return ShelfText(story).text(); }

}  // namespace cprof::testing

#endif  // CPROF_TESTS_UNIT_SHELF_STORY_H_
