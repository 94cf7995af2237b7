// The command `cprof record`: its options and their checks.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cmd/input.h"
#include "cmd/subcommand.h"
#include "format/result.h"
#include "format/verb.h"
#include "record/option_words.h"
#include "record/options.h"
#include "record/procfs.h"
#include "record/session.h"

namespace cprof {
namespace {

// A limit below this holds no more than a header and a footer.
constexpr uint64_t kMinMaxSizeBytes = 64 << 10;

// Option values as they were written.
struct RecordWords {
  std::vector<std::string> pids, tids, cpus, adapters, command;
  std::string output = "cprof.data";
  std::string duration, frequency, pages, delay, max_size;
  bool system_wide = false;
  bool call_graph = true;
  bool list_adapters = false;
  bool no_inherit = false;
  bool raw_keys = false;
  bool quiet = false;
  int verbosity = 0;
};

// The words of this process's command line.
std::vector<std::string> OwnWords() {
  std::vector<std::string> words;
  const std::string text = ReadSmallFile("/proc/self/cmdline").value_or("");
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string CommandLine() {
  std::string line;
  for (const std::string& word : OwnWords()) {
    if (!line.empty()) line += ' ';
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n'\"\\$`&|;<>()*?[]#~") == std::string::npos;
    line += plain ? word : "'" + word + "'";
  }
  return line;
}

// A word that is no option and does not stand behind "--" is a mistake more often than a command.
Result<void> CheckCommandWords(const std::vector<std::string>& command) {
  if (command.empty()) return {};
  const std::vector<std::string> words = OwnWords();
  const auto marker = std::find(words.begin(), words.end(), "--");
  const auto behind =
      marker == words.end() ? 0 : static_cast<size_t>(std::distance(marker, words.end())) - 1;
  if (behind >= command.size()) return {};
  return Error{
      "unexpected word '" + command[0] + "'",
      "a command to record stands behind '--', as in 'cprof record -- " + command[0] + "'"};
}

template <typename T, typename Parse>
Result<void> ParseAll(const std::vector<std::string>& words, const char* option, Parse parse,
                      std::vector<T>* out) {
  for (const std::string& word : words) {
    auto parsed = parse(option, word);
    if (!parsed) return parsed.error();
    out->insert(out->end(), parsed->begin(), parsed->end());
  }
  std::sort(out->begin(), out->end());
  out->erase(std::unique(out->begin(), out->end()), out->end());
  return {};
}

template <typename T, typename Parse>
Result<void> ParseOne(const std::string& word, Parse parse, T* out) {
  if (word.empty()) return {};
  auto parsed = parse(word);
  if (!parsed) return parsed.error();
  *out = static_cast<T>(*parsed);
  return {};
}

Result<void> CheckWhom(const RecordOptions& options) {
  const bool has_ids = !options.pids.empty() || !options.tids.empty();
  if (options.system_wide && has_ids) {
    return Error{"-a records everything, and -p or -t only some", "leave one of them out"};
  }
  if (!options.system_wide && !has_ids && options.command.empty()) {
    return Error{"nothing to record",
                 "give processes with -p PID, threads with -t TID, the whole system with -a, or a "
                 "command behind '--'"};
  }
  return {};
}

Result<RecordOptions> Understand(const RecordWords& words) {
  RecordOptions options;
  options.system_wide = words.system_wide;
  options.command = words.command;
  options.output = words.output;
  options.call_graph = words.call_graph;
  options.inherit = !words.no_inherit;
  options.raw_keys = words.raw_keys;
  options.quiet = words.quiet;
  options.verbosity = words.verbosity;
  CPROF_RETURN_IF_ERROR(CheckCommandWords(words.command));
  CPROF_RETURN_IF_ERROR(ParseAll(words.pids, "-p", ParseIdList, &options.pids));
  CPROF_RETURN_IF_ERROR(ParseAll(words.tids, "-t", ParseIdList, &options.tids));
  CPROF_RETURN_IF_ERROR(ParseAll(words.cpus, "-C", ParseCpuList, &options.cpus));
  CPROF_RETURN_IF_ERROR(ParseAll(words.adapters, "-e", ParseAdapters, &options.adapters));
  CPROF_RETURN_IF_ERROR(ParseOne(
      words.duration, [](const std::string& word) { return ParseTime("--duration", word, "s"); },
      &options.duration_s));
  double delay_s = 0;
  CPROF_RETURN_IF_ERROR(ParseOne(
      words.delay, [](const std::string& word) { return ParseTime("-D", word, "ms"); }, &delay_s));
  options.delay_ms = static_cast<uint32_t>(std::min(delay_s * 1000, 4e9));
  CPROF_RETURN_IF_ERROR(ParseOne(
      words.frequency, [](const std::string& word) { return ParseFrequency("-F", word); },
      &options.frequency_hz));
  const auto page_bytes = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  CPROF_RETURN_IF_ERROR(ParseOne(
      words.pages,
      [page_bytes](const std::string& word) { return ParseRingPages("-m", word, page_bytes); },
      &options.ring_pages));
  CPROF_RETURN_IF_ERROR(ParseOne(
      words.max_size, [](const std::string& word) { return ParseSize("--max-size", word); },
      &options.max_size_bytes));
  if (options.max_size_bytes != 0 && options.max_size_bytes < kMinMaxSizeBytes) {
    return Error{"--max-size '" + words.max_size + "': too small for a recording",
                 "give 64K at least"};
  }
  // Who asks for a frequency wants samples, also beside chosen adapters.
  if (!options.adapters.empty() && !words.frequency.empty() && options.frequency_hz != 0 &&
      std::find(options.adapters.begin(), options.adapters.end(), "sample") ==
          options.adapters.end()) {
    options.adapters.emplace_back("sample");
  }
  CPROF_RETURN_IF_ERROR(CheckWhom(options));
  return options;
}

int ListAdapters() {
  for (const AdapterInfo& adapter : AllAdapters()) {
    if (adapter.id == Adapter::kRecorder) continue;
    std::printf("%-10s %-3s  %s\n", std::string(adapter.name).c_str(),
                adapter.default_on ? "on" : "off", std::string(adapter.description).c_str());
  }
  return kExitOk;
}

int Record(const RecordWords& words) {
  if (words.list_adapters) return ListAdapters();
  const auto options = Understand(words);
  if (!options) {
    PrintError(options.error());
    return kExitUsage;
  }
  const auto outcome = RunSession(*options, {CommandLine(), CPROF_VERSION});
  if (!outcome) {
    PrintError(outcome.error());
    return kExitFailure;
  }
  if (outcome->error) {
    PrintError(*outcome->error);
    return kExitFailure;
  }
  return outcome->exit_code;
}

}  // namespace

std::function<int()> SetupRecord(Options& options) {
  const auto words = std::make_shared<RecordWords>();
  const auto list = [&options](const char* name, std::vector<std::string>* out, const char* help,
                               const char* value) {
    options.Add(name, *out, help).Type(value).MayRepeat();
  };
  list("-p,--pid", &words->pids, "processes to record, with all their threads", kTypePids);
  list("-t,--tid", &words->tids, "threads to record", kTypeTids);
  options.AddFlag("-a,--all-cpus", words->system_wide, "record the whole system");
  options.Add("-o,--output", words->output, "file to write (default cprof.data; -: a pipe)")
      .Type(kTypeFile);
  options.Add("--duration", words->duration, "stop after this time: 10, 500ms, 2m").Type("TIME");
  options.Add("-F,--freq", words->frequency, "stack samples per second (default 99; 0: none)")
      .Type("HZ");
  options.AddFlag("-g,--call-graph,!--no-call-graph", words->call_graph,
                  "stacks with samples (the default)");
  options.Add("-m,--mmap-pages", words->pages, "size of the rings per CPU: pages, or 16M")
      .Type("PAGES");
  list("-C,--cpu", &words->cpus, "record on these CPUs only", kTypeCpus);
  options.Add("-D,--delay", words->delay, "begin after this time (ms, or 2s)").Type("TIME");
  list("-e,--event", &words->adapters, "adapters to use, see --list-adapters", kTypeAdapters);
  options.AddFlag("--list-adapters", words->list_adapters, "list the adapters and exit");
  options.Add("--max-size", words->max_size, "stop when the file has this size: 64K, 10M, 2G")
      .Type("SIZE");
  options.AddFlag("--no-inherit", words->no_inherit, "leave children of the targets out");
  options.AddFlag("--raw-keys", words->raw_keys, "write kernel addresses as they are");
  options.AddFlag("-q,--quiet", words->quiet, "no progress, no summary");
  options.AddFlag("-v,--verbose", words->verbosity, "say what was armed");
  options.Add("command", words->command, "a command to record, behind --").Type(kTypeCommand);
  return [words] { return Record(*words); };
}

}  // namespace cprof
