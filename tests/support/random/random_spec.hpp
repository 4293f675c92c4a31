/// Random runs: every key that affects a step program, drawn from all values that the rules allow.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::test {

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

}  // namespace ziggurat::test
