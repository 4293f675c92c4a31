/// Whether the ranks of a run have sent what the closed forms of all axes say.
#pragma once

#include <string>

#include "comm/context.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// In words; empty when they have, all of them together: of a message either end may copy, and count. On
/// several nodes the bounds are with gradients as they are and in fp32 (see volume_difference).
///
/// \param program  that of this rank
/// \param counted  on this rank, in `steps` steps
/// Collective: over `group`, the ranks of the run
std::string sent_bytes_difference(const spec::RunSpec& run,
                                  const comm::Context& group,
                                  const schedule::Program& program,
                                  const schedule::BytesByPurpose& counted,
                                  std::int64_t steps);

}  // namespace ziggurat::test
