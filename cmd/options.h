// The options of one command. What the parser is stays behind this: its templates would cost every
// command's file more to compile than all the rest of it.
#ifndef CPROF_CMD_OPTIONS_H_
#define CPROF_CMD_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cprof {

// What stands for a value in --help; completions know these (see completion.h).
inline constexpr const char* kTypeFile = "FILE";
inline constexpr const char* kTypeAdapters = "ADAPTER[,ADAPTER]";
inline constexpr const char* kTypePids = "PID[,PID]";
inline constexpr const char* kTypeTids = "TID[,TID]";
inline constexpr const char* kTypeCpus = "CPU[,CPU-CPU]";
inline constexpr const char* kTypeCommand = "-- COMMAND";

// A handle on one option; each call returns the same handle.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& Type(const char* name);  // what stands for its value in --help
  Option& ShowDefault();
  Option& Required();
  Option& NotEmpty();  // for those whose empty value would mean that they are not there
  Option& OneOf(const std::vector<std::string>& words);
  Option& Within(double least, double most);
  Option& Within(uint64_t least, uint64_t most);
  Option& Count(int values);        // so many values in a row
  Option& SplitAt(char delimiter);  // one word holds several values
  Option& MayRepeat();              // each time with one value; all are taken
  Option& Excludes(const Option& other);

 private:
  CLI::Option* option_;
};

// A value must outlive the parsing. names: "-i,--input"; without dashes a positional word.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  Option Add(const char* names, std::string& value, const char* help);
  Option Add(const char* names, std::vector<std::string>& values, const char* help);
  Option Add(const char* names, double& value, const char* help);
  Option Add(const char* names, uint32_t& value, const char* help);
  Option Add(const char* names, uint64_t& value, const char* help);
  Option AddFlag(const char* names, bool& value, const char* help);
  Option AddFlag(const char* names, int& times, const char* help);

  CLI::App& app() { return app_; }

 private:
  CLI::App& app_;
};

}  // namespace cprof

#endif  // CPROF_CMD_OPTIONS_H_
