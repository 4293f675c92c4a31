/// Check that all nodes see the same folders of runs.
#pragma once

#include <vector>

#include "app/doctor/doctor_folders.hpp"
#include "comm/context.hpp"
#include "comm/node_topology.hpp"
#include "doctor/diagnosis.hpp"

namespace ziggurat::app {

/// Returns a diagnosis for each run.dir, on rank 0; empty on other ranks and in a job on one node.
///
/// Rank 0 creates a file in each run.dir, or in its first existing parent. The first rank of each node waits
/// for it: some seconds on a network file system.
///
/// \param folders  valid on rank 0
/// Collective: over `world`
doctor::Diagnoses examine_shared_folders(const std::vector<FolderToExamine>& folders,
                                         const comm::NodeTopology& nodes,
                                         const comm::Context& world);

}  // namespace ziggurat::app
