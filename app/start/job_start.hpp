/// Launch of the ranks: their resources, and the deck that they run.
#pragma once

#include <cstdint>
#include <optional>

#include "app/deck/deck_options.hpp"
#include "app/deck/epochs.hpp"
#include "comm/context.hpp"
#include "deck/load.hpp"
#include "train/control/work_stop.hpp"

namespace ziggurat::app {

/// Returns the number of ranks, ranks per node and threads per rank; the same on all ranks.
///
/// Threads are OMP_NUM_THREADS if it is set, else the smallest share of cores of a rank.
/// Collective: over `world`
deck::LoadOptions find_launch(const comm::Context& world);

/// Returns the threads per rank that the environment sets; 0 if it does not.
int threads_asked();

/// Returns the threads per rank if `ranks` ranks were started on this machine.
///
/// \param ranks  0 = unknown; then the result is threads_asked()
int threads_if_started(int ranks);

/// Loads the deck of the command line on all ranks.
///
/// Rank 0 reads, resolves and checks the deck. If depths are `auto`, all ranks measure their rates for it.
/// Then all ranks load its effective form. Returns empty if the deck has errors or cannot run on some rank:
/// then rank 0 has printed the errors, and `exit_code` is set to the same value on all ranks.
///
/// \param sizes  on rank 0: receives the facts about the sources
/// \param stop  gets run.time_limit, counted from `begin_ns`, and ends the reading of sources
/// Collective: over `world`
/// Errors:     Stopped on all ranks
std::optional<deck::LoadedDeck> load_on_all_ranks(const JobDeck& job,
                                                  const comm::Context& world,
                                                  train::WorkStop& stop,
                                                  std::int64_t begin_ns,
                                                  SourceSizes& sizes,
                                                  int& exit_code);

}  // namespace ziggurat::app
