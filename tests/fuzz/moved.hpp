/// Whether the tiers of a run hold and move what its deck says.
#pragma once

#include <string>

#include "comm/communicator.hpp"
#include "schedule/link_traffic.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// In words, where a kind of state that is away from the device as a whole lies elsewhere, or does not move
/// over the lanes on its way, or where lanes have not moved in all steps what the program says; empty when
/// all is as asked.
///
/// \param counted  on this rank, in all steps of the run
std::string lack_of_movement(const spec::RunSpec& run,
                             const comm::Communicator& group,
                             const schedule::BytesByLink& counted);

}  // namespace ziggurat::test
