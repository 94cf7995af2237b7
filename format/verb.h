// Adapters and verbs as C++ values, made from adapters.def.
#ifndef CPROF_FORMAT_VERB_H_
#define CPROF_FORMAT_VERB_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cprof {

enum class Adapter : uint8_t {
#define CPROF_ADAPTER(id, name, default_on, description) k##id,
#define CPROF_VERB(...)
#include "format/adapters.def"
#undef CPROF_ADAPTER
#undef CPROF_VERB
};

// What an event of a verb is in the accounts of the join pass (MODEL: half-edge, lifecycle).
enum class Role : uint8_t { kHandOut, kTakeUp, kLifecycle, kSample };

// The verb's number on the wire and on disk; the named ones are in verb_numbers below.
using Verb = uint8_t;
inline constexpr int kVerbCount = 0x80;

struct AdapterInfo {
  Adapter id;
  std::string_view name;
  bool default_on;
  std::string_view description;
};

struct VerbInfo {
  Verb verb;
  Adapter adapter;
  std::string_view name;
  Role role;
  // Names of the fields in text; empty where unused. "thread" in key covers key and key2.
  std::string_view key, key2, arg, arg2;
};

std::span<const AdapterInfo> AllAdapters();
std::span<const VerbInfo> AllVerbs();
// Null for a number that no verb has (files may hold numbers of the future).
const VerbInfo* FindVerb(Verb verb);
const VerbInfo* FindVerb(std::string_view adapter, std::string_view name);
const AdapterInfo* FindAdapter(std::string_view name);
const AdapterInfo& InfoOf(Adapter adapter);

namespace verbs {
inline constexpr Verb kSchedWaking = 0x01;
inline constexpr Verb kSchedSwitch = 0x02;
inline constexpr Verb kSchedFork = 0x03;
inline constexpr Verb kSchedExec = 0x04;
inline constexpr Verb kSchedExit = 0x05;
inline constexpr Verb kSchedRuntime = 0x06;
inline constexpr Verb kSchedComm = 0x07;
inline constexpr Verb kIoUringCreate = 0x20;
inline constexpr Verb kIoUringSubmit = 0x21;
inline constexpr Verb kIoUringComplete = 0x22;
inline constexpr Verb kIoUringFileGet = 0x23;
inline constexpr Verb kIoUringQueueAsync = 0x24;
inline constexpr Verb kIoUringDefer = 0x25;
inline constexpr Verb kIoUringLink = 0x26;
inline constexpr Verb kIoUringFailLink = 0x27;
inline constexpr Verb kIoUringPollArm = 0x28;
inline constexpr Verb kIoUringTaskAdd = 0x29;
inline constexpr Verb kIoUringReqFailed = 0x2a;
inline constexpr Verb kIoUringOverflow = 0x2b;
inline constexpr Verb kIoUringCqWait = 0x2c;
inline constexpr Verb kIoUringWorkRun = 0x2d;
inline constexpr Verb kIoUringRingExit = 0x2e;
inline constexpr Verb kFutexWait = 0x40;
inline constexpr Verb kFutexWake = 0x41;
inline constexpr Verb kEventfdWait = 0x48;
inline constexpr Verb kEventfdSignal = 0x49;
inline constexpr Verb kEpollWait = 0x4a;
inline constexpr Verb kAppBegin = 0x50;
inline constexpr Verb kAppEnd = 0x51;
inline constexpr Verb kAppEnter = 0x52;
inline constexpr Verb kAppLeave = 0x53;
inline constexpr Verb kAppEdge = 0x54;
inline constexpr Verb kAppRing = 0x55;
inline constexpr Verb kSampleCpu = 0x60;
inline constexpr Verb kRecorderThread = 0x70;
inline constexpr Verb kRecorderRing = 0x71;
inline constexpr Verb kRecorderGate = 0x72;
}  // namespace verbs

}  // namespace cprof

#endif  // CPROF_FORMAT_VERB_H_
