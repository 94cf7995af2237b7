// Small graphs and truths under construction, for tests of the scorer.
#ifndef CPROF_TESTS_CAUSALITY_SCORE_SCORE_CASES_H_
#define CPROF_TESTS_CAUSALITY_SCORE_SCORE_CASES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>

#include "tests/causality/oracle.h"
#include "tests/causality/score/graph_text.h"

namespace cprof::causality {

inline constexpr uint64_t kT0Ns = 1000000;
inline constexpr uint32_t kTid = 100;
inline constexpr uint32_t kWorkerTid = 101;

// A graph under construction: lines of text, as a profiler would print them.
class GraphLines {
 public:
  GraphLines() {
    text_ << R"({"t":"header","version":1,"t0_ns":"1000000"})" << '\n';
    Thread(1, kTid);
    Thread(2, kWorkerTid);
  }
  void Thread(uint64_t id, uint32_t tid) {
    text_ << R"({"t":"node","id":)" << id << R"(,"kind":"thread","born_ns":0,"attrs":{"tid":)"
          << tid << R"(,"comm":"x"}})" << '\n';
  }
  void Node(uint64_t id, const char* kind, uint64_t born, uint64_t died, uint64_t handle = 0) {
    text_ << R"({"t":"node","id":)" << id << R"(,"kind":")" << kind << R"(","born_ns":)" << born
          << R"(,"died_ns":)" << died << R"(,"end":"observed","attrs":{"id":")" << handle
          << R"("}})" << '\n';
  }
  void Edge(const char* type, uint64_t src, uint64_t dst, uint64_t time, uint64_t thread,
            const char* confidence = "observed", const char* source = "kernel") {
    edges_ += is_hidden_ ? 0 : 1;
    text_ << R"({"t":"edge","id":)" << edges_ << R"(,"type":")" << type << R"(","src":)" << src
          << R"(,"dst":)" << dst << R"(,"src_time_ns":)" << time << R"(,"dst_time_ns":)" << time
          << R"(,"src_event":"0.)" << time << R"(","dst_event":"0.)" << time << R"(","src_thread":)"
          << thread << R"(,"dst_thread":)" << thread << R"(,"source":")" << source
          << R"(","confidence":")" << confidence << R"("})" << '\n';
  }
  // An edge with two ends of its own.
  void Between(const char* type, uint64_t src, uint64_t src_time, uint64_t dst, uint64_t dst_time,
               uint64_t src_thread = 0, uint64_t dst_thread = 0,
               const char* confidence = "observed") {
    edges_ += is_hidden_ ? 0 : 1;
    text_ << R"({"t":"edge","id":)" << edges_ << R"(,"type":")" << type << R"(","src":)" << src
          << R"(,"dst":)" << dst << R"(,"src_time_ns":)" << src_time << R"(,"dst_time_ns":)"
          << dst_time << R"(,"src_event":"0.)" << src_time << R"(","dst_event":"1.)" << dst_time
          << R"(","src_thread":)" << src_thread << R"(,"dst_thread":)" << dst_thread
          << R"(,"source":"kernel","confidence":")" << confidence << R"("})" << '\n';
  }
  void Cost(uint64_t request, const char* kind, uint64_t value, const char* low, const char* high) {
    text_ << R"({"t":"cost","request":)" << request << R"(,"kind":")" << kind << R"(","value":)"
          << value << R"(,"low":)" << low << R"(,"high":)" << high << "}\n";
  }
  void Break(const char* stream, uint64_t from, uint64_t to, uint64_t lost) {
    text_ << R"({"t":"break","id":1,"stream":")" << stream << R"(","from_ns":)" << from
          << R"(,"to_ns":)" << to << R"(,"lost":{"submit":)" << lost << R"(},"total":)" << lost
          << "}\n";
  }
  void Orphan(const char* type, const char* half, uint64_t node, uint64_t time, uint64_t thread,
              const char* reason) {
    ++orphans_;
    text_ << R"({"t":"orphan","id":)" << orphans_ << R"(,"type":")" << type << R"(","half":")"
          << half << R"(","node":)" << node << R"(,"event":"0.)" << time << R"(","thread":)"
          << thread << R"(,"time_ns":)" << time << R"(,"reason":")" << reason << R"(","proof":"p"})"
          << '\n';
  }
  void Binding(uint64_t thread, uint64_t node, uint64_t from, uint64_t to,
               const char* confidence = "observed") {
    text_ << R"({"t":"binding","thread":)" << thread << R"(,"node":)" << node << R"(,"from_ns":)"
          << from << R"(,"to_ns":)" << to << R"(,"confidence":")" << confidence << R"("})" << '\n';
  }
  void Owner(uint64_t node, const char* requests, uint64_t from, uint64_t to,
             const char* confidence = "observed") {
    text_ << R"({"t":"owner","node":)" << node << R"(,"requests":[)" << requests
          << R"(],"from_ns":)" << from << R"(,"to_ns":)" << to << R"(,"confidence":")" << confidence
          << R"("})" << '\n';
  }
  void State(uint64_t request, const char* state, uint64_t from, uint64_t to) {
    text_ << R"({"t":"state","request":)" << request << R"(,"state":")" << state
          << R"(","from_ns":)" << from << R"(,"to_ns":)" << to << "}\n";
  }
  // What follows is in no account: a profiler that lies keeps its sums in order.
  void HideFromAccounts() { is_hidden_ = true; }
  void ShowInAccounts() { is_hidden_ = false; }
  Graph Read() {
    text_ << R"({"t":"summary","events":9,"half_edges":)" << edges_ + orphans_ << R"(,"joined":)"
          << edges_ << R"(,"orphans":)" << orphans_ << "}\n";
    auto graph = ReadGraphText(text_);
    EXPECT_TRUE(graph.has_value()) << graph.error().message;
    return graph.has_value() ? *graph : Graph{};
  }

 private:
  std::stringstream text_;
  uint64_t edges_ = 0, orphans_ = 0;
  bool is_hidden_ = false;
};

inline OracleRecord Record(Truth truth, uint32_t tid, uint64_t batch, uint32_t sequence,
                           uint64_t operation, uint64_t owner, uint64_t before, uint64_t after) {
  OracleRecord record;
  record.truth = truth;
  record.tid = tid;
  record.batch = batch;
  record.sequence = sequence;
  record.operation = operation;
  record.owner = owner;
  record.before_ns = kT0Ns + before;
  record.after_ns = kT0Ns + after;
  return record;
}

}  // namespace cprof::causality

#endif  // CPROF_TESTS_CAUSALITY_SCORE_SCORE_CASES_H_
