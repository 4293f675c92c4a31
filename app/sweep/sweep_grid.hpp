/// Combinations of values of a sweep.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::app {

/// Key that has another value in each run.
struct SweepAxis {
    std::string key;                  ///< `optimizer.lr`
    std::vector<std::string> values;  ///< as written, at least two
};

struct SweepRun {
    std::string name;                 ///< of its folder: `lr=1e-4_seed=1`
    std::vector<std::string> values;  ///< one of each axis

    bool operator==(const SweepRun&) const = default;
};

struct SweepGrid {
    std::vector<std::string> fixed;  ///< overrides of all runs
    std::vector<SweepAxis> axes;
    std::vector<SweepRun> runs;  ///< all combinations; the last axis changes first

    /// Returns the overrides of a run, without its folder.
    std::vector<std::string> overrides_of(const SweepRun& run) const;
};

/// Maximum number of runs of a sweep.
inline constexpr std::size_t max_sweep_runs = 10'000;

/// Returns the combinations that the words `KEY=VALUE` and `KEY=VALUE,VALUE...` describe.
///
/// A comma inside brackets, braces or quotes belongs to a value.
///
/// Errors: Error{deck} if no key has several values, a key is given twice, a value is empty or repeated, a
/// bracket is not closed, the key is run.dir, run.name or run.resume, or there are more than max_sweep_runs
SweepGrid sweep_grid(const std::vector<std::string>& words);

}  // namespace ziggurat::app
