/// End of the batch job, before which the run must stop.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "deck/compose/environment.hpp"

namespace ziggurat::deck {

/// End of a job.
struct JobDeadline {
    double at = 0;       ///< seconds since 1970, UTC
    std::string source;  ///< `Slurm job 812331`
};

/// Function that queries squeue for the end of a Slurm job.
///
/// Returns `2026-11-20T12:00:00` in local time, or nullopt.
using AskSlurm = std::function<std::optional<std::string>(const std::string& job)>;
std::optional<std::string> ask_squeue(const std::string& job);

/// Finds the job's end from SLURM_JOB_END_TIME, else by one query for SLURM_JOB_ID.
///
/// Returns nullopt outside of Slurm, if Slurm sets no end, and if the end is in the past: a shell that
/// outlives its job keeps the job's variables.
///
/// \param now  seconds since 1970, UTC
std::optional<JobDeadline> find_job_end(const Environment& environment,
                                        double now,
                                        const AskSlurm& ask = ask_squeue);

/// Returns the end of the job of this process.
std::optional<JobDeadline> find_own_job_end();

/// Returns the time in ZIGGURAT_STOP_AT: seconds since 1970, UTC.
/// Errors: Error{deck} if it is not such a number
std::optional<double> find_stop_at(const Environment& environment);

}  // namespace ziggurat::deck
