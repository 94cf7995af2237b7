// Why not abi::__cxa_demangle: a name of 300 bytes can stand for one of terabytes (each level of
// pair<S_, S_> doubles it), and that function builds it in memory before it returns. libiberty's
// demangler, the same code, hands over its text in pieces, so that it can be stopped at a bound.
#include "report/demangle.h"

// libiberty would declare basename() as well, unlike string.h.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include <csetjmp>
#include <cstring>

namespace cprof {
namespace {

// The demangler's arrays lie on the stack and grow with the square of a name's length: 2 MB for one
// of this length made for the purpose.
constexpr size_t kMaxMangledBytes = 1024;
constexpr size_t kMaxDemangledBytes = 8192;

struct Pieces {
  char text[kMaxDemangledBytes];
  size_t size;
  std::jmp_buf full;
};

void TakePiece(const char* piece, size_t size, void* opaque) {
  auto* pieces = static_cast<Pieces*>(opaque);
  if (size > sizeof(pieces->text) - pieces->size) std::longjmp(pieces->full, 1);
  std::memcpy(pieces->text + pieces->size, piece, size);
  pieces->size += size;
}

// The demangler allocates nothing on the way to its callback, so leaving it by a jump leaks
// nothing; no object with a destructor lives here. False: not a mangled name, or too long.
bool DemangleInto(const char* mangled, Pieces* pieces) {
  pieces->size = 0;
  if (setjmp(pieces->full) != 0) return false;
  return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI, TakePiece, pieces) != 0;
}

bool DemangleRustInto(const char* mangled, Pieces* pieces) {
  pieces->size = 0;
  if (setjmp(pieces->full) != 0) return false;
  return rust_demangle_callback(mangled, DMGL_PARAMS | DMGL_ANSI, TakePiece, pieces) != 0;
}

}  // namespace

std::string Demangle(std::string_view mangled) {
  const bool is_cpp = mangled.starts_with("_Z");
  const bool is_rust = mangled.starts_with("_R");
  if ((!is_cpp && !is_rust) || mangled.size() > kMaxMangledBytes) return std::string(mangled);
  const std::string text(mangled);
  Pieces pieces;
  // Old Rust names look like C++ ones with a hash at their end.
  const bool done =
      DemangleRustInto(text.c_str(), &pieces) || (is_cpp && DemangleInto(text.c_str(), &pieces));
  return done ? std::string(pieces.text, pieces.size) : text;
}

}  // namespace cprof
