// Reads symbol tables with libelf.
#include "report/elf_symbols.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>

namespace cprof {
namespace {

constexpr size_t kMaxSymbols = 8'000'000;  // of one file; libLLVM has 0.2 million
constexpr size_t kMaxNameBytes = 512 * 1024 * 1024;
constexpr size_t kMaxOneNameBytes = 64 * 1024;
constexpr size_t kBuildIdBytes = 64;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// The path comes out of a recording: it may name a device, whose mere opening has effects, or a
// FIFO. So look first, through a descriptor that opens nothing.
int OpenRegular(const std::string& path, struct stat* status) {
  if (path.find('\0') != std::string::npos) return -1;
  const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (place.get() < 0 || ::fstat(place.get(), status) != 0 || !S_ISREG(status->st_mode)) return -1;
  const std::string link = "/proc/self/fd/" + std::to_string(place.get());
  return ::open(link.c_str(), O_RDONLY | O_CLOEXEC);
}

std::optional<std::string> BuildIdIn(Elf_Data* data) {
  size_t offset = 0, name_offset = 0, desc_offset = 0;
  GElf_Nhdr note;
  while (offset < data->d_size) {
    const size_t next = gelf_getnote(data, offset, &note, &name_offset, &desc_offset);
    if (next == 0 || next <= offset) break;
    const bool is_gnu = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                        std::memcmp(static_cast<char*>(data->d_buf) + name_offset, "GNU", 4) == 0;
    if (is_gnu && note.n_descsz > 0 && note.n_descsz <= kBuildIdBytes) {
      return std::string(static_cast<char*>(data->d_buf) + desc_offset, note.n_descsz);
    }
    offset = next;
  }
  return std::nullopt;
}

}  // namespace

class ElfReader {
 public:
  ElfReader(Elf* elf, ElfSymbols* out) : elf_(elf), out_(*out) {}

  std::string BuildId() const {
    Elf_Scn* section = nullptr;
    while ((section = elf_nextscn(elf_, section)) != nullptr) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      if (data == nullptr || data->d_buf == nullptr) continue;
      if (auto id = BuildIdIn(data)) return *id;
    }
    size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) return "";
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) break;
      if (header.p_type != PT_NOTE) continue;
      Elf_Data* data = elf_getdata_rawchunk(elf_, static_cast<int64_t>(header.p_offset),
                                            header.p_filesz, ELF_T_NHDR);
      if (data == nullptr || data->d_buf == nullptr) continue;
      if (auto id = BuildIdIn(data)) return *id;
    }
    return "";
  }

  void ReadSegments() {
    size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) return;
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) return;
      if (header.p_type != PT_LOAD) continue;
      out_.segments_.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
    }
  }

  void ReadSymbols() {
    for (const GElf_Word type : {GElf_Word{SHT_SYMTAB}, GElf_Word{SHT_DYNSYM}}) {
      Elf_Scn* section = nullptr;
      while ((section = elf_nextscn(elf_, section)) != nullptr) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr || header.sh_type != type) continue;
        ReadTable(section, header, type == SHT_SYMTAB ? 0 : 4);
      }
    }
    Sort();
  }

 private:
  void ReadTable(Elf_Scn* section, const GElf_Shdr& header, uint8_t rank) {
    Elf_Data* data = elf_getdata(section, nullptr);
    const size_t entry = gelf_fsize(elf_, ELF_T_SYM, 1, EV_CURRENT);
    if (data == nullptr || data->d_buf == nullptr || entry == 0) return;
    const size_t count = std::min<size_t>(data->d_size / entry, std::numeric_limits<int>::max());
    for (size_t i = 0; i < count && out_.symbols_.size() < kMaxSymbols; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return;
      const auto type = GELF_ST_TYPE(symbol.st_info);
      if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
      const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
      if (name == nullptr || *name == '\0') continue;
      const size_t size = ::strnlen(name, kMaxOneNameBytes);
      if (out_.names_.size() + size > kMaxNameBytes) return;
      // Labels without type (assembler, mapping symbols) give way to functions, local names to
      // global ones.
      const bool global = GELF_ST_BIND(symbol.st_info) != STB_LOCAL;
      const auto worse =
          static_cast<uint8_t>(rank + (type == STT_NOTYPE ? 2 : 0) + (global ? 0 : 1));
      out_.symbols_.push_back({symbol.st_value, symbol.st_size,
                               static_cast<uint32_t>(out_.names_.size()),
                               static_cast<uint32_t>(size), worse});
      out_.names_.append(name, size);
    }
  }

  // One symbol for each address: the best rank, the largest size, the first name.
  void Sort() {
    auto& symbols = out_.symbols_;
    const auto name = [this](const ElfSymbols::Symbol& symbol) {
      return std::string_view(out_.names_).substr(symbol.name, symbol.name_size);
    };
    std::sort(symbols.begin(), symbols.end(), [&](const auto& a, const auto& b) {
      if (a.address != b.address) return a.address < b.address;
      if (a.rank != b.rank) return a.rank < b.rank;
      if (a.size != b.size) return a.size > b.size;
      return name(a) < name(b);
    });
    symbols.erase(std::unique(symbols.begin(), symbols.end(),
                              [](const auto& a, const auto& b) { return a.address == b.address; }),
                  symbols.end());
  }

  Elf* elf_;
  ElfSymbols& out_;
};

std::unique_ptr<ElfSymbols> ElfSymbols::Load(const std::string& path, std::string_view build_id,
                                             uint64_t not_after_ns) {
  struct stat status;
  const Descriptor file(OpenRegular(path, &status));
  if (file.get() < 0) return nullptr;
  if (elf_version(EV_CURRENT) == EV_NONE) return nullptr;
  // Not mapped: a file that shrinks meanwhile would end us with SIGBUS.
  Elf* elf = elf_begin(file.get(), ELF_C_READ, nullptr);
  if (elf == nullptr) return nullptr;
  auto symbols = std::make_unique<ElfSymbols>();
  ElfReader reader(elf, symbols.get());
  bool same = elf_kind(elf) == ELF_K_ELF && reader.BuildId() == build_id;
  if (build_id.empty() && not_after_ns != 0) {
    const uint64_t changed_ns = static_cast<uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                                static_cast<uint64_t>(status.st_mtim.tv_nsec);
    same = same && changed_ns <= not_after_ns;
  }
  if (same) {
    reader.ReadSegments();
    reader.ReadSymbols();
  }
  elf_end(elf);
  return same ? std::move(symbols) : nullptr;
}

std::string_view ElfSymbols::Find(uint64_t file_offset) const {
  for (const Segment& segment : segments_) {
    if (file_offset < segment.file_offset || file_offset - segment.file_offset >= segment.size) {
      continue;
    }
    const uint64_t address = file_offset - segment.file_offset + segment.address;
    auto found = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                  [](uint64_t a, const Symbol& b) { return a < b.address; });
    if (found == symbols_.begin()) continue;
    --found;
    if (found->size != 0 && address - found->address >= found->size) continue;
    return std::string_view(names_).substr(found->name, found->name_size);
  }
  return {};
}

}  // namespace cprof
