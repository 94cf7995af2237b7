// Prints scores: a table for people, one JSON object for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/causality/score/score.h"

namespace cprof::causality {
namespace {

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string OwnerLine(const char* what, const OwnerScore& owner) {
  return fmt::format(
      "  {:<22} attributed {:.3f} ms, wrong owner {:.6f} ms ({:.5f} %), unknown {:.3f} ms "
      "({:.2f} % of owned), undecided {:.3f} ms\n",
      what, static_cast<double>(owner.attributed_ns) / 1e6,
      static_cast<double>(owner.wrong_ns) / 1e6, Percent(owner.wrong_ns, owner.attributed_ns),
      static_cast<double>(owner.unknown_ns) / 1e6,
      Percent(owner.unknown_ns, owner.unknown_ns + owner.right_ns),
      static_cast<double>(owner.undecided_ns) / 1e6);
}

nlohmann::ordered_json OwnerJson(const OwnerScore& owner) {
  return {{"attributed_ns", owner.attributed_ns},
          {"right_ns", owner.right_ns},
          {"wrong_ns", owner.wrong_ns},
          {"unknown_ns", owner.unknown_ns},
          {"undecided_ns", owner.undecided_ns}};
}

}  // namespace

std::string ScoresAsText(const Scores& scores) {
  std::string text = fmt::format("{:<15} {:>10} {:>10} {:>8} {:>10} {:>9} {:>10}\n", "edges",
                                 "reported", "right", "wrong", "undecided", "foreign", "precision");
  for (const auto& [confidence, edges] : scores.edges) {
    text += fmt::format("  {:<13} {:>10} {:>10} {:>8} {:>10} {:>9} {:>10.6f}\n", confidence,
                        edges.reported, edges.right, edges.wrong, edges.undecided, edges.foreign,
                        scores.Precision(confidence));
  }
  text += fmt::format(
      "true edges {}: found {}, missing {} ({} with an orphan), undecided {}; recall {:.6f}; {} "
      "outside the recording; {} operations end in silence\n",
      scores.operations, scores.found, scores.missing, scores.missing_with_orphan, scores.undecided,
      scores.Recall(), scores.outside_recording, scores.silent_operations);
  text += fmt::format("false joins {}\n", scores.WrongJoins());
  for (const std::string& example : scores.wrong_examples) text += "  " + example + "\n";
  text += fmt::format("half-edges {}, orphans {} (unexplained {}), breaks {}, accounts {}\n",
                      scores.half_edges, scores.orphans, scores.unexplained, scores.breaks,
                      scores.adds_up ? "add up" : "DO NOT ADD UP");
  for (const auto& [reason, count] : scores.orphans_by_reason) {
    text += fmt::format("  {:<22} {}\n", reason, count);
  }
  text += "owners\n" + OwnerLine("threads", scores.threads) +
          OwnerLine("operations in flight", scores.operations_owner);
  text += fmt::format(
      "requests {}: matched {}, wall off by more than 1 %: {}, states not adding up: {}\n",
      scores.requests, scores.requests_matched, scores.requests_off, scores.states_not_adding);
  for (const auto& [state, time_ns] : scores.state_ns) {
    text += fmt::format("  {:<22} {:.3f} ms ({:.2f} %)\n", state,
                        static_cast<double>(time_ns) / 1e6, Percent(time_ns, scores.wall_ns));
  }
  for (const auto& [type, count] : scores.outside_domain) {
    text += fmt::format("not scored: {} {} edges\n", count, type);
  }
  return text;
}

std::string ScoresAsJson(const Scores& scores) {
  nlohmann::ordered_json json;
  for (const auto& [confidence, edges] : scores.edges) {
    json["edges"][confidence] = {
        {"reported", edges.reported}, {"right", edges.right},
        {"wrong", edges.wrong},       {"undecided", edges.undecided},
        {"foreign", edges.foreign},   {"precision", scores.Precision(confidence)}};
  }
  json["true_edges"] = scores.operations;
  json["found"] = scores.found;
  json["missing"] = scores.missing;
  json["missing_with_orphan"] = scores.missing_with_orphan;
  json["missing_honestly"] = scores.missing_honestly;
  json["undecided"] = scores.undecided;
  json["outside_recording"] = scores.outside_recording;
  json["recall"] = scores.Recall();
  json["false_joins"] = scores.WrongJoins();
  json["half_edges"] = scores.half_edges;
  json["orphans"] = scores.orphans;
  json["orphans_by_reason"] = scores.orphans_by_reason;
  json["unexplained"] = scores.unexplained;
  json["breaks"] = scores.breaks;
  json["adds_up"] = scores.adds_up;
  json["owner_threads"] = OwnerJson(scores.threads);
  json["owner_operations"] = OwnerJson(scores.operations_owner);
  json["requests"] = {{"truth", scores.requests},
                      {"matched", scores.requests_matched},
                      {"off_by_1_percent", scores.requests_off},
                      {"states_not_adding", scores.states_not_adding}};
  json["state_ns"] = scores.state_ns;
  json["outside_domain"] = scores.outside_domain;
  return json.dump(2) + "\n";
}

}  // namespace cprof::causality
