/// Command that checks the environment of a training: doctor.
#pragma once

#include <string>
#include <vector>

#include "app/command_line/command_row.hpp"

namespace ziggurat::app {

struct DoctorOptions : Options {
    std::vector<std::string> paths;      ///< folders and decks
    std::vector<std::string> overrides;  ///< `path.to.key=value`, for each deck
    bool mpi = false;                    ///< over all ranks that were started
    bool json = false;
};

CommandRowOf<DoctorOptions> doctor_row();

/// Checks machine, launch and folders. Starts MPI only with --mpi.
/// Collective: with --mpi as train()
int doctor(const DoctorOptions& options);

}  // namespace ziggurat::app
