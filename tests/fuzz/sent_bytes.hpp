/// Checks that the ranks of a run have sent the bytes of the closed forms of all axes.
#pragma once

#include <string>

#include "comm/context.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Describes the difference between the sent bytes of all ranks and the closed forms; empty if they
/// agree.
///
/// Only the total over ranks is checked, because either end of a message may copy and count it. On several
/// nodes the bounds are those with gradients as they are, and with gradients in fp32 (see volume_difference).
///
/// \param program  program of this rank
/// \param counted  bytes counted on this rank over `steps` steps
/// Collective: over `group`, the ranks of the run
std::string sent_bytes_difference(const spec::RunSpec& run,
                                  const comm::Context& group,
                                  const schedule::Program& program,
                                  const schedule::BytesByPurpose& counted,
                                  std::int64_t steps);

}  // namespace ziggurat::test
