// Compiled only: the header alone, in C++ without extensions.
#include <cprof/cprof.h>

void UseCprof(cprof_node node);
void UseCprof(cprof_node node) {
  cprof_begin(node, "x");
  cprof_enter(node);
  cprof_edge(node, cprof_io(3, 4), CPROF_EDGE_SUBMIT, cprof_now());
  cprof_leave(node);
  cprof_end(node);
}
