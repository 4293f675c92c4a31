/// The end of the batch job, by which the run has to stop.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "deck/compose/environment.hpp"

namespace ziggurat::deck {

/// The end of a job.
struct JobEnd {
    double at = 0;       ///< seconds since 1970, UTC
    std::string source;  ///< `Slurm job 812331`
};

/// Asks squeue when a Slurm job ends: its answer, `2026-11-20T12:00:00` in local time, or nothing.
using AskSlurm = std::function<std::optional<std::string>(const std::string& job)>;
std::optional<std::string> ask_squeue(const std::string& job);

/// From SLURM_JOB_END_TIME, else by asking once for SLURM_JOB_ID; nothing outside of Slurm, where it sets no
/// end, and where the end is behind us: a shell that outlives its job keeps the job's variables.
///
/// \param now  seconds since 1970, UTC
std::optional<JobEnd> find_job_end(const Environment& environment,
                                   double now,
                                   const AskSlurm& ask = ask_squeue);

/// The end of the job that this process is in.
std::optional<JobEnd> find_own_job_end();

/// The time in ZIGGURAT_STOP_AT: seconds since 1970, UTC.
/// Errors: Error{deck} when it is no such number
std::optional<double> find_stop_at(const Environment& environment);

}  // namespace ziggurat::deck
