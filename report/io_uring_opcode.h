// Names of io_uring's operations, as the kernel's own trace events print them.
#ifndef CPROF_REPORT_IO_URING_OPCODE_H_
#define CPROF_REPORT_IO_URING_OPCODE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace cprof {

// Stands for the operation of a request whose submit was not seen.
inline constexpr uint8_t kIoUringOpcodeUnknown = 255;

// Empty for an operation younger than this table.
std::string_view IoUringOpcodeName(uint8_t opcode);

// The name, OP_123, or "[operation not seen]".
void AppendIoUringOpcode(uint8_t opcode, std::string* out);

}  // namespace cprof

#endif  // CPROF_REPORT_IO_URING_OPCODE_H_
