/// Session of MPI in this process.
#pragma once

#include <optional>
#include <string>

#include "comm/context.hpp"
#include "comm/watch/board_exchange.hpp"
#include "comm/watch/liveness.hpp"

namespace ziggurat::comm {

/// Words of the launcher to this process, as far as they show a launch gone wrong.
struct LaunchEnvironment {
    std::optional<int> slurm_tasks = {};  ///< SLURM_STEP_NUM_TASKS, which only srun sets
    std::optional<int> launcher_ranks =
        {};  ///< size of the world, as mpirun, mpiexec or srun --mpi=pmi2 tell it

    /// Reads the environment of this process.
    static LaunchEnvironment of_process();
};

/// Reason why a world of `world_size` ranks cannot be meant; nothing when it can.
///
/// A launcher that the MPI library cannot talk to (Slurm's `srun` without the right PMI, or another MPI's
/// mpirun) starts every task as a world of its own: N trainings of one rank that overwrite each other's
/// files.
std::optional<std::string> explain_singleton(int world_size, const LaunchEnvironment& environment);

/// MPI_Init_thread to MPI_Finalize as a scope. One per process, made before anything that communicates.
///
/// MPI is called from one thread (MPI_THREAD_FUNNELED). When the scope ends by an exception, MPI is not
/// finalized, for that would wait for ranks that know of nothing: catch inside the scope and decide there
/// between leaving together and Liveness::fail().
class Session {
  public:
    /// Collective: over all ranks
    /// Errors:     Error{resource} when several ranks were started that do not see each other;
    ///             Error{communication} when MPI cannot serve threads
    Session(int* argc, char*** argv, const LaunchEnvironment& environment = LaunchEnvironment::of_process());

    /// Collective: over all ranks
    ~Session();

    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// All ranks, watched from the first moment until after MPI is finalized. Valid while the session lives.
    const Context& world() const noexcept { return *world_; }

  private:
    std::optional<Communicator> ranks_;
    std::optional<Liveness> liveness_;
    std::optional<BoardExchange> board_;
    std::optional<Context> world_;
    int exceptions_at_start_ = 0;
};

}  // namespace ziggurat::comm
