/// Checks of the launch: the launcher, cores, clocks, and that all ranks run one build.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "doctor/diagnosis.hpp"

namespace ziggurat::doctor {

/// Name and version of an MPI library or launcher, for example `Open MPI 4.1.4`.
struct Release {
    std::string name = {};
    int major = 0;
    int minor = 0;
    int patch = 0;

    bool is_known() const { return !name.empty(); }
    std::string text() const;
    bool operator==(const Release&) const = default;
};

/// Parses the version text of an MPI library or launcher.
///
/// Examples: `Open MPI v4.1.4, package: ...`, `mpirun (Open MPI) 4.1.4`, the lines of Hydra and Intel MPI.
/// Returns an unknown release if the text matches no known form.
Release read_release(const std::string& output);

/// Checks that the launcher belongs to the MPI of this process.
///
/// \param path    path of mpirun as the shell finds it; empty if there is no mpirun
/// \param output    output of `mpirun --version`
/// \param linked  the MPI library of this process
Diagnosis diagnose_launcher(const std::string& path, const std::string& output, const Release& linked);

/// Returns an error if the user is root and Open MPI refuses to run as root; else empty.
Diagnoses diagnose_root(bool is_root, bool may_run, bool may_run_confirmed, const Release& linked);

/// Checks a trial launch of two ranks by mpirun.
///
/// \param output      output of mpirun and the ranks; rank 0 prints a diagnosis as JSON; empty after a
/// timeout \param settings  MPI settings of the environment (`OMPI_MCA_pml=ucx`)
Diagnosis diagnose_trial(const std::string& output, const std::vector<std::string>& settings);

/// Lists the MPI settings of the environment; empty if there are no settings.
Diagnoses list_settings(const std::vector<std::string>& settings);

/// Compares the MPI whose headers the program was compiled with and the MPI that it runs with.
Diagnosis diagnose_mpi(const Release& built, const Release& linked, const std::string& output);

/// Cores of one rank.
struct RankCores {
    int node = 0;
    std::string host = {};
    std::vector<int> cpus = {};       ///< logical CPUs that the rank may use
    std::map<int, int> core_of = {};  ///< core of each of them; a missing CPU is a core of its own
    int job_cores = 0;                ///< cores of the node that the job may use
    int threads = 0;                  ///< requested by the environment; 0: not set (one per core)
    int core_limit = 0;               ///< limit of the control group for all ranks of the node; 0: unlimited
};

/// Checks binding and number of threads on each node.
///
/// Identical findings of several nodes are one diagnosis.
Diagnoses diagnose_cores(const std::vector<RankCores>& by_rank);

/// Checks that the clocks of all ranks agree.
///
/// \param ahead_seconds  by rank: difference between its clock and that of rank 0
Diagnosis diagnose_clocks(const std::vector<double>& ahead_seconds, const std::vector<std::string>& hosts);

/// Checks that all ranks run the same build.
///
/// \param builds  by rank: version and everything else that distinguishes two builds
Diagnosis diagnose_builds(const std::vector<std::string>& builds, const std::vector<std::string>& hosts);

/// Checks that ranks of one node can read each other's memory.
///
/// \param obstacle  reason why they cannot; empty if they can
Diagnosis diagnose_sharing(int num_ranks, int num_nodes, const std::string& obstacle);

}  // namespace ziggurat::doctor
