/// examine_shared_folders: whether all nodes see one folder where runs are to lie.
#pragma once

#include <vector>

#include "app/doctor_folders.hpp"
#include "comm/context.hpp"
#include "comm/node_topology.hpp"
#include "doctor/diagnosis.hpp"

namespace ziggurat::app {

/// Rank 0 makes a file in each run.dir, or where it would be made, and the first rank of each other node
/// looks for it; a network file system gets some seconds to show it. Nothing on one node. On rank 0; empty
/// elsewhere.
///
/// \param folders  of rank 0
/// Collective: over `world`
doctor::Diagnoses examine_shared_folders(const std::vector<FolderToExamine>& folders,
                                         const comm::NodeTopology& nodes,
                                         const comm::Context& world);

}  // namespace ziggurat::app
