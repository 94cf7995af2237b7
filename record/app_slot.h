// Understands the slots of an in-process ring. Pure: bytes in, values out, nothing trusted.
#ifndef CPROF_RECORD_APP_SLOT_H_
#define CPROF_RECORD_APP_SLOT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "format/event.h"

#ifndef CPROF_LAYOUT_ONLY_
#define CPROF_LAYOUT_ONLY_
#endif
#include "cprof/cprof.h"

namespace cprof {

enum class SlotKind : uint8_t { kEvent, kOwner, kDamaged };

struct DecodedSlot {
  SlotKind kind = SlotKind::kDamaged;
  uint32_t slots = 1;       // how many it took
  uint64_t generation = 0;  // of a new owner
  Event event;              // without sequence, thread, stream and text; time as the process saw it
  uint32_t sequence = 0;    // low 32 bits
  std::string_view domain;  // into the slots
  std::string_view domain2;
  std::string name;
};

// Decodes what begins at slots[0]. An event that says it is longer than the slots is damaged.
DecodedSlot DecodeSlot(std::span<const cprof_slot_> slots);

}  // namespace cprof

#endif  // CPROF_RECORD_APP_SLOT_H_
