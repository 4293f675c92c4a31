/// End of a job that rank 0 could not record: it was killed, or its machine was lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat::train {

/// End of a job that metrics.jsonl does not record.
struct LostEnd {
    std::int64_t step = 0;  ///< last step in metrics.jsonl
    double time = 0;        ///< of its last line, in seconds since 1970
    /// From the files in errors/, kills in the control group, or an earlier signal; else a text for
    /// "unknown".
    std::string reason = {};
};

/// Returns the end of the latest job in a run directory if metrics.jsonl lacks it; else nullopt.
std::optional<LostEnd> find_lost_end(const std::string& run_folder);

/// Returns true if a job holds the lock of the run directory, or if that is unknown.
bool is_a_job_in(const std::string& run_folder);

/// Writes the end of a job whose rank 0 no longer exists to run.log and metrics.jsonl.
///
/// Does nothing if rank 0 still holds the lock of the directory, or has written the end. Call on another
/// rank, just before it exits.
///
/// \param on_event  run.on_event, which then gets the event `failure`
void report_for_first_rank(const std::string& run_folder,
                           int exit_code,
                           std::string_view reason,
                           const std::string& on_event) noexcept;

}  // namespace ziggurat::train
