/// Random runs: every key that affects a step program, drawn from all values that the rules allow.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Number of draws of each value of each key.
class Coverage {
  public:
    void note(const std::string& key, const std::string& value) { ++counts_[key][value]; }
    void note(const spec::RunSpec& spec);
    /// Returns one line per key.
    std::string report() const;
    const std::map<std::string, std::map<std::string, int>>& counts() const noexcept { return counts_; }

  private:
    std::map<std::string, std::map<std::string, int>> counts_;
};

/// Limits of a draw.
struct RandomSpecLimits {
    int max_ranks = 12;
    bool context = true;
    bool tiers = true;
    bool frozen = true;
    bool tiles = true;
    bool stages_differ = false;  ///< stages have individual recomputation and homes
    bool by_layer = false;       ///< runs of one stage may have train.accumulate by_layer
    bool fates = false;          ///< single activations may have their own fate
    bool lora = false;           ///< only adapters are trained
    bool grids = false;          ///< tensor ranks may be a grid or a cube
};

/// Draws a spec by seed.
spec::RunSpec random_spec(std::uint64_t seed, const RandomSpecLimits& limits = {});

/// Describes the differences from the simplest run in one line.
std::string described(const spec::RunSpec& spec);

/// Returns the run with a grid of tensor ranks of the side `side`, or as it is if it cannot have one.
spec::RunSpec with_grid(const spec::RunSpec& spec, int side, int max_ranks);

/// Returns the run of a grid with a cube of its side.
///
/// Returns it as it is if it has no grid, or if the cube would have too many ranks.
spec::RunSpec with_cube(const spec::RunSpec& spec, int max_ranks);

/// Returns the run with gradients in the memory of parameters (tiers.reuse).
///
/// It has bf16, one micro-batch, equal shards and homes, and updates after backward.
///
/// \pre the run has one stage
spec::RunSpec with_reuse(spec::RunSpec spec);
/// Returns the run with the schedule pipedream, and with settings that it allows.
spec::RunSpec without_flush(spec::RunSpec spec);

}  // namespace ziggurat::test
