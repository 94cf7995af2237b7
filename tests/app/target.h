/* What the files of the recorded program tell each other. */
#ifndef CPROF_TESTS_APP_TARGET_H_
#define CPROF_TESTS_APP_TARGET_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Emit count events from a C file, a linked shared object, and one that is loaded. */
void EmitFromC(uint64_t id, uint64_t count);
void EmitFromLinked(uint64_t id, uint64_t count);
void EmitFromLoaded(uint64_t id, uint64_t count);

#ifdef __cplusplus
}

#include <string>

/* One command each; they return the answer. */
std::string RunThreads(uint64_t threads, uint64_t events);
std::string RunParallel(uint64_t threads, uint64_t events);
std::string RunStorm(uint64_t milliseconds);
std::string RunConfined(const std::string& how);
std::string RunOutOfFiles();

/* Emits count enter and leave events of one request, alternating. */
void Emit(uint64_t id, uint64_t count);
#endif

#endif
