/// Cores of this machine that this process and its job may use.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "train/report/banner.hpp"

namespace ziggurat::app {

/// Returns the logical CPUs that the system allows for this process, without the binding to fewer CPUs.
///
/// Call before the process starts threads: it changes the affinity of the calling thread for a moment.
std::vector<int> allowed_cpus();

/// Maps each logical CPU to its core, identified by the first logical CPU of the core.
std::map<int, int> cores_of(std::span<const int> cpus);

/// Returns the number of cores of this machine that the job may use.
///
/// These are the cores that Slurm has allocated (srun may bind ranks to a part of them), else the cores of
/// allowed_cpus(); limited by the control group.
int cores_of_job();

/// Returns notes for the start of a job, on rank 0; empty on other ranks.
///
/// Notes are about ignored variables (thread_binding.hpp) and nodes on which the ranks leave cores idle.
///
/// \param threads  threads per rank
/// Collective: over `world`
std::vector<std::string> core_notes(const comm::Context& world, int threads, train::ThreadsBy by);

/// Prints the notes of core_notes(). Collective: over `world`
void report_core_notes(const comm::Context& world, int threads, train::ThreadsBy by);

}  // namespace ziggurat::app
