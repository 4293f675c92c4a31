/// Productive share of a job's time if its nodes fail, and the best checkpoint interval.
///
/// Failures are exponentially distributed, also during restarts.
/// Source: Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", 2006,
/// its complete cost function; here with checkpoints that are written while training continues.
#pragma once

namespace ziggurat::plan {

/// Times that failures and saves of a job cost, in seconds.
struct FailureTimes {
    double between_failures = 0;  ///< mean time to failure of the whole job
    double restart = 0;           ///< from a failure until training continues from a checkpoint
    double blocked = 0;           ///< time for which a save blocks training
    /// Time after that until the checkpoint is complete. After an earlier failure, the job continues from the
    /// previous checkpoint. The next save waits for the end of this one.
    double written_in_background = 0;
};

/// Returns the expected seconds of the job for each productive second, as a natural logarithm.
///
/// \param work  productive seconds from the end of a save to the start of the next
double log_slowdown(const FailureTimes& times, double work);

/// Returns the expected share of productive time; 0 if the job cannot progress.
///
/// \param work  as of log_slowdown
double productive_share(const FailureTimes& times, double work);

/// Returns the productive seconds between saves with the largest productive share, from `min` to `max`.
///
/// \pre 0 < min <= max
double best_work_seconds(const FailureTimes& times, double min, double max);

}  // namespace ziggurat::plan
