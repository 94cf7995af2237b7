// Reads the sources of man pages: their sections, options and examples.
#ifndef CPROF_TESTS_CLI_MAN_PAGE_H_
#define CPROF_TESTS_CLI_MAN_PAGE_H_

#include <set>
#include <string>
#include <vector>

namespace cprof::test {

// One command of an EXAMPLES section, heredoc and all, and what the page says it prints.
struct Example {
  std::string command;
  std::string output;  // empty where the page shows none
};

// Names of all pages, such as "cprof-report.1", sorted.
std::vector<std::string> ManPages();
// The lines of one section of a page; none where it has no such section.
std::vector<std::string> ManSection(const std::string& page, const std::string& title);
// In the order of the page: indented lines, and in a literal block those behind "$ ", with what
// stands beneath as their output. A literal block without "$ " is code of another language.
std::vector<Example> ManExamples(const std::string& page);
// "--input", "-i": from the terms of OPTIONS.
std::set<std::string> ManOptions(const std::string& page);
// The same from what --help prints.
std::set<std::string> HelpOptions(const std::string& help);

}  // namespace cprof::test

#endif  // CPROF_TESTS_CLI_MAN_PAGE_H_
