// The table of what hooks can see: see capability.h.
#include "tests/causality/score/capability.h"

#include <sstream>

namespace cprof::causality {

Result<Capability> Capability::Read(std::istream& input) {
  Capability table;
  std::string line;
  for (int number = 1; std::getline(input, line); ++number) {
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    Row row;
    std::string sight;
    if (!(words >> row.mechanism)) continue;
    words >> row.fault >> row.type >> sight >> std::ws;
    std::getline(words, row.why);
    bool is_known = row.type == "*" || row.type == "multishot";
    for (int i = 0; i < kTrueTypeCount; ++i) {
      is_known |= row.type == TrueTypeName(static_cast<TrueType>(i));
    }
    if (sight == "no") row.sight = Sight::kNo;
    if (sight == "no-adapter") row.sight = Sight::kNoAdapter;
    if (row.sight == Sight::kYes) is_known &= sight == "yes";
    if (!is_known || row.why.empty()) {
      return Error{"line " + std::to_string(number) +
                       " of the capability table is not: mechanism fault type sight why",
                   "sight is yes, no or no-adapter"};
    }
    table.rows_.push_back(std::move(row));
  }
  return table;
}

Capability::Sight Capability::Of(const std::string& mechanism, const std::string& fault,
                                 std::string_view type) const {
  const Row* best = nullptr;
  int best_rank = -1;
  for (const Row& row : rows_) {
    if (row.mechanism != mechanism || (row.fault != "*" && row.fault != fault) ||
        (row.type != "*" && row.type != type)) {
      continue;
    }
    const int rank = (row.fault != "*" ? 2 : 0) + (row.type != "*" ? 1 : 0);
    if (rank > best_rank) {
      best = &row;
      best_rank = rank;
    }
  }
  return best == nullptr ? Sight::kYes : best->sight;
}

bool Capability::HasAdapter(const std::string& mechanism, const std::string& fault) const {
  return Of(mechanism, fault, "*") != Sight::kNoAdapter;
}

}  // namespace cprof::causality
