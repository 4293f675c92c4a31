#include "comm/session/session.hpp"

#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "base/error.hpp"
#include "comm/check_mpi.hpp"
#include "comm/node_topology.hpp"
#include "comm/session/stale_segments.hpp"
#include "comm/session/start_clock.hpp"
#include "comm/watch/find_peers.hpp"

namespace ziggurat::comm {

namespace {

std::optional<int> number_in(const char* variable) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::optional<int>{std::atoi(text)} : std::nullopt;
}

/// Removes segments that earlier jobs have left on this node; only on its first rank.
void tidy_up_shared_memory() {
    if (number_in("OMPI_COMM_WORLD_LOCAL_RANK").value_or(0) == 0) {
        const auto host = machine_name();
        remove_stale_segments("/dev/shm", host.substr(0, host.find('.')), ::geteuid());
    }
}

}  // namespace

LaunchEnvironment LaunchEnvironment::of_process() {
    LaunchEnvironment environment{.slurm_tasks = number_in("SLURM_STEP_NUM_TASKS"),
                                  .launcher_ranks = number_in("OMPI_COMM_WORLD_SIZE")};  // Open MPI
    if (!environment.launcher_ranks) {
        environment.launcher_ranks = number_in("PMI_SIZE");  // MPICH and its relatives, Slurm's pmi2
    }
    return environment;
}

std::optional<std::string> explain_singleton(int world_size, const LaunchEnvironment& environment) {
    const int started = environment.launcher_ranks.value_or(environment.slurm_tasks.value_or(1));
    if (world_size > 1 || started <= 1) {
        return std::nullopt;
    }
    std::string message = environment.launcher_ranks ? "the launcher" : "Slurm";
    message +=
        " started " + std::to_string(started) +
        " tasks, but this process sees a world of 1 rank (the MPI library that ziggurat was built with does "
        "not understand this launcher, so each task would train alone and overwrite the others' files). "
        "Start "
        "with that library's own mpirun, inside a Slurm allocation with 'mpirun -n $SLURM_NTASKS ziggurat "
        "...' or 'srun --mpi=pmix ziggurat ...'; for one rank on purpose, 'mpirun -n 1 ziggurat ...'.";
    return message;
}

Session::Session(int* argc,
                 char*** argv,
                 const LaunchEnvironment& environment,
                 double stopped_timeout_seconds)
    : exceptions_at_start_{std::uncaught_exceptions()} {
    // Without a launcher, Open MPI would start a daemon (orted) to support spawning processes, which is not
    // used.
    ::setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    if (!environment.launcher_ranks && !environment.slurm_tasks) {
        // All such processes of a user have the same session directory: one that ends may remove it while
        // another one creates it, which then aborts. A process without peers needs none.
        ::setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
    }
    int provided = MPI_THREAD_SINGLE;
    std::optional<StartClock> clock{stopped_timeout_seconds};
    ZG_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
    ZG_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    tidy_up_shared_memory();
    liveness_.emplace(find_peers(MPI_COMM_WORLD), stopped_timeout_seconds);
    clock.reset();  // from here on, `liveness_` monitors the ranks
    ranks_.emplace(MPI_COMM_WORLD);
    const auto fail = [&](ErrorKind kind, const std::string& message) {
        ranks_.reset();
        MPI_Finalize();
        throw Error{kind, message};
    };
    if (const auto problem = explain_singleton(ranks_->size(), environment)) {
        fail(ErrorKind::resource, *problem);
    }
    if (provided < MPI_THREAD_FUNNELED) {
        fail(ErrorKind::communication,
             "this MPI library supports only single-threaded programs (MPI_THREAD_SINGLE). Use an MPI built "
             "with threads.");
    }
    const MonitoredRanks& list = liveness_->watch_list();
    if (list.is_shared && std::ssize(list.peers) == ranks_->size()) {
        board_.emplace(list.board, ranks_->size(), ranks_->rank());
    }
    world_.emplace(*ranks_, WaitContext{*liveness_}, board_ ? &*board_ : nullptr);
}

Session::~Session() {
    ranks_.reset();
    if (std::uncaught_exceptions() == exceptions_at_start_) {
        liveness_->announce_exit();
        MPI_Finalize();
    }
}

}  // namespace ziggurat::comm
