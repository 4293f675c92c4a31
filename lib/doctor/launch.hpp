/// Judgements of the launch: the launcher, cores, clocks, and whether all ranks run one build.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "doctor/diagnosis.hpp"

namespace ziggurat::doctor {

/// `Open MPI 4.1.4` as its parts.
struct Release {
    std::string name = {};
    int major = 0;
    int minor = 0;
    int patch = 0;

    bool is_known() const { return !name.empty(); }
    std::string text() const;
    bool operator==(const Release&) const = default;
};

/// From what a library says of itself (`Open MPI v4.1.4, package: ...`) or a launcher (`mpirun (Open
/// MPI) 4.1.4`, Hydra's and Intel's lines); not known: neither.
Release read_release(const std::string& said);

/// \param path    of mpirun as the shell finds it; empty: there is none
/// \param said    by `mpirun --version`
/// \param linked  the MPI library of this process
Diagnosis judge_launcher(const std::string& path, const std::string& said, const Release& linked);

/// Nothing where the user is not root, or Open MPI is told that root may.
Diagnoses judge_root(bool is_root, bool may_run, bool may_run_confirmed, const Release& linked);

/// Two ranks that mpirun has started for a trial, and the settings of MPI in the environment
/// (`OMPI_MCA_pml=ucx`).
///
/// \param said  by mpirun and the ranks, of which rank 0 prints a diagnosis as JSON; empty: it did not end in
/// time
Diagnosis judge_trial(const std::string& said, const std::vector<std::string>& settings);

/// Settings of MPI that the environment has; nothing where there are none.
Diagnoses list_settings(const std::vector<std::string>& settings);

/// The MPI whose headers the program was compiled with, and that which it runs with.
Diagnosis judge_mpi(const Release& built, const Release& linked, const std::string& said);

/// Cores of one rank.
struct RankCores {
    int node = 0;
    std::string host = {};
    std::vector<int> cpus = {};       ///< logical ones that it may use
    std::map<int, int> core_of = {};  ///< of these; one that is missing is a core of its own
    int job_cores = 0;                ///< of the node, that the job may use
    int threads = 0;                  ///< asked for by the environment; 0: as many as it has cores
    int core_limit = 0;               ///< of the control group, for all ranks of the node; 0: none
};

/// What is alike on several nodes is one diagnosis.
Diagnoses judge_cores(const std::vector<RankCores>& by_rank);

/// \param ahead_seconds  by rank: its calendar against that of rank 0
Diagnosis judge_clocks(const std::vector<double>& ahead_seconds, const std::vector<std::string>& hosts);

/// \param builds  by rank: version and what else tells two builds apart
Diagnosis judge_builds(const std::vector<std::string>& builds, const std::vector<std::string>& hosts);

/// \param why_not  ranks of a node cannot read each other's memory; empty: they can
Diagnosis judge_sharing(int num_ranks, int num_nodes, const std::string& why_not);

}  // namespace ziggurat::doctor
