/// Bottleneck of a run: the lane that limits it, and what would relieve it.
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

/// Facts of a run's plan that decide what helps.
struct BottleneckFacts {
    /// Bytes of a rank by spec::Tier: reserved, and what it may reserve.
    std::array<std::int64_t, 3> reserved_bytes{}, budget_bytes{};
    /// Bytes that a step of a rank moves: [cargo][link].
    std::array<schedule::BytesByLink, schedule::num_cargoes> moved{};
    /// Bytes at home: [cargo][tier].
    std::array<std::array<std::int64_t, 3>, schedule::num_cargoes> at_home{};
    std::int64_t microbatches = 1;
    bool gathers_parameters = false;  ///< sharded over ranks: ZeRO 3
    int prefetch = 1;
    int num_paths = 0;
    int nodes = 1;
    std::int64_t endurance_bytes = 0;  ///< of each path; 0: unknown
    spec::Throttle throttle;
};

/// Of one rank's program. Pure
BottleneckFacts bottleneck_facts(const spec::RunSpec& spec, const schedule::Program& program);

/// One sentence that says what the steps wait for most, or that they compute, and one that says what would
/// relieve it, with what it would bring where that follows from bytes and rates. Empty when no step was done.
/// Pure; rank r's record is at index r.
///
/// Numerics: what the compute lane waited for (CriticalPath) is the mean over ranks; a lane is named from 15
/// % of the time in steps on: below that nothing that could be done about it would be felt. What a home would
/// bring is its bytes at the rate of the busy link, at most the wait.
std::string bottleneck_sentence(std::span<const AccountRecord> ranks, const BottleneckFacts& facts);

/// Bytes written per day to each path, and how long it stands that. Empty when nothing is written. Pure
std::string wear_sentence(std::span<const AccountRecord> ranks, const BottleneckFacts& facts);

}  // namespace ziggurat::train
