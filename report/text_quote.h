// Text of unknown origin as a quoted string that harms no terminal, and back.
#ifndef CPROF_REPORT_TEXT_QUOTE_H_
#define CPROF_REPORT_TEXT_QUOTE_H_

#include <optional>
#include <string>
#include <string_view>

namespace cprof {

// Appends text without quotation marks: printable characters as they are (UTF-8 included),
// quotation mark and backslash with a backslash before them, every other byte as \xNN. Malformed
// UTF-8 and what IsHarmfulCharacter() names never come out.
void AppendEscaped(std::string_view text, std::string* out);

// The same between quotation marks.
void AppendQuoted(std::string_view text, std::string* out);

// Takes a quoted string off the front of *rest. Nothing where it is malformed.
std::optional<std::string> TakeQuoted(std::string_view* rest);

}  // namespace cprof

#endif  // CPROF_REPORT_TEXT_QUOTE_H_
