// What the kernel does not offer: no BTF, a hook less, a pid namespace. Each in words.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "run.h"

namespace cprof::test {
namespace {

constexpr char kBtf[] = "/sys/kernel/btf/vmlinux";

// In a child, before it becomes cprof: what is mounted from here on is seen by it alone.
void OwnMounts() {
  if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    _exit(99);
  }
}

// The kernel's types as they would be without those tracepoints: they have other names there.
std::string BtfWithout(const Folder& folder, const std::vector<std::string>& tracepoints) {
  std::stringstream bytes;
  bytes << std::ifstream(kBtf, std::ios::binary).rdbuf();
  std::string text = bytes.str();
  for (const std::string& tracepoint : tracepoints) {
    const std::string name = "btf_trace_" + tracepoint;
    const size_t at = text.find('\0' + name + '\0');
    EXPECT_NE(at, std::string::npos) << name;
    if (at != std::string::npos) text[at + 1] = 'x';
  }
  const std::string path = folder.File("btf");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

Outcome RecordWithout(const std::vector<std::string>& tracepoints, std::vector<std::string> words) {
  const Folder folder;
  const std::string btf = BtfWithout(folder, tracepoints);
  words.insert(words.begin(), {"record", "-o", folder.File("data")});
  words.insert(words.end(), {"--", "true"});
  return RunCprof(words, {.in_child = [&btf] {
                    OwnMounts();
                    if (mount(btf.c_str(), kBtf, nullptr, MS_BIND, nullptr) != 0) _exit(99);
                  }});
}

TEST(RecordKernel, WithoutTypesItIsRefused) {
  const Folder folder;
  const Outcome outcome = RunCprof({"record", "-a", "-o", folder.File("data")}, {.in_child = [] {
                                     OwnMounts();
                                     if (mount("none", "/sys/kernel/btf", "tmpfs", 0, nullptr) != 0)
                                       _exit(99);
                                   }});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("cprof: error: cannot read the kernel's type information (BTF)"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("cprof: hint: cprof needs a kernel built with CONFIG_DEBUG_INFO_BTF"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.File("data")));
}

TEST(RecordKernel, AMissingHookIsAWarning) {
  const Outcome outcome = RecordWithout({"io_uring_cqe_overflow"}, {});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(
      outcome.err.find("cprof: warning: io_uring.overflow is not recorded: this kernel has no "
                       "tracepoint io_uring_cqe_overflow\n"),
      std::string::npos)
      << outcome.err;
}

TEST(RecordKernel, AnAdapterThatWasAskedForAndHasNoHookLeftIsRefused) {
  const Outcome outcome = RecordWithout({"sched_switch", "sched_waking"}, {"-e", "futex,sched"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("cprof: error: adapter 'futex' cannot be used: this kernel has no "
                             "tracepoint sched_"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("cprof: hint: "), std::string::npos) << outcome.err;
}

TEST(RecordKernel, InsideAPidNamespaceItIsRefused) {
  const Folder folder;
  const Outcome outcome = RunProgram({"unshare", "--pid", "--fork", "--mount-proc", CPROF_BINARY,
                                      "record", "-a", "-o", folder.File("data")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("cprof: error: cprof record runs inside a pid namespace"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("cprof: hint: run it on the host"), std::string::npos);
}

}  // namespace
}  // namespace cprof::test
