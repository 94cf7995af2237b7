// Reads the USDT note "cprof:ring" with libelf.
#include "record/app_probe.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

namespace cprof {
namespace {

constexpr uint32_t kStapsdtType = 3;
constexpr size_t kMaxSections = 65536;

// The three addresses in a note of provider "cprof", probe "ring".
struct Note {
  uint64_t probe = 0;
  uint64_t base = 0;
  uint64_t live = 0;
};

std::optional<Note> ParseNote(std::string_view description) {
  Note note;
  if (description.size() < sizeof(note)) return std::nullopt;
  std::memcpy(&note, description.data(), sizeof(note));
  description.remove_prefix(sizeof(note));
  constexpr std::string_view kNames("cprof\0ring\0", 11);
  if (!description.starts_with(kNames) || note.live == 0) return std::nullopt;
  return note;
}

std::optional<Note> FindNote(Elf_Data* data) {
  size_t at = 0;
  GElf_Nhdr header;
  size_t name_at = 0, description_at = 0;
  while ((at = gelf_getnote(data, at, &header, &name_at, &description_at)) > 0) {
    const char* bytes = static_cast<const char*>(data->d_buf);
    if (header.n_type != kStapsdtType || header.n_namesz != 8) continue;
    if (std::memcmp(bytes + name_at, "stapsdt", 8) != 0) continue;
    const auto note = ParseNote({bytes + description_at, header.n_descsz});
    if (note) return note;
  }
  return std::nullopt;
}

// The file offset of an address, by the loadable segments.
std::optional<uint64_t> FileOffset(Elf* elf, uint64_t address, uint64_t size_bytes, bool writable) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return std::nullopt;
  for (size_t i = 0; i < std::min(count, kMaxSections); ++i) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf, static_cast<int>(i), &segment)) return std::nullopt;
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t within = address - segment.p_vaddr;
    if (within >= segment.p_filesz || segment.p_filesz - within < size_bytes) continue;
    if (((segment.p_flags & PF_W) != 0) != writable) return std::nullopt;
    if (segment.p_offset > INT64_MAX - within) return std::nullopt;
    return segment.p_offset + within;
  }
  return std::nullopt;
}

std::optional<AppProbe> FindInElf(Elf* elf) {
  GElf_Ehdr header;
  if (!gelf_getehdr(elf, &header) || header.e_ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return std::nullopt;
  std::optional<Note> note;
  uint64_t base_now = 0;
  Elf_Scn* section = nullptr;
  for (size_t i = 0; (section = elf_nextscn(elf, section)) && i < kMaxSections; ++i) {
    GElf_Shdr section_header;
    if (!gelf_getshdr(section, &section_header)) continue;
    const char* name = elf_strptr(elf, names, section_header.sh_name);
    if (!name) continue;
    if (std::string_view(name) == ".stapsdt.base") base_now = section_header.sh_addr;
    if (note || section_header.sh_type != SHT_NOTE || std::string_view(name) != ".note.stapsdt") {
      continue;
    }
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data && data->d_buf) note = FindNote(data);
  }
  if (!note) return std::nullopt;
  // Prelinking moves the object, and the base with it, but not the note.
  const uint64_t moved = base_now != 0 ? base_now - note->base : 0;
  const auto probe = FileOffset(elf, note->probe + moved, 1, false);
  const auto live = FileOffset(elf, note->live + moved, 8, true);
  if (!probe || !live) return std::nullopt;
  return AppProbe{*probe, *live};
}

}  // namespace

std::optional<AppProbe> FindAppProbe(int fd) {
  if (elf_version(EV_CURRENT) == EV_NONE) return std::nullopt;
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd, ELF_C_READ, nullptr), elf_end);
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF) return std::nullopt;
  return FindInElf(elf.get());
}

}  // namespace cprof
