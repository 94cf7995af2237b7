/* Emits from C: second. */
#include <cprof/cprof.h>

#include "tests/app/target.h"

void EmitFromC(uint64_t id, uint64_t count) {
  cprof_node task = cprof_task("second", id);
  for (uint64_t i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      cprof_enter(task);
    } else {
      cprof_leave(task);
    }
  }
}
