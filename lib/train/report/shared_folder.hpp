/// Check that all nodes see the same run directory.
#pragma once

#include <string>

#include "comm/context.hpp"
#include "comm/node_topology.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

class Reporter;

/// Checks that all nodes see run.dir as rank 0 does and may write to it.
///
/// Reports the first node that does not: as an error if the run saves checkpoints, else as a warning. Waits
/// up to half a minute until a network file system shows a new file on all nodes.
///
/// \pre run.dir exists on rank 0
/// Collective: over `world`
/// Errors:     Error{resource} on all ranks
void expect_folder_on_all_nodes(const spec::RunSpec& spec,
                                const comm::NodeTopology& nodes,
                                const comm::Context& world,
                                Reporter& reporter);

}  // namespace ziggurat::train
