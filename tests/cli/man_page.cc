// The few rules of scdoc that matter here.
#include "man_page.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

namespace cprof::test {
namespace {

// Takes formatting away: "++" at the end of a line, backslashes.
std::string Plain(std::string line) {
  if (line.ends_with("++")) line.resize(line.size() - 2);
  std::string plain;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    plain += line[i];
  }
  return plain;
}

void AddOptions(const std::string& text, std::set<std::string>* options) {
  static const std::regex kOption("(^|[^-a-z])(--?[a-zA-Z][a-z-]*)");
  for (std::sregex_iterator at(text.begin(), text.end(), kOption), end; at != end; ++at) {
    options->insert((*at)[2]);
  }
}

}  // namespace

std::vector<std::string> ManPages() {
  std::vector<std::string> pages;
  for (const auto& entry : std::filesystem::directory_iterator(CPROF_MAN_FOLDER)) {
    if (entry.path().extension() == ".scd") pages.push_back(entry.path().stem());
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

std::vector<std::string> ManSection(const std::string& page, const std::string& title) {
  std::ifstream file(std::string(CPROF_MAN_FOLDER) + "/" + page + ".scd");
  std::vector<std::string> lines;
  std::string line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line.starts_with("# ")) {
      inside = line == "# " + title;
    } else if (inside) {
      lines.push_back(line);
    }
  }
  return lines;
}

std::vector<Example> ManExamples(const std::string& page) {
  std::vector<Example> examples;
  bool fenced = false;
  bool session = false;  // the fenced block shows a prompt: commands and what they print
  std::string here;      // the word that ends the heredoc
  for (const std::string& line : ManSection(page, "EXAMPLES")) {
    if (line == "```") {
      fenced = !fenced;
      session = false;
    } else if (!fenced && line.starts_with('\t')) {
      examples.push_back({Plain(line.substr(1)), ""});
    } else if (fenced && !here.empty()) {
      examples.back().command += "\n" + line;
      if (line == here) here.clear();
    } else if (fenced && line.starts_with("$ ")) {
      session = true;
      examples.push_back({line.substr(2), ""});
      const size_t heredoc = line.find("<<");
      if (heredoc != std::string::npos) here = line.substr(heredoc + 2);
    } else if (session) {
      examples.back().output += line + "\n";
    }
  }
  return examples;
}

std::set<std::string> ManOptions(const std::string& page) {
  std::set<std::string> options;
  for (const std::string& line : ManSection(page, "OPTIONS")) {
    if (line.starts_with("*-")) AddOptions(line, &options);
  }
  return options;
}

std::set<std::string> HelpOptions(const std::string& help) {
  static const std::regex kTerm("(^|\n)  (-[^ \n]+)");
  std::set<std::string> options;
  for (std::sregex_iterator at(help.begin(), help.end(), kTerm), end; at != end; ++at) {
    AddOptions((*at)[2], &options);
  }
  return options;
}

}  // namespace cprof::test
