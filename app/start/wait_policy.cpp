#include "app/start/wait_policy.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "app/start/job_start.hpp"
#include "app/start/thread_binding.hpp"
#include "train/step/rank_threads.hpp"

namespace ziggurat::app {
namespace {

constexpr const char* policy = "OMP_WAIT_POLICY";

int number_in(const char* variable) {
    const char* text = std::getenv(variable);
    return text == nullptr ? 0 : std::max(0, std::atoi(text));
}

/// Returns the number of ranks on this node from the launcher's environment; 1 without a launcher.
int other_ranks() {
    for (const char* variable :
         {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE", "SLURM_TASKS_PER_NODE"}) {
        if (const int ranks = number_in(variable); ranks > 0) {
            return ranks;
        }
    }
    return 1;
}

}  // namespace

void choose_wait_policy(char** argv, OpLength ops) {
    if (std::getenv(policy) != nullptr) {
        return;
    }
    // It is not known yet if this rank shares its cores with other ranks. If not, sleeping costs little.
    const int ranks = other_ranks();
    const int idle = train::granted_cores() - ranks * threads_if_started(ranks);
    if (idle > 0 || (idle == 0 && ops == OpLength::short_ones)) {
        return;
    }
    setenv(policy, "passive", 1);
    put_binding_back();
    execv("/proc/self/exe", argv);
    // Without /proc, execv fails and the run continues, only slower.
}

}  // namespace ziggurat::app
