/// Number of ranks of a job, from the command line, the machine and the deck.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deck/load_options.hpp"

namespace ziggurat::app {

/// Deck of a job, as given on the command line.
struct JobDeck {
    std::string file;
    std::vector<std::string> overrides;  ///< `path.to.key=value`
};

/// Returns the load options of a job with `tasks` ranks per node.
using OfTasks = std::function<deck::LoadOptions(int tasks)>;

/// Maximum number of ranks of a planned job.
inline constexpr int max_ranks = 1'000'000;

/// Chooses the ranks per node if they are not given.
///
/// They are `all`, or fewer if only that fits the deck's degrees.
///
/// \param all      ranks that a node is made for; 0 = unknown, then the degrees decide
/// \param options  options of the job, without its size
int choose_tasks(
    const JobDeck& deck, int nodes, int all, const deck::LoadOptions& options, const OfTasks& of_job);

/// Returns `options` for a job of `nodes` nodes with `tasks` ranks each.
///
/// Errors: Error{deck} if that is more than max_ranks
deck::LoadOptions of_nodes(deck::LoadOptions options, int nodes, int tasks);

/// Returns `options` for a job of `ranks` ranks, or `nodes` nodes, or both.
///
/// If neither is given, the job has one node of the machine, or the number of ranks that the deck's degrees
/// require. Without a machine file, a node has one rank per GPU.
///
/// \pre ranks is a multiple of nodes, if both are given
/// Errors: as of_nodes()
deck::LoadOptions sized(const JobDeck& deck,
                        deck::LoadOptions options,
                        std::optional<int> ranks,
                        std::optional<int> nodes);

}  // namespace ziggurat::app
