// Names as compilers mangled them into names as programmers wrote them.
#ifndef CPROF_REPORT_DEMANGLE_H_
#define CPROF_REPORT_DEMANGLE_H_

#include <string>
#include <string_view>

namespace cprof {

// C++ and Rust names; anything else, and a name whose demangled form would be longer than a bound,
// comes back as it is. Safe on hostile input.
std::string Demangle(std::string_view mangled);

}  // namespace cprof

#endif  // CPROF_REPORT_DEMANGLE_H_
