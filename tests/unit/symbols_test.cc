// Frames get names from files that are the recorded ones, and hostile files get none.
#include "report/symbols.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "report/demangle.h"
#include "report/elf_symbols.h"

namespace cprof {

// With external linkage, so that it is in the symbol table of this very binary.
__attribute__((noinline)) int SymbolsTestTarget(int value) {
  asm volatile("" : "+r"(value));
  return value + 1;
}

namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string TempPath(const std::string& name) {
  return testing::TempDir() + "cprof_symbols_test_" + std::to_string(::getpid()) + "_" + name;
}

class TempFile {
 public:
  TempFile(const std::string& name, const std::string& bytes) : path_(TempPath(name)) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TempFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// This binary's own code mapping and build id, as the recorder would tell them.
Mapping OwnMapping() {
  Mapping mapping;
  mapping.tgid = 41;
  mapping.path = "/proc/self/exe";
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (size > 0) mapping.path = std::string(path.data(), static_cast<size_t>(size));
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* opaque) {
        auto* out = static_cast<Mapping*>(opaque);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
            out->start = info->dlpi_addr + header.p_vaddr;
            out->end = out->start + header.p_memsz;
            out->file_offset = header.p_offset;
          }
          if (header.p_type == PT_NOTE) {
            const auto* note = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
            const auto* fields = reinterpret_cast<const uint32_t*>(note);
            if (fields[2] == NT_GNU_BUILD_ID) out->build_id.assign(note + 16, fields[1]);
          }
        }
        return 1;  // the first object is the program
      },
      &mapping);
  return mapping;
}

uint64_t TargetAddress() { return reinterpret_cast<uint64_t>(&SymbolsTestTarget); }

TEST(Symbols, OwnFunctionIsNamedAndDemangled) {
  EXPECT_EQ(SymbolsTestTarget(1), 2);
  Symbolizer symbolizer;
  const Mapping mapping = OwnMapping();
  ASSERT_FALSE(mapping.build_id.empty()) << "the linker wrote no build id";
  symbolizer.AddMappings({&mapping, 1});
  EXPECT_EQ(symbolizer.UserFrame(41, 0, TargetAddress(), false), "cprof::SymbolsTestTarget(int)");
  EXPECT_EQ(symbolizer.UserFrame(41, 0, TargetAddress() + 1, true),
            "cprof::SymbolsTestTarget(int)");
  // A return address at the first byte of a function belongs to a call before it.
  EXPECT_NE(symbolizer.UserFrame(41, 0, TargetAddress(), true), "cprof::SymbolsTestTarget(int)");
  EXPECT_EQ(symbolizer.UserFrame(42, 0, TargetAddress(), false), "[unknown]");
  EXPECT_EQ(symbolizer.UserFrame(41, 0, 0, true), "[unknown]");
}

TEST(Symbols, FileWithAnotherBuildIdGivesOnlyItsNameAndOffset) {
  Symbolizer symbolizer;
  Mapping mapping = OwnMapping();
  mapping.build_id[0] = static_cast<char>(mapping.build_id[0] ^ 1);
  mapping.start = 0x1000;
  mapping.end = 0x100000000;
  mapping.file_offset = 0x200;
  symbolizer.AddMappings({&mapping, 1});
  EXPECT_EQ(symbolizer.UserFrame(41, 0, 0x1034, false), "[symbols_test+0x234]");
}

TEST(Symbols, MissingFileAndDeviceGiveOnlyNames) {
  Symbolizer symbolizer;
  const Mapping missing{41, 0, 0x1000, 0x2000, 0, "/nonexistent/libx.so", ""};
  const Mapping device{41, 0, 0x2000, 0x3000, 0, "/dev/zero", ""};
  symbolizer.AddMappings({&missing, 1});
  symbolizer.AddMappings({&device, 1});
  EXPECT_EQ(symbolizer.UserFrame(41, 0, 0x1010, false), "[libx.so+0x10]");
  EXPECT_EQ(symbolizer.UserFrame(41, 0, 0x2010, false), "[zero+0x10]");
}

