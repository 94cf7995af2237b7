// Names from programs and files made harmless for each kind of output.
#ifndef CPROF_REPORT_ESCAPE_H_
#define CPROF_REPORT_ESCAPE_H_

#include <string>
#include <string_view>

namespace cprof {

// For terminals and plain text: control characters, characters that hide or turn text around (bidi
// overrides, zero width) and bytes that are not UTF-8 become \xNN, a byte each; so does a
// backslash, so that the escape is unambiguous.
void AppendPrintable(std::string_view text, std::string* out);

// A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD; what AppendPrintable
// escapes is written as \uXXXX.
void AppendJsonString(std::string_view text, std::string* out);

// XML character data or attribute: AppendPrintable, then entities.
void AppendXml(std::string_view text, std::string* out);
// The entities alone, for text that AppendPrintable made.
void AppendXmlOfPrintable(std::string_view printable, std::string* out);

// One CSV field (RFC 4180): AppendPrintable, quoted where needed.
void AppendCsvField(std::string_view text, std::string* out);

// A double-quoted string of the DOT language.
void AppendDotString(std::string_view text, std::string* out);

// A frame of a folded stack: AppendPrintable, with ';' (it separates frames) as \x3b.
void AppendFoldedFrame(std::string_view text, std::string* out);

// Printable text of at most `width` columns (at least 4): what is longer ends in "...".
std::string CutPrintable(std::string text, size_t width);

// How many columns printable text takes: its number of code points.
size_t PrintableWidth(std::string_view text);

}  // namespace cprof

#endif  // CPROF_REPORT_ESCAPE_H_
