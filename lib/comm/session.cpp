#include "comm/session.hpp"

#include <cstdlib>
#include <exception>

#include "base/error.hpp"
#include "comm/check_mpi.hpp"

namespace ziggurat::comm {

LaunchEnvironment LaunchEnvironment::of_process() {
    LaunchEnvironment environment;
    if (const char* tasks = std::getenv("SLURM_NTASKS")) {
        environment.slurm_tasks = std::atoi(tasks);
    }
    // Open MPI; MPICH's hydra and Slurm's pmi2 (PMI_SIZE is absent from a true singleton).
    environment.from_mpirun =
        std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr;
    return environment;
}

std::optional<std::string> explain_singleton(int world_size, const LaunchEnvironment& environment) {
    const int tasks = environment.slurm_tasks.value_or(1);
    if (world_size > 1 || tasks <= 1 || environment.from_mpirun) {
        return std::nullopt;
    }
    return "Slurm gave this job " + std::to_string(tasks) +
           " tasks, but this process sees a world of 1 rank (MPI did not find Slurm's process manager, so "
           "each task"
           " would train alone and overwrite the others' files). Start with 'srun --mpi=pmix ziggurat ...', "
           "or with"
           " 'mpirun -n $SLURM_NTASKS ziggurat ...' inside the allocation; for a single rank on purpose, "
           "'mpirun -n 1"
           " ziggurat ...'.";
}

Session::Session(int* argc, char*** argv, const LaunchEnvironment& environment)
    : exceptions_at_start_{std::uncaught_exceptions()} {
    int provided = MPI_THREAD_SINGLE;
    ZG_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
    world_.emplace(MPI_COMM_WORLD);
    const auto fail = [&](ErrorKind kind, const std::string& message) {
        world_.reset();
        MPI_Finalize();
        throw Error{kind, message};
    };
    if (const auto problem = explain_singleton(world_->size(), environment)) {
        fail(ErrorKind::resource, *problem);
    }
    if (provided < MPI_THREAD_FUNNELED) {
        fail(ErrorKind::communication,
             "this MPI serves single-threaded programs only (MPI_THREAD_SINGLE). Use an MPI built with "
             "threads.");
    }
}

Session::~Session() {
    world_.reset();
    if (std::uncaught_exceptions() == exceptions_at_start_) {
        MPI_Finalize();
    }
}

void abort_all(int exit_code) noexcept {
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized && !finalized) {
        MPI_Abort(MPI_COMM_WORLD, exit_code);
    }
    std::_Exit(exit_code);
}

}  // namespace ziggurat::comm