TEST(Symbols, LaterMappingReplacesFromItsEpochOn) {
  Symbolizer symbolizer;
  const Mapping first{41, 0, 0x1000, 0x2000, 0, "/nonexistent/a", ""};
  const Mapping second{41, 5, 0x1000, 0x2000, 0, "/nonexistent/b", ""};
  symbolizer.AddMappings({&first, 1});
  const uint32_t before = symbolizer.EpochOf(41);
  symbolizer.AddMappings({&second, 1});
  const uint32_t after = symbolizer.EpochOf(41);
  EXPECT_NE(before, after);
  EXPECT_EQ(symbolizer.UserFrame(41, before, 0x1010, false), "[a+0x10]");
  EXPECT_EQ(symbolizer.UserFrame(41, after, 0x1010, false), "[b+0x10]");
}

TEST(Symbols, KernelFramesComeFromTheRecording) {
  Symbolizer symbolizer;
  const std::vector<KernelSymbol> symbols = {{0x200, "do_two"}, {0x100, "do_one"}};
  symbolizer.AddKernelSymbols(symbols);
  EXPECT_EQ(symbolizer.KernelFrame(0x150, false), "do_one");
  EXPECT_EQ(symbolizer.KernelFrame(0x200, false), "do_two");
  EXPECT_EQ(symbolizer.KernelFrame(0x200, true), "do_one");
  EXPECT_EQ(symbolizer.KernelFrame(0x50, false), "[kernel]");
  EXPECT_EQ(symbolizer.KernelFrame(0xffffffffff, false), "[kernel]");
}

TEST(Symbols, FileThatShrinksToAnyLengthDoesNotCrash) {
  const Mapping own = OwnMapping();
  const std::string bytes = ReadFile(own.path);
  ASSERT_GT(bytes.size(), 10000U);
  const TempFile whole("whole", bytes);
  const auto symbols = ElfSymbols::Load(whole.path(), own.build_id, 0);
  ASSERT_NE(symbols, nullptr);
  EXPECT_GT(symbols->size(), 100U);
  for (size_t size = 0; size < bytes.size(); size = size < 4096 ? size + 61 : size * 5 / 4) {
    const TempFile file("short", bytes.substr(0, size));
    const auto fewer = ElfSymbols::Load(file.path(), own.build_id, 0);
    if (fewer != nullptr) {
      EXPECT_LT(fewer->size(), symbols->size()) << size;
    }
  }
}

TEST(Symbols, CorruptedHeadersDoNotCrash) {
  const Mapping own = OwnMapping();
  const std::string bytes = ReadFile(own.path);
  ElfW(Ehdr) header;
  ASSERT_GE(bytes.size(), sizeof(header));
  std::memcpy(&header, bytes.data(), sizeof(header));
  uint64_t random = 88172645463325252ULL;
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    std::string broken = bytes;
    for (int i = 0; i < 8; ++i) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      // The file header, the program headers, or the section headers.
      const uint64_t table = random % 3 == 0   ? 0
                             : random % 3 == 1 ? header.e_phoff
                                               : header.e_shoff;
      const uint64_t at = table + (random >> 8) % 512;
      if (at < broken.size()) broken[at] = static_cast<char>(random >> 32);
    }
    const TempFile file("broken", broken);
    const auto symbols = ElfSymbols::Load(file.path(), own.build_id, 0);
    if (symbols == nullptr) {
      ++refused;
      continue;
    }
    for (uint64_t offset = 0; offset < bytes.size(); offset += 997) symbols->Find(offset);
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 60);
}

TEST(Demangle, CppRustAndPlainNames) {
  EXPECT_EQ(Demangle("_ZN5cprof3FooEiPKc"), "cprof::Foo(int, char const*)");
  EXPECT_EQ(Demangle("main"), "main");
  EXPECT_EQ(Demangle("_Zgarbage"), "_Zgarbage");
  EXPECT_EQ(Demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"),
            "core::fmt::Formatter::pad");
}

TEST(Demangle, NameThatDoublesAtEachStepStaysMangled) {
  std::string bomb = "_Z1f1pIiiE";
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (size_t i = 0; i < 36; ++i) {
    const std::string last = std::string("S") + digits[i] + "_";
    bomb += "S_I" + last + last + "E";
  }
  const std::string demangled = Demangle(bomb);
  EXPECT_LE(demangled.size(), 8192U);
  EXPECT_EQ(Demangle(std::string(5000, 'x')), std::string(5000, 'x'));
}

}  // namespace
}  // namespace cprof
