/// Session: lifetime of MPI in this process.
#pragma once

#include <optional>
#include <string>

#include "comm/context.hpp"
#include "comm/watch/board_exchange.hpp"
#include "comm/watch/liveness.hpp"

namespace ziggurat::comm {

/// Values from the launcher's environment that reveal a wrong launch.
struct LaunchEnvironment {
    std::optional<int> slurm_tasks = {};  ///< SLURM_STEP_NUM_TASKS, which only srun sets
    /// Size of the world according to mpirun, mpiexec or srun --mpi=pmi2.
    std::optional<int> launcher_ranks = {};

    /// Reads the environment of this process.
    static LaunchEnvironment of_process();
};

/// Returns the reason why a world of `world_size` ranks is a wrong launch; nullopt if it is plausible.
///
/// The MPI library may not support the launcher: Slurm's `srun` without the right PMI, or the mpirun of
/// another MPI. Every task is then a world of its own: N trainings of one rank that overwrite each other's
/// files.
std::optional<std::string> explain_singleton(int world_size, const LaunchEnvironment& environment);

/// Scope of MPI, from MPI_Init_thread to MPI_Finalize.
///
/// One per process, created before any communication.
///
/// MPI is called from one thread (MPI_THREAD_FUNNELED). If the scope ends by an exception, MPI is not
/// finalized, because that would wait for ranks without the exception. Catch it inside the scope and decide
/// there between a collective exit and Liveness::fail().
class Session {
  public:
    /// \param stopped_timeout_seconds  time after which a stopped rank ends the job, until the job sets its
    ///                                 timeout (Liveness::set_hang_timeout())
    /// Collective: over all ranks
    /// Errors:     Error{resource} if several ranks were started that are not in one world;
    ///             Error{communication} if MPI does not support threads
    Session(int* argc,
            char*** argv,
            const LaunchEnvironment& environment = LaunchEnvironment::of_process(),
            double stopped_timeout_seconds = Liveness::first_timeout_seconds);

    /// Collective: over all ranks
    ~Session();

    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// All ranks, monitored from the start until after MPI is finalized. Valid while the session lives.
    const Context& world() const noexcept { return *world_; }

  private:
    std::optional<Communicator> ranks_;
    std::optional<Liveness> liveness_;
    std::optional<BoardExchange> board_;
    std::optional<Context> world_;
    int exceptions_at_start_ = 0;
};

}  // namespace ziggurat::comm
