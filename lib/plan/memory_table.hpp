/// Memory table of a rank: its consumers in each tier, at the op with maximum use.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/footprint.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// One row: bytes of a consumer in each tier, indexed by spec::Tier.
struct MemoryRow {
    schedule::MemoryCategory consumer = schedule::MemoryCategory::none;
    std::string detail;  ///< explanation of the bytes
    spec::ByTier<std::int64_t> bytes{};
};

/// Bytes per rank, from the buffers of a placed program.
///
/// Rows are in the order of schedule::Consumer. In each tier, they are counted at the op with the maximum sum
/// over all consumers. `between` is the rest of the arena: alignment, and holes between live buffers.
struct MemoryTable {
    std::vector<MemoryRow> rows;
    spec::ByTier<std::int64_t> between{};
    spec::ByTier<std::int64_t> total{};   ///< of the arenas: bytes that the rank reserves
    spec::ByTier<std::int64_t> budget{};  ///< per rank; 0: not set
    std::array<std::string, 3> peak_op;   ///< label of the op at the peak
    std::int64_t libraries = 0;           ///< of the device, not in the budget: see library_memory
    std::int64_t pinned = 0;              ///< part of the host tier that is pinned for copies of GPUs
};

/// Returns the host memory through which collectives access the device tier, if no transport can do so.
///
/// For the program of one rank; 0 if not needed.
std::int64_t staging_bytes(const spec::RunSpec& spec, const schedule::Program& program);

/// Returns the table of one rank's program. Budgets of host and NVMe are those of a node divided by its
/// ranks.
///
/// \param of_all  bytes of the rank for all its programs, if more: adds a row `validation`
MemoryTable memory_usage(const spec::RunSpec& spec,
                         const schedule::Program& program,
                         const RankBytes& of_all = {});

/// Returns the table as text, with one row per consumer and one column per tier.
std::string memory_table(const spec::RunSpec& spec, int rank, const MemoryTable& table);

}  // namespace ziggurat::plan
