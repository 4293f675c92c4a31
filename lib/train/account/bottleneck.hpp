/// Bottleneck of a run: the lane that limits it, and suggestions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "schedule/step_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "spec/run_spec.hpp"
#include "train/account/accounting.hpp"

namespace ziggurat::train {

/// Facts of a run's plan from which suggestions are derived.
struct BottleneckFacts {
    /// Bytes of a rank by spec::Tier: reserved bytes, and the budget.
    spec::ByTier<std::int64_t> reserved_bytes{}, budget_bytes{};
    /// Bytes that one step of one rank moves: [cargo][link].
    schedule::BytesByPayload moved{};
    /// Bytes at home: [cargo][tier].
    schedule::StateByTier at_home{};
    std::int64_t microbatches = 1;
    bool may_run_by_layer = false;    ///< micro-batches run one after another, in one stage
    bool gathers_parameters = false;  ///< parameters are sharded over ranks: ZeRO 3
    int prefetch = 1;
    int num_paths = 0;
    int nodes = 1;
    std::int64_t endurance_bytes = 0;  ///< of each path; 0: unknown
    spec::Throttle throttle;
};

/// Returns the facts of one rank's program. Pure.
BottleneckFacts bottleneck_facts(const spec::RunSpec& spec, const schedule::Program& program);

/// Returns what limits the steps (compute, or a lane that they wait for), and suggestions.
///
/// A suggestion states the expected gain if bytes and rates determine it. Empty if no step was completed.
/// Pure; rank r's record is at index r.
///
/// Numerics: the stall of a lane (CriticalPath) is the mean over ranks. A lane is named if its stall is 15 %
/// of the time in steps or more: less is not worth acting on. The gain of a faster home is its bytes
/// divided by the rate of the busy link, and at most the stall.
std::string bottleneck_sentence(std::span<const AccountRecord> ranks, const BottleneckFacts& facts);

/// Returns the bytes written per day to each NVMe path, and the days that its endurance lasts.
///
/// Empty if no bytes are written. Pure.
std::string wear_sentence(std::span<const AccountRecord> ranks, const BottleneckFacts& facts);

}  // namespace ziggurat::train
