/// The number of ranks of a job: as it is asked for, or as the machine and the deck have it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deck/load_options.hpp"

namespace ziggurat::app {

/// The deck of a job, as the command line names it.
struct JobDeck {
    std::string file;
    std::vector<std::string> overrides;  ///< `path.to.key=value`
};

/// Load options of a job with so many ranks on each node.
using OfTasks = std::function<deck::LoadOptions(int tasks)>;

/// Most ranks of a job that is planned.
inline constexpr int most_ranks = 1'000'000;

/// Ranks of each of `nodes` nodes where nobody says it: all that a node is made for, or, where the degrees of
/// the deck are for fewer, as many as these take.
///
/// \param all      that a node is made for; 0: nobody knows, so those of the degrees
/// \param options  of the job, its size unsaid
int choose_tasks(
    const JobDeck& deck, int nodes, int all, const deck::LoadOptions& options, const OfTasks& of_job);

/// `options` for a job of `nodes` nodes with `tasks` ranks on each.
///
/// Errors: Error{deck} when that are more than most_ranks
deck::LoadOptions of_nodes(deck::LoadOptions options, int nodes, int tasks);

/// `options` for a job of so many ranks, or nodes, or both. Where neither is said it is as large as one node
/// of the machine, or, where the degrees of the deck take more or fewer ranks, as these have it. A machine
/// that is not described counts as its GPUs.
///
/// \pre ranks are a multiple of nodes, where both are said
/// Errors: as of_nodes()
deck::LoadOptions sized(const JobDeck& deck,
                        deck::LoadOptions options,
                        std::optional<int> ranks,
                        std::optional<int> nodes);

}  // namespace ziggurat::app
