// Turns slots into events, refusing what cprof.h would not have written.
#include "record/app_slot.h"

#include <cstring>

#include "bpf/event.h"

namespace cprof {

static_assert(sizeof(cprof_slot_) == 64);
static_assert(sizeof(cprof_domains_) == sizeof(cprof_slot_));
static_assert(sizeof(cprof_ring_) == 256);
static_assert(sizeof(cprof_region_) <= CPROF_HEADER_BYTES_);
static_assert(CPROF_KIND_REQUEST == static_cast<int>(AppKind::kRequest));
static_assert(CPROF_KIND_TASK == static_cast<int>(AppKind::kTask));
static_assert(CPROF_KIND_RESOURCE == static_cast<int>(AppKind::kResource));
static_assert(CPROF_KIND_IO == static_cast<int>(AppKind::kIo));
static_assert(CPROF_EDGE_SUBMIT == static_cast<int>(EdgeType::kSubmit));
static_assert(CPROF_EDGE_COMPLETE == static_cast<int>(EdgeType::kComplete));
static_assert(CPROF_EDGE_QUEUE == static_cast<int>(EdgeType::kQueue));
static_assert(CPROF_EDGE_WAKE == static_cast<int>(EdgeType::kWake));
static_assert(CPROF_EDGE_SPAWN == static_cast<int>(EdgeType::kSpawn));
static_assert(CPROF_EDGE_RESUME == static_cast<int>(EdgeType::kResume));
static_assert(CPROF_EDGE_ACQUIRE == static_cast<int>(EdgeType::kAcquire));
static_assert(CPROF_EDGE_RELEASE == static_cast<int>(EdgeType::kRelease));
static_assert(CPROF_EDGE_SEND == static_cast<int>(EdgeType::kSend));
static_assert(CPROF_EDGE_RECEIVE == static_cast<int>(EdgeType::kReceive));
static_assert(CPROF_CHECK_ == 0x9e3779b97f4a7c15ULL, "ids are hashed as cprof_signature_bit does");

namespace {

std::string_view Text(const char* field, size_t size_bytes) {
  return {field, strnlen(field, size_bytes)};
}

bool IsNodeKind(uint8_t kind) { return kind >= CPROF_KIND_REQUEST && kind <= CPROF_KIND_IO; }

void DecodeEdge(std::span<const cprof_slot_> slots, DecodedSlot* out) {
  const cprof_slot_& slot = slots[0];
  if (out->slots != 2 || !IsNodeKind(slot.kind2) || slot.type < CPROF_EDGE_SUBMIT ||
      slot.type > CPROF_EDGE_RECEIVE) {
    return;
  }
  const auto* domains = reinterpret_cast<const cprof_domains_*>(&slots[1]);
  out->domain = Text(domains->from, sizeof(domains->from));
  out->domain2 = Text(domains->to, sizeof(domains->to));
  out->event.key2 = {slot.u.to.id_hi, slot.u.to.id_lo};
  out->event.arg = uint64_t{slot.kind} | uint64_t{slot.kind2} << 8 | uint64_t{slot.type} << 16;
  out->event.arg2 = slot.u.to.wanted_ns;
  out->kind = SlotKind::kEvent;
}

}  // namespace

DecodedSlot DecodeSlot(std::span<const cprof_slot_> slots) {
  DecodedSlot out;
  if (slots.empty()) return out;
  const cprof_slot_& slot = slots[0];
  const uint32_t extra = slot.u.tail.extra;
  if (extra > CPROF_MAX_EXTRA_ || extra >= slots.size()) return out;
  out.slots = 1 + extra;
  if (slot.verb == CPROF_APP_RING) {
    if (extra != 0) return out;
    out.generation = slot.id_hi;
    out.kind = SlotKind::kOwner;
    return out;
  }
  if (slot.verb < CPROF_APP_BEGIN || slot.verb > CPROF_APP_EDGE || !IsNodeKind(slot.kind)) {
    return out;
  }
  out.event.time_ns = slot.time_ns;
  out.event.verb = slot.verb;
  out.event.key = {slot.id_hi, slot.id_lo};
  out.sequence = slot.sequence;
  if (slot.verb == CPROF_APP_EDGE) {
    DecodeEdge(slots, &out);
    return out;
  }
  if (extra != 0 && slot.verb != CPROF_APP_BEGIN) return out;
  out.event.arg = slot.kind;
  out.domain = Text(slot.u.domain.text, sizeof(slot.u.domain.text));
  for (uint32_t i = 0; i < extra; ++i) {
    out.name += Text(reinterpret_cast<const char*>(&slots[1 + i]), sizeof(cprof_slot_));
  }
  out.kind = SlotKind::kEvent;
  return out;
}

}  // namespace cprof
