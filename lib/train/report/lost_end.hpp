/// End of a job that rank 0 could not tell of: it was killed, or its machine was lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat::train {

/// An end that metrics.jsonl does not tell of.
struct LostEnd {
    std::int64_t step = 0;  ///< the latest that it tells of
    double time = 0;        ///< of its latest line, seconds since 1970
    /// By errors/ of the run, by kills in the control group, by a signal before it; or that nobody told.
    std::string reason = {};
};

/// The end of the latest job in the folder of a run; nothing where that job has told of it, or where there
/// was none.
std::optional<LostEnd> find_lost_end(const std::string& run_folder);

/// True if a job holds the folder of a run, or nobody can tell.
bool is_a_job_in(const std::string& run_folder);

/// Tells, in run.log and metrics.jsonl, of the end of a job whose rank 0 is gone; nothing where that still
/// holds the folder, or has told itself. Called by another rank, just before it leaves.
void tell_for_first_rank(const std::string& run_folder, int exit_code, std::string_view reason) noexcept;

}  // namespace ziggurat::train
