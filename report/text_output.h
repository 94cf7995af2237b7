// Text on its way out: gathered in memory, handed to a ByteSink in large pieces.
#ifndef CPROF_REPORT_TEXT_OUTPUT_H_
#define CPROF_REPORT_TEXT_OUTPUT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "format/result.h"
#include "format/writer.h"

namespace cprof {

// Renderers append to text() and call Drain() after each line. After an error all further text is
// dropped; Finish() says what the error was.
class TextOutput {
 public:
  explicit TextOutput(ByteSink& sink) : sink_(sink) {}

  std::string& text() { return text_; }

  void Drain() {
    if (text_.size() >= kPieceBytes) Hand();
  }

  // What is large and lies ready goes out as it is.
  void Write(std::string_view text) {
    Hand();
    if (result_)
      result_ = sink_.Write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }

  bool failed() const { return !result_.has_value(); }

  Result<void> Finish() {
    Hand();
    return result_;
  }

 private:
  static constexpr size_t kPieceBytes = 1 << 16;

  void Hand() {
    if (!text_.empty() && result_) {
      result_ = sink_.Write({reinterpret_cast<const uint8_t*>(text_.data()), text_.size()});
    }
    text_.clear();
  }

  ByteSink& sink_;
  std::string text_;
  Result<void> result_;
};

}  // namespace cprof

#endif  // CPROF_REPORT_TEXT_OUTPUT_H_
