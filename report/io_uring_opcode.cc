// Numbers of enum io_uring_op (include/uapi/linux/io_uring.h); an ABI, so they never change.
#include "report/io_uring_opcode.h"

#include <iterator>

#include "report/number.h"

namespace cprof {
namespace {

constexpr std::string_view kNames[] = {
    "NOP",
    "READV",
    "WRITEV",
    "FSYNC",
    "READ_FIXED",
    "WRITE_FIXED",
    "POLL_ADD",
    "POLL_REMOVE",
    "SYNC_FILE_RANGE",
    "SENDMSG",
    "RECVMSG",
    "TIMEOUT",
    "TIMEOUT_REMOVE",
    "ACCEPT",
    "ASYNC_CANCEL",
    "LINK_TIMEOUT",
    "CONNECT",
    "FALLOCATE",
    "OPENAT",
    "CLOSE",
    "FILES_UPDATE",
    "STATX",
    "READ",
    "WRITE",
    "FADVISE",
    "MADVISE",
    "SEND",
    "RECV",
    "OPENAT2",
    "EPOLL_CTL",
    "SPLICE",
    "PROVIDE_BUFFERS",
    "REMOVE_BUFFERS",
    "TEE",
    "SHUTDOWN",
    "RENAMEAT",
    "UNLINKAT",
    "MKDIRAT",
    "SYMLINKAT",
    "LINKAT",
    "MSG_RING",
    "FSETXATTR",
    "SETXATTR",
    "FGETXATTR",
    "GETXATTR",
    "SOCKET",
    "URING_CMD",
    "SEND_ZC",
    "SENDMSG_ZC",
    "READ_MULTISHOT",
    "WAITID",
    "FUTEX_WAIT",
    "FUTEX_WAKE",
    "FUTEX_WAITV",
    "FIXED_FD_INSTALL",
    "FTRUNCATE",
    "BIND",
    "LISTEN",
    "RECV_ZC",
    "EPOLL_WAIT",
    "READV_FIXED",
    "WRITEV_FIXED",
    "PIPE",
};

}  // namespace

std::string_view IoUringOpcodeName(uint8_t opcode) {
  return opcode < std::size(kNames) ? kNames[opcode] : std::string_view();
}

void AppendIoUringOpcode(uint8_t opcode, std::string* out) {
  const std::string_view name = IoUringOpcodeName(opcode);
  if (!name.empty()) {
    *out += name;
    return;
  }
  if (opcode == kIoUringOpcodeUnknown) {
    *out += "[operation not seen]";
    return;
  }
  *out += "OP_";
  AppendUnsigned(opcode, out);
}

}  // namespace cprof
