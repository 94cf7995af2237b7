// `cprof script`: a recording as text, one line an event, that every command accepts back.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

#include "cmd/input.h"
#include "cmd/subcommand.h"
#include "report/event_text.h"

namespace cprof {
namespace {

constexpr size_t kFlushBytes = 64 * 1024;

// Hands text to standard output as it comes, so that memory does not follow the file's size.
class ScriptVisitor : public RecordingVisitor {
 public:
  ScriptVisitor(const StringTable& strings, bool header_only)
      : printer_(MakeTextPrinter(strings, &text_)), header_only_(header_only) {}

  void OnHeader(const SessionHeader& header) override {
    printer_->OnHeader(header);
    if (header_only_) stopped_ = true;
    Flush(header_only_ ? 0 : kFlushBytes);
  }
  void OnStream(const StreamInfo& stream) override {
    if (!stopped_) printer_->OnStream(stream);
  }
  // Event by event: a chunk may hold many and few bytes.
  void OnEvents(StreamId stream, std::span<const Event> events) override {
    for (size_t i = 0; i < events.size() && !stopped_; ++i) {
      printer_->OnEvents(stream, events.subspan(i, 1));
      Flush(kFlushBytes);
    }
  }
  void OnSamples(StreamId stream, std::span<const StackSample> samples) override {
    for (size_t i = 0; i < samples.size() && !stopped_; ++i) {
      printer_->OnSamples(stream, samples.subspan(i, 1));
      Flush(kFlushBytes);
    }
  }
  void OnBreak(const Break& lost) override {
    if (!stopped_) printer_->OnBreak(lost);
  }
  void OnMark(const RoundMark& mark) override {
    if (!stopped_) printer_->OnMark(mark);
  }
  void OnMappings(std::span<const Mapping> mappings) override {
    if (!stopped_) printer_->OnMappings(mappings);
  }
  void OnKernelSymbols(std::span<const KernelSymbol> symbols) override {
    if (!stopped_) printer_->OnKernelSymbols(symbols);
  }
  void OnFooter(const Footer& footer) override {
    if (!stopped_) printer_->OnFooter(footer);
  }

  void Flush(size_t least) {
    if (text_.size() < least) return;
    // A reader that has gone, or a full disk: main tells which; there is no use in going on.
    if (std::fwrite(text_.data(), 1, text_.size(), stdout) != text_.size()) stopped_ = true;
    text_.clear();
  }
  bool stopped() const { return stopped_; }

 private:
  std::string text_;
  std::unique_ptr<RecordingVisitor> printer_;
  bool header_only_;
  bool stopped_ = false;
};

// Ends the recording where nothing more is wanted of it.
class StoppableSource : public ByteSource {
 public:
  StoppableSource(ByteSource& source, const ScriptVisitor& visitor)
      : source_(source), visitor_(visitor) {}
  Result<size_t> Read(std::span<uint8_t> buffer) override {
    if (visitor_.stopped()) return size_t{0};
    return source_.Read(buffer);
  }

 private:
  ByteSource& source_;
  const ScriptVisitor& visitor_;
};

int Run(const std::string& path, bool header_only) {
  Result<Input> input = OpenInput(path);
  if (!input) {
    PrintError(input.error());
    return kExitFailure;
  }
  StringTable strings;
  ScriptVisitor visitor(strings, header_only);
  StoppableSource source(*input->source, visitor);
  const Result<ReadSummary> summary = ReadAnyRecording(source, strings, visitor);
  visitor.Flush(0);
  if (!summary) {
    PrintInputError(*input, summary.error());
    return kExitFailure;
  }
  // A recording that was left early has lost nothing.
  if (!visitor.stopped()) PrintLosses(*input, *summary);
  return kExitOk;
}

}  // namespace

std::function<int()> SetupScript(Options& options) {
  struct Words {
    std::string input = kDefaultInput;
    bool header = false;
  };
  const auto words = std::make_shared<Words>();
  options.Add("-i,--input", words->input, "recording to read, binary or text; '-': standard input")
      .Type(kTypeFile)
      .ShowDefault();
  options.AddFlag("--header", words->header, "print the header line only");
  return [words] { return Run(words->input, words->header); };
}

}  // namespace cprof
