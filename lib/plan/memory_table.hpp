/// Memory table of a rank: its consumers in each tier, at the moment when most of it is in use.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/footprint.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// One line: bytes of a consumer in each tier, indexed by spec::Tier.
struct MemoryRow {
    schedule::Consumer consumer = schedule::Consumer::none;
    std::string detail;  ///< how the bytes come about
    std::array<std::int64_t, 3> bytes{};
};

/// Bytes per rank, taken from the buffers that a program has placed.
///
/// Rows are in the order of schedule::Consumer. In each tier they are counted at the op during which the sum
/// over all consumers is greatest; `between` is what the arena holds beyond that because of
/// alignment and of holes between live buffers.
struct MemoryTable {
    std::vector<MemoryRow> rows;
    std::array<std::int64_t, 3> between{};
    std::array<std::int64_t, 3> total{};   ///< of the arenas: what the rank reserves
    std::array<std::int64_t, 3> budget{};  ///< per rank; 0: none given
    std::array<std::string, 3> peak_op;    ///< label of the op at the peak
    std::int64_t libraries = 0;            ///< of the device, beside the budget: see library_memory
};

/// Host memory beside what collectives touch in the device tier, through which they reach it where no
/// transport does; of one rank's program, or 0.
std::int64_t staging_bytes(const spec::RunSpec& spec, const schedule::Program& program);

/// The table of one rank's program. Budgets of host and NVMe are those of a node over its ranks.
///
/// \param of_all  what the rank takes for all its programs, where that is more: a line `validation`
MemoryTable memory_usage(const spec::RunSpec& spec,
                         const schedule::Program& program,
                         const RankBytes& of_all = {});

/// The same as text, one line per consumer and a column per tier.
std::string memory_table(const spec::RunSpec& spec, int rank, const MemoryTable& table);

}  // namespace ziggurat::plan
