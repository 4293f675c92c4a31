#include "app/wait_policy.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "train/threads.hpp"

namespace ziggurat::app {
namespace {

constexpr const char* policy = "OMP_WAIT_POLICY";

int number_in(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? 0 : std::max(0, std::atoi(text));
}

/// What the launcher says about ranks on this node; 1 without one.
int ranks_beside() {
    for (const char* variable :
         {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE", "SLURM_TASKS_PER_NODE"}) {
        if (const int ranks = number_in(variable); ranks > 0) {
            return ranks;
        }
    }
    return 1;
}

}  // namespace

void choose_wait_policy(char** argv) {
    if (std::getenv(policy) != nullptr) {
        return;
    }
    // Whether the cores that this rank may use are its own is not known yet; if they are, sleeping costs
    // little.
    auto cores = static_cast<int>(train::usable_cores().size());
    if (const int limit = train::control_group_core_limit(); limit > 0) {
        cores = std::min(cores, limit);
    }
    const int ranks = ranks_beside();
    const int asked = number_in("OMP_NUM_THREADS");
    const int threads = asked > 0 ? asked : std::max(1, cores / ranks);
    if (ranks * threads < cores) {
        return;
    }
    setenv(policy, "passive", 1);
    execv("/proc/self/exe", argv);
    // Without /proc the run is only slower.
}

}  // namespace ziggurat::app
