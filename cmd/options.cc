// Hands options to CLI11.
#include "cmd/options.h"

#include <CLI/CLI.hpp>

namespace cprof {

Option& Option::Type(const char* name) {
  option_->type_name(name);
  return *this;
}

Option& Option::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Option& Option::Required() {
  option_->required();
  return *this;
}

Option& Option::NotEmpty() {
  option_->check([](const std::string& value) {
    return value.empty() ? std::string("needs a value") : std::string();
  });
  return *this;
}

Option& Option::OneOf(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option& Option::Within(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::Within(uint64_t least, uint64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::Count(int values) {
  option_->expected(values);
  return *this;
}

Option& Option::SplitAt(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}

Option& Option::MayRepeat() {
  option_->take_all()->allow_extra_args(false);
  return *this;
}

Option& Option::Excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option Options::Add(const char* names, std::string& value, const char* help) {
  return Option(app_.add_option(names, value, help));
}

Option Options::Add(const char* names, std::vector<std::string>& values, const char* help) {
  return Option(app_.add_option(names, values, help));
}

Option Options::Add(const char* names, double& value, const char* help) {
  return Option(app_.add_option(names, value, help));
}

Option Options::Add(const char* names, uint32_t& value, const char* help) {
  return Option(app_.add_option(names, value, help));
}

Option Options::Add(const char* names, uint64_t& value, const char* help) {
  return Option(app_.add_option(names, value, help));
}

Option Options::AddFlag(const char* names, bool& value, const char* help) {
  return Option(app_.add_flag(names, value, help));
}

Option Options::AddFlag(const char* names, int& times, const char* help) {
  return Option(app_.add_flag(names, times, help));
}

}  // namespace cprof
