/// Diagnoses of this process and its node for `ziggurat doctor`.
#pragma once

#include "doctor/diagnosis.hpp"

namespace ziggurat::app {

/// Size of the job that this process belongs to, or of a planned job.
struct JobSize {
    int ranks = 1;
    int ranks_on_node = 1;
};

/// Checks mpirun on the PATH: its version, and if it can start ranks for this user. Runs it.
doctor::Diagnoses examine_launcher();

/// Checks the resource limits of this process.
doctor::Diagnoses examine_process(const JobSize& job);

/// Checks the shared resources of a node: /dev/shm, memory, libraries, GPUs.
doctor::Diagnoses examine_node(const JobSize& job);

}  // namespace ziggurat::app
