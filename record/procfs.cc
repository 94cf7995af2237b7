// Reads /proc.
#include "record/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

namespace cprof {
namespace {

template <typename T>
bool ParseNumber(std::string_view text, T* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// Takes the next word off text; words are separated by spaces or tabs.
std::string_view NextWord(std::string_view* text) {
  const size_t begin = std::min(text->find_first_not_of(" \t\n"), text->size());
  const size_t end = std::min(text->find_first_of(" \t\n", begin), text->size());
  const std::string_view word = text->substr(begin, end - begin);
  text->remove_prefix(end);
  return word;
}

std::vector<uint32_t> ListNumbers(const std::string& path) {
  std::vector<uint32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (!directory) return numbers;
  while (const dirent* entry = readdir(directory.get())) {
    uint32_t number = 0;
    if (ParseNumber(std::string_view(entry->d_name), &number)) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The words behind "Name:" in a status file.
std::string_view StatusLine(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(name)) return line.substr(name.size());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

}  // namespace

std::optional<std::string> ReadSmallFile(const std::string& path, size_t limit_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char buffer[16384];
  ssize_t got = 0;
  while (text.size() < limit_bytes) {
    got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  if (got < 0) return std::nullopt;
  return text;
}

std::optional<TaskStat> ParseTaskStat(std::string_view text) {
  TaskStat stat;
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  std::string_view head = text.substr(0, open);
  if (!ParseNumber(NextWord(&head), &stat.tid)) return std::nullopt;
  stat.comm = std::string(text.substr(open + 1, close - open - 1));
  std::string_view rest = text.substr(close + 1);
  const std::string_view state = NextWord(&rest);
  if (state.size() != 1) return std::nullopt;
  stat.state = state[0];
  // Field numbers of proc(5); the state was field 3.
  for (int field = 4; field <= 22; ++field) {
    const std::string_view word = NextWord(&rest);
    bool valid = !word.empty();
    if (field == 4) valid = ParseNumber(word, &stat.parent_tgid);
    if (field == 9) valid = ParseNumber(word, &stat.flags);
    if (field == 22) valid = ParseNumber(word, &stat.start_ticks);
    if (!valid) return std::nullopt;
  }
  return stat;
}

std::optional<TaskStat> ReadTaskStat(uint32_t tid) {
  const auto text = ReadSmallFile("/proc/" + std::to_string(tid) + "/stat");
  return text ? ParseTaskStat(*text) : std::nullopt;
}

std::optional<TaskIds> ParseTaskIds(std::string_view text) {
  TaskIds ids;
  std::string_view tgid = StatusLine(text, "Tgid:");
  if (!ParseNumber(NextWord(&tgid), &ids.tgid)) return std::nullopt;
  std::string_view nested = StatusLine(text, "NStgid:");
  for (std::string_view word = NextWord(&nested); !word.empty(); word = NextWord(&nested)) {
    uint32_t number = 0;
    if (!ParseNumber(word, &number)) return std::nullopt;
    ids.namespace_tgids.push_back(number);
  }
  return ids;
}

std::optional<TaskIds> ReadTaskIds(uint32_t tid) {
  const auto text = ReadSmallFile("/proc/" + std::to_string(tid) + "/status");
  return text ? ParseTaskIds(*text) : std::nullopt;
}

std::vector<uint32_t> ListThreads(uint32_t tgid) {
  return ListNumbers("/proc/" + std::to_string(tgid) + "/task");
}

std::vector<uint32_t> ListProcesses() { return ListNumbers("/proc"); }

bool InInitialPidNamespace() {
  struct stat status {};
  if (stat("/proc/self/ns/pid", &status) != 0) return true;
  return status.st_ino == 0xEFFFFFFCu;  // PROC_PID_INIT_INO, part of the kernel's user interface
}

}  // namespace cprof
