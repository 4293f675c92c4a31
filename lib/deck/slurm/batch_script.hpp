/// A batch script for Slurm: the shipped train.sbatch, filled in for one deck.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::deck {

/// What a job asks Slurm for, and what it trains.
struct BatchJob {
    std::string program;                      ///< its file; where it is not there, ziggurat of PATH is called
    std::string deck;                         ///< as from the folder in which the job is submitted
    std::vector<std::string> overrides = {};  ///< `path.to.key=value`
    std::string name;
    int nodes = 1;
    int tasks_per_node = 1;
    std::string time = "24:00:00";  ///< as slurm_seconds() reads it
    std::string account = {};       ///< empty: the user's own
    std::string partition = {};     ///< empty: the cluster's own
    int cpus_per_task = 0;          ///< 0: as the cluster has it
    int gpus_per_node = 0;          ///< 0: asks for none
};

/// Seconds of a limit of time: minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S. Nothing where it is none, or not
/// above 0.
std::optional<std::int64_t> slurm_seconds(std::string_view time);

/// How long before the end of a job of so many seconds it is warned: 300 s, of a short one a quarter of it.
std::int64_t warning_seconds(std::int64_t job_seconds);

/// `text` as one word for bash, whatever it holds.
std::string shell_word(std::string_view text);

/// `text`, of one line, as the value of an option in an #SBATCH line, where quotes and '#' mean something.
std::string sbatch_value(std::string_view text);

/// `shipped` with the options of its #SBATCH lines, its program and its deck taken from `job`.
///
/// \param shipped  the text of scripts/slurm/train.sbatch
/// Errors: Error{internal} where `shipped` lacks a line that is to be filled in
std::string batch_script(std::string_view shipped, const BatchJob& job);

}  // namespace ziggurat::deck
