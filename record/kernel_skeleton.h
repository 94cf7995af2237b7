// The generated skeleton of the BPF programs, with the names of types that it expects.
#ifndef CPROF_RECORD_KERNEL_SKELETON_H_
#define CPROF_RECORD_KERNEL_SKELETON_H_

#include <cstdint>

#include "bpf/event.h"

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

#include "cprof.skel.h"

#endif  // CPROF_RECORD_KERNEL_SKELETON_H_
