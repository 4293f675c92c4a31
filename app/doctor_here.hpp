/// Facts of this process and its node, gathered and judged: what `ziggurat doctor` says of one place.
#pragma once

#include "doctor/diagnosis.hpp"

namespace ziggurat::app {

/// The job that this process belongs to, or is to belong to.
struct JobSize {
    int ranks = 1;
    int ranks_on_node = 1;
};

/// mpirun on the PATH, and whether it starts anything for this user. Starts it for its version.
doctor::Diagnoses examine_launcher();

/// What each rank has for itself: its limits.
doctor::Diagnoses examine_process(const JobSize& job);

/// What the ranks of a node share: /dev/shm, memory, libraries, GPUs.
doctor::Diagnoses examine_node(const JobSize& job);

}  // namespace ziggurat::app
