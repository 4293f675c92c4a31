/// Slurm batch script: the shipped train.sbatch, completed for one deck.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::deck {

/// Resources that a job requests from Slurm, and its training.
struct BatchJob {
    /// Executable; if the file is missing, ziggurat in PATH is used.
    std::string program;
    std::string deck;                         ///< relative to the folder in which the job is submitted
    std::vector<std::string> overrides = {};  ///< `path.to.key=value`
    /// Overrides of each task of a job array; empty: the job is not an array.
    std::vector<std::vector<std::string>> array = {};
    std::string name;
    int nodes = 1;
    int tasks_per_node = 1;
    std::string time = "24:00:00";  ///< in the format of slurm_seconds()
    std::string account = {};       ///< empty: the user's default
    std::string partition = {};     ///< empty: the cluster's default
    int cpus_per_task = 0;          ///< 0: the cluster's default
    int gpus_per_node = 0;          ///< 0: none requested
};

/// Parses a time limit to seconds: minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S.
///
/// Returns nullopt if the format is invalid or the limit is 0.
std::optional<std::int64_t> slurm_seconds(std::string_view time);

/// Returns the time between warning and end of a job: 300 s, for a short job a quarter of its time.
std::int64_t warning_seconds(std::int64_t job_seconds);

/// Quotes any `text` as a single word for bash.
std::string shell_word(std::string_view text);

/// Quotes a single-line `text` as the value of an option in an #SBATCH line, where '#' and quotes are
/// special.
std::string sbatch_value(std::string_view text);

/// Returns `shipped` with options of #SBATCH lines, program and deck replaced by those of `job`.
///
/// \param shipped  the text of scripts/slurm/train.sbatch
/// Errors: Error{internal} if `shipped` lacks a line that must be replaced
std::string batch_script(std::string_view shipped, const BatchJob& job);

}  // namespace ziggurat::deck
