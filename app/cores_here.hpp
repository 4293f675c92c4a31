/// Cores of this machine, as the system would give them to this process.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "train/report/banner.hpp"

namespace ziggurat::app {

/// The logical CPUs that the system would let this process use, if it were not bound to fewer. Of the calling
/// thread, before it has started others.
std::vector<int> allowed_cpus();

/// The core of each of these logical CPUs, by the first of its CPUs: two threads of one core are one.
std::map<int, int> cores_of(std::span<const int> cpus);

/// Cores of this machine that the job may use: those that Slurm has given it, which the ranks that srun
/// starts may be bound to few of, or those of allowed_cpus(); as far as a control group grants them.
int cores_of_job();

/// What to say at the start of a job: variables that were set aside (thread_binding.hpp), and nodes of which
/// the ranks use fewer cores than there are. On rank 0; empty elsewhere.
///
/// \param threads  of each rank
/// Collective: over `world`
std::vector<std::string> core_notes(const comm::Context& world, int threads, train::ThreadsBy by);

/// Prints them.
void tell_core_notes(const comm::Context& world, int threads, train::ThreadsBy by);

}  // namespace ziggurat::app
