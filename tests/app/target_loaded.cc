// Emits from an object that is loaded while the program runs.
#include <cprof/cprof.h>

#include "tests/app/target.h"

void EmitFromLoaded(uint64_t id, uint64_t count) {
  const cprof_node task = cprof_task("loaded", id);
  for (uint64_t i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      cprof_enter(task);
    } else {
      cprof_leave(task);
    }
  }
}
