/// Measurement of disks over block sizes and queue depths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/machine_spec.hpp"

namespace ziggurat::app {

/// Errors: Error{resource} that names the first path which is not a folder
void check_folders(const std::vector<std::string>& folders);

/// Measures the disks of the folders, prints tables, and stores the best rates in `machine`.
///
/// \param file_bytes  size of the test file in each folder; it is removed at every exit
/// Errors: those of storage::sweep
void measure_disks(const std::vector<std::string>& folders,
                   std::int64_t file_bytes,
                   spec::MachineSpec& machine);

}  // namespace ziggurat::app
