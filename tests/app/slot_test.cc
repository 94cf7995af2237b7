// Slots of in-process rings, mappings, clock offsets: what the recorder understands of bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "bpf/event.h"
#include "record/app_process.h"
#include "record/app_slot.h"

namespace cprof {
namespace {

std::vector<cprof_slot_> Begin() {
  std::vector<cprof_slot_> slots(2);
  std::memset(slots.data(), 0, 2 * sizeof(cprof_slot_));
  slots[0].verb = CPROF_APP_BEGIN;
  slots[0].kind = CPROF_KIND_REQUEST;
  slots[0].id_lo = 42;
  std::memcpy(slots[0].u.domain.text, "http", 4);
  slots[0].u.tail.extra = 1;
  std::memset(&slots[1], 'n', sizeof(cprof_slot_));
  return slots;
}

TEST(AppSlotTest, ABeginIsUnderstoodWithItsName) {
  const auto slots = Begin();
  const DecodedSlot decoded = DecodeSlot(slots);
  ASSERT_EQ(decoded.kind, SlotKind::kEvent);
  EXPECT_EQ(decoded.slots, 2u);
  EXPECT_EQ(decoded.event.key, (Key{0, 42}));
  EXPECT_EQ(decoded.domain, "http");
  EXPECT_EQ(decoded.name, std::string(64, 'n'));
}

TEST(AppSlotTest, AnEventLongerThanWhatIsThereIsDamaged) {
  const auto slots = Begin();
  EXPECT_EQ(DecodeSlot(std::span(slots).first(1)).kind, SlotKind::kDamaged);
}

TEST(AppSlotTest, UnknownNumbersAreDamaged) {
  for (const auto change :
       {+[](cprof_slot_& slot) { slot.verb = 0; },
        +[](cprof_slot_& slot) { slot.verb = CPROF_APP_EDGE + 2; },
        +[](cprof_slot_& slot) { slot.kind = 0; }, +[](cprof_slot_& slot) { slot.kind = 5; },
        +[](cprof_slot_& slot) { slot.u.tail.extra = 5; },
        +[](cprof_slot_& slot) { slot.verb = CPROF_APP_ENTER; },
        +[](cprof_slot_& slot) { slot.verb = CPROF_APP_EDGE; }}) {
    auto slots = Begin();
    change(slots[0]);
    EXPECT_EQ(DecodeSlot(slots).kind, SlotKind::kDamaged);
  }
}

TEST(AppProcessTest, LinesOfMapsAreUnderstoodWhateverTheirPaths) {
  const auto entries = ParseMaps(
      "7f00-8000 rw-s 00000000 00:01 77 /dev/zero (deleted)\nnonsense\n"
      "1000-2000 r-xp 00001000 fd:00 9                         /a b\n");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].path, "/dev/zero (deleted)");
  EXPECT_EQ(entries[0].inode, 77u);
  EXPECT_EQ(entries[1].path, "/a b");
  EXPECT_EQ(entries[1].file_offset, 0x1000u);
  EXPECT_EQ(entries[1].device, "fd:00");
}

TEST(AppProcessTest, OffsetsOfTimeNamespacesAreUnderstood) {
  EXPECT_EQ(ParseMonotonicOffset("monotonic  -5  250\nboottime  0  0\n"), -5'000'000'000 + 250);
  EXPECT_EQ(ParseMonotonicOffset("boottime 0 0\n"), std::nullopt);
  EXPECT_EQ(ParseMonotonicOffset("monotonic 99999999999 0\n"), std::nullopt);
}

TEST(AppProcessTest, SeccompModesAreUnderstood) {
  EXPECT_EQ(ParseSeccompMode("Name:\tx\nSeccomp:\t1\nSeccomp_filters:\t0\n"), SeccompMode::kStrict);
  EXPECT_EQ(ParseSeccompMode("Name:\tx\nSeccomp:\t2\n"), SeccompMode::kFilter);
  EXPECT_EQ(ParseSeccompMode("Name:\tx\n"), SeccompMode::kNone);
}

}  // namespace
}  // namespace cprof
