/// Launch of the ranks: what they were given, and the deck that they agree to run.
#pragma once

#include <optional>

#include "app/cli.hpp"
#include "comm/context.hpp"
#include "deck/load.hpp"

namespace ziggurat::app {

/// The number of ranks and, alike on all of them, ranks per node and threads per rank: OMP_NUM_THREADS where
/// it is set, else the smallest share of cores that a rank has.
/// Collective: over `world`
deck::LoadOptions find_launch(const comm::Context& world);

/// Threads per rank that the environment asks for; 0 when nobody asked.
int threads_asked();

/// The threads per rank of that many ranks started from here, on this machine; 0: as many as fit its cores.
int threads_if_started(int ranks);

/// The deck that the command line names: read, resolved and checked by rank 0, for which all ranks measure
/// what they can do where depths are open, then by all ranks from its effective form. Nothing when it is
/// wrong, or cannot be run where one of them is, which rank 0 has then told; then `exit_code` is set, alike
/// on all ranks. Collective: over `world`
std::optional<deck::LoadedDeck> load_on_all_ranks(const Arguments& arguments,
                                                  const comm::Context& world,
                                                  int& exit_code);

}  // namespace ziggurat::app
