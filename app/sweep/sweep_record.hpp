/// Record of a sweep in its folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/sweep/sweep_grid.hpp"

namespace ziggurat::app {

/// A sweep as sweep.json in its folder records it.
struct Sweep {
    std::string deck;                ///< absolute path, except of a shipped deck
    std::vector<std::string> words;  ///< as of sweep_grid()
    std::optional<int> ranks;        ///< of each run, if they were given
    std::string launch;              ///< command that starts the ranks; empty: the default
    std::string folder;              ///< of the runs
    std::string started_in;          ///< folder to which relative paths refer
};

/// Returns a sweep that starts in the current folder.
Sweep begin_sweep(const std::string& deck, const std::vector<std::string>& words, const std::string& folder);

bool is_sweep_folder(const std::string& path);

/// Reads the record in `folder`.
///
/// Errors: Error{deck} if it is not the record of a sweep
Sweep read_sweep(const std::string& folder);

/// Creates the folder of the sweep, and writes its record.
///
/// Errors: Error{resource}
void write_sweep(const Sweep& sweep);

/// Returns the overrides of a run, with its folder and its name.
///
/// run.resume is auto even if the deck has another value: a finished run must not train again.
std::vector<std::string> words_of_run(const Sweep& sweep, const SweepGrid& grid, const SweepRun& run);

}  // namespace ziggurat::app
