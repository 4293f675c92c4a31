/// Whether the tiers of a run hold and move what its deck says.
#pragma once

#include <string>

#include "comm/context.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Whether all state is sharded over all ranks, and the rest of what schedule::link_volumes_by_formula asks
/// for holds.
bool has_closed_forms(const spec::RunSpec& run);

/// In words, where a kind of state that is away from the device as a whole lies elsewhere, or does not move
/// over the lanes on its way, or where lanes have not moved in all steps what the program and, where they
/// hold, the closed forms say; empty when all is as asked.
///
/// \param counted  on this rank, in all steps of the run
std::string lack_of_movement(const spec::RunSpec& run,
                             const comm::Context& group,
                             const schedule::BytesByLink& counted);

}  // namespace ziggurat::test
