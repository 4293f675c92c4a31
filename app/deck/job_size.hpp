/// Number of ranks of a job, from the command line, the machine and the deck.
#pragma once

#include <functional>

#include "app/deck/deck_options.hpp"
#include "deck/load_options.hpp"

namespace ziggurat::app {

/// Returns the load options of a job with `tasks` ranks per node.
using OfTasks = std::function<deck::LoadOptions(int tasks)>;

/// Maximum number of ranks of a planned job.
inline constexpr int max_ranks = 1'000'000;

/// Chooses the ranks per node if they are not given.
///
/// They are `all`, or fewer if only that fits the deck's degrees; then prints a warning with values that use
/// all.
///
/// \param all      ranks that a node is made for; 0 = unknown, then the degrees decide
/// \param options  options of the job, without its size
int choose_tasks(
    const JobDeck& job, int nodes, int all, const deck::LoadOptions& options, const OfTasks& of_job);

/// Returns `options` for a job of `nodes` nodes with `tasks` ranks each.
///
/// Errors: Error{deck} if that is more than max_ranks
deck::LoadOptions of_nodes(deck::LoadOptions options, int nodes, int tasks);

/// Returns `options` for the ranks, or the nodes, or both, of `job`.
///
/// If neither is given, the job has one node of the machine, or the number of ranks that the deck's degrees
/// require. Without a machine file, a node has one rank per GPU.
///
/// \pre job.ranks is a multiple of job.nodes, if both are given
/// Errors: as of_nodes()
deck::LoadOptions sized(const PlannedJob& job, deck::LoadOptions options);

}  // namespace ziggurat::app
