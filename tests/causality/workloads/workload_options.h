// Reads the few switches of a workload from its command line.
#ifndef CPROF_TESTS_CAUSALITY_WORKLOADS_WORKLOAD_OPTIONS_H_
#define CPROF_TESTS_CAUSALITY_WORKLOADS_WORKLOAD_OPTIONS_H_

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace cprof::causality {

class OptionReader {
 public:
  void Text(const std::string& name, std::string* value) {
    with_value_[name] = [value](const char* text) {
      *value = text;
      return true;
    };
  }
  void Number(const std::string& name, uint64_t* value) {
    with_value_[name] = [value](const char* text) {
      char* rest = nullptr;
      *value = std::strtoull(text, &rest, 10);
      return rest != text && *rest == '\0';
    };
  }
  void Seconds(const std::string& name, double* value) {
    with_value_[name] = [value](const char* text) {
      char* rest = nullptr;
      *value = std::strtod(text, &rest);
      return rest != text && *rest == '\0' && *value >= 0;
    };
  }
  void Off(const std::string& name, bool* value) { off_[name] = value; }

  // False where a word is not known, or its value is none.
  bool Read(int argc, char** argv) const {
    for (int i = 1; i < argc; ++i) {
      const auto off = off_.find(argv[i]);
      if (off != off_.end()) {
        *off->second = false;
        continue;
      }
      const auto found = with_value_.find(argv[i]);
      if (found == with_value_.end() || i + 1 == argc || !found->second(argv[i + 1])) return false;
      ++i;
    }
    return true;
  }

 private:
  std::map<std::string, std::function<bool(const char*)>> with_value_;
  std::map<std::string, bool*> off_;
};

// The place of a word in a list of those that a switch takes.
template <typename Words>
std::optional<size_t> FindWord(const Words& words, const std::string& word) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (word == words[i]) return i;
  }
  return std::nullopt;
}

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_WORKLOADS_WORKLOAD_OPTIONS_H_
