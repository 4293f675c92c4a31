/// Several small runs at the same time on the ranks of one job.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ziggurat::test {

/// Index of the run of each rank of the job, -1 if the rank is idle. The ranks of a run are
/// consecutive.
using Round = std::vector<int>;

/// Puts each run into the first round that has enough ranks left.
///
/// \pre each run has 1 to `ranks` ranks
inline std::vector<Round> rounds_of(const std::vector<int>& ranks_of_runs, int ranks) {
    std::vector<Round> rounds;
    for (std::size_t run = 0; run < ranks_of_runs.size(); ++run) {
        const auto wanted = ranks_of_runs[run];
        auto round = std::ranges::find_if(
            rounds, [&](const Round& taken) { return std::ranges::count(taken, -1) >= wanted; });
        if (round == rounds.end()) {
            round = rounds.insert(rounds.end(), Round(static_cast<std::size_t>(ranks), -1));
        }
        std::fill_n(std::ranges::find(*round, -1), wanted, static_cast<int>(run));
    }
    return rounds;
}

}  // namespace ziggurat::test
