/// Check that all nodes see the same folder of the run.
#pragma once

#include <string>

#include "comm/context.hpp"
#include "comm/node_topology.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

class Reporter;

/// Names the first node that does not see run.dir as rank 0 does, or may not write into it: as an error where
/// the run saves, else as a warning. A network file system gets half a minute to show a new file to all.
///
/// \pre run.dir exists on rank 0
/// Collective: over `world`
/// Errors:     Error{resource} on all ranks alike
void expect_folder_on_all_nodes(const spec::RunSpec& spec,
                                const comm::NodeTopology& nodes,
                                const comm::Context& world,
                                Reporter& reporter);

}  // namespace ziggurat::train
